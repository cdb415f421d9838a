"""Files without waiting for the disk.

What fsync is for, a machine that loses its power, happens in no test; a killed process leaves behind what it wrote
either way. That it is called where it must be, and what its failures do, tests/store shows on processes of their own.
"""

from __future__ import annotations

import os


def never_wait() -> None:
    """In this process, and in those that it forks, fsync is done at once."""
    os.fsync = os.fdatasync = _at_once


def _at_once(fd: object) -> None:
    """As the system says it of a file that has nothing to write."""
