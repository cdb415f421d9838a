"""inotify notices about changed files in a few folders, read without blocking."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

# inotify(7)
_MODIFY, _MOVED, _CREATE, _DELETE = 0x2, 0xC0, 0x100, 0x200
_HEADER = struct.Struct("iIII")


class Notices:
    """One inotify descriptor: what is created, changed or removed in the folders, not below them.

    Raise OSError where the system has no descriptor left or cannot watch one of the folders.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        for folder in folders:
            if libc.inotify_add_watch(self._fd, os.fsencode(folder), _MODIFY | _MOVED | _CREATE | _DELETE) < 0:
                error = ctypes.get_errno()
                self.close()
                raise OSError(error, "inotify_add_watch", str(folder))

    def fileno(self) -> int:
        """Return the descriptor, which is readable when there are notices."""
        return int(self._fd)

    def names(self) -> set[str]:
        """Return the names with notices since the last call, without temporary files."""
        names: set[str] = set()
        try:
            while data := os.read(self._fd, 64 * 1024):
                names |= _names(data)
        except BlockingIOError:
            pass
        return {name for name in names if not name.startswith(".")}

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)


def _names(data: bytes) -> set[str]:
    names = set()
    offset = 0
    while offset < len(data):
        _, _, _, length = _HEADER.unpack_from(data, offset)
        offset += _HEADER.size + length
        names.add(os.fsdecode(data[offset - length : offset].rstrip(b"\0")))
    return names
