"""A child process of the engine for work that reads much and now and then: it leaves files behind and ends.

The small objects of such a reading hold 10 MiB apart in a process that lives on, which neither the allocator nor a trim
gives back. Whatever becomes of the child (killed, late, a disk that takes nothing), its work is done again later, or by
the engine itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

_LONGEST = 600.0  # seconds; two seconds of processor time are enough for a million signals
_PATIENCE = 2.0  # seconds between TERM and KILL


class ChildProcess:
    """One child that runs a module of ours on a state folder."""

    def __init__(self, module: str, root: Path, *words: str) -> None:
        """Start it. Raise OSError."""
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(root), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._until = time.monotonic() + _LONGEST

    def running(self) -> bool:
        """Return whether it is still at work; one that is late is ended."""
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
