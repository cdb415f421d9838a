"""Removal of a demo, however its room ends: a process of its own that waits for the end of a pipe.

After a hang-up nobody waits, and after a kill there is nobody in the room's own process to end an engine and to remove
a folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType


class Sitter:
    """Removes the demo in `root` when its `with` block, or this process, ends."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui.headless.demo_sitter", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Sitter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def left_over(self) -> str:
        """Wait until the demo is removed; return what could not be, in words, or the empty string."""
        leftover = self._process.stdout.read() if self._process.stdout is not None else ""
        self._process.wait()
        return leftover.strip()


def main() -> int:
    """Wait until the room has ended, then clear the demo away."""
    from lumen_tui.headless.demo import drop_demo  # now: the room may have been removed with all its files by then

    sys.stdin.read()
    leftover = drop_demo(Path(sys.argv[1]))
    try:
        os.write(sys.stdout.fileno(), leftover.encode())
    except BrokenPipeError:
        return 1  # nobody waits for the answer
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
