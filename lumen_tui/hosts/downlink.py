"""What the engine's side wrote for a worker on a host and the host has not: more of a journal, or a record as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from lumen_tui.hosts.messages import Tell
from lumen_tui.hosts.spool import PIECE
from lumen_tui.model import frames
from lumen_tui.storage import files
from lumen_tui.storage.stamped import Stamp, stamp

_NONE: Stamp = (0, 0, 0)


class Downlink:
    """The files of one attempt that its host is to have."""

    def __init__(self, folder: Path, attempt: int) -> None:
        """Begin with a host that gets the task's spec, as it is now, with the order for the attempt."""
        self._folder, self._attempt = folder, attempt
        self._told: dict[str, Stamp] = {frames.SPEC: stamp(folder / frames.SPEC)}

    def news(self, there: Mapping[str, int]) -> Iterator[Tell]:
        """Yield what is to be told to a host that has so many bytes of each file. StoreError, OSError."""
        for name in frames.TOLD:
            if data := self._added(name, offset := there.get(name, 0)):
                yield Tell(self._folder.name, self._attempt, name, data, offset)
        for name in (*frames.ORDERS, frames.SPEC):
            now = stamp(self._folder / name)
            if now != self._told.get(name, _NONE) or (now == _NONE and name in there):
                yield Tell(self._folder.name, self._attempt, name, files.read(self._folder / name))
                self._told[name] = now

    def _added(self, name: str, offset: int) -> bytes:
        try:
            fd = files.open_plain(self._folder / name)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        try:
            return os.pread(fd, PIECE, offset)
        finally:
            os.close(fd)
