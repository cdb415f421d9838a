"""The first reading of large journals, in a child process that leaves its index behind and ends.

The small objects of a reading hold 10 MiB apart in a process that lives on, which neither the allocator nor a trim
gives back. Whatever becomes of the child (killed, late, a disk that takes nothing), the engine reads what it did not
leave behind, as it does in a small folder.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout

LEAST = 32 * 1024 * 1024  # bytes of journals that are worth a process of their own
_LONGEST = 600.0  # seconds; two seconds of processor time are enough for a million signals
_PATIENCE = 2.0  # seconds between TERM and KILL


class FirstReading:
    """One child that reads a folder for an operator."""

    def __init__(self, layout: Layout, operator: str) -> None:
        """Start it. Raise OSError."""
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui.engine.first_reading", str(layout.root), operator],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._until = time.monotonic() + _LONGEST

    def running(self) -> bool:
        """Return whether it still reads; one that is late is ended."""
        if self._child.poll() is not None:
            return False
        if time.monotonic() < self._until:
            return True
        self.end()
        return False

    def end(self) -> None:
        """End it: what it left behind until now is whole."""
        self._child.terminate()
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def main(root: Path, operator: str) -> int:
    """Read all that an engine reads, so that each index keeps what it made of it; return the exit code."""
    try:
        with closing(SnapshotReader(root, operator, queue_only=True)) as reader:
            reader.load(time.time())
    except (StoreError, OSError):
        return 1  # the engine meets the same, and says so
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
