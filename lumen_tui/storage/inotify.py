"""Notices of the system about new files in a few folders, without waiting for them."""

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
    """One inotify descriptor: what appears, changes and goes in the folders, not below them.

    OSError where the system has none to give, or cannot watch one of them.
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
        """The descriptor: readable where there are notices."""
        return int(self._fd)

    def names(self) -> set[str]:
        """The names that notices came about since the last call; temporary files are left out."""
        found: set[str] = set()
        try:
            while data := os.read(self._fd, 64 * 1024):
                found |= _names(data)
        except BlockingIOError:
            pass
        return {name for name in found if not name.startswith(".")}

    def close(self) -> None:
        """No more notices."""
        os.close(self._fd)


def _names(data: bytes) -> set[str]:
    found, at = set(), 0
    while at < len(data):
        _, _, _, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size + length
        found.add(os.fsdecode(data[at - length : at].rstrip(b"\0")))
    return found
