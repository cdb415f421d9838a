"""Files without waiting for the disk.

fsync guards against a loss of power, which happens in no test; what a killed process wrote stays either way. Tests in
tests/storage show, on processes of their own, that fsync is called where it must be, and what its failures do.
"""

from __future__ import annotations

import os


def never_wait() -> None:
    """Let fsync return at once in this process and its forks."""
    os.fsync = os.fdatasync = _at_once


def _at_once(fd: object) -> None:
    """Return None, as fsync does for a file with nothing to write."""
