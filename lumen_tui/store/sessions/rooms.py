"""Which rooms are open: a small file each, which counts as long as the process in its name lives."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.operators import OpenRoom
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamp, stamp

_PREFIX, _ENDING = "room-", ".json"
_MOST = 16 * 1024  # bytes
_NAME = 60  # characters


def path(layout: Layout, client: str) -> Path:
    """Return the record of an open room."""
    return layout.rooms / f"{ids.check_name(client, 'room')}{_ENDING}"


def enter(layout: Layout, room: OpenRoom) -> None:
    """Say that a room is open, and take away what killed ones left. Raise files.StoreError, also without the folder."""
    directories.make_folder(layout.rooms, below=layout.root)
    for name in _names(layout):
        if not _lives(name):
            files.discard(str(layout.rooms / name))
    files.replace(path(layout, room.client), msgspec.json.encode(room) + b"\n")


def leave(layout: Layout, client: str) -> None:
    """Say that a room is closed."""
    files.discard(str(path(layout, client)))


def _names(layout: Layout) -> list[str]:
    try:
        names = os.listdir(layout.rooms)
    except OSError:
        return []
    return sorted(name for name in names if name.startswith(_PREFIX) and name.endswith(_ENDING))


def _lives(name: str) -> bool:
    return process.lives(name.removeprefix(_PREFIX).removesuffix(_ENDING))


class OpenRooms:
    """Follows the folder; a process that was killed is not there any more."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._records: dict[str, tuple[Stamp, OpenRoom | None]] = {}
        self.rooms: tuple[OpenRoom, ...] = ()
        self.revision = 0

    def refresh(self) -> None:
        """Look who is there: one listing, and one look at each process."""
        names = [name for name in _names(self._layout) if _lives(name)]
        self._records = {name: self._record(name) for name in names}
        rooms = tuple(sorted((room for _, room in self._records.values() if room), key=lambda room: room.since))
        if rooms != self.rooms:
            self.rooms = rooms
            self.revision += 1

    def _record(self, name: str) -> tuple[Stamp, OpenRoom | None]:
        seen = stamp(self._layout.rooms / name)
        known = self._records.get(name)
        return known if known is not None and known[0] == seen else (seen, self._read(name))

    def _read(self, name: str) -> OpenRoom | None:
        """Return a room's record; None for rubbish, and for one that names another room than its file."""
        try:
            data = files.read(self._layout.rooms / name, _MOST)
            room = decode_safe(data, OpenRoom) if data else None
        except (*UNDECODABLE, files.StoreError, OSError, ids.BadId):
            return None
        if room is None or room.client != name.removesuffix(_ENDING):
            return None
        parts = {part: one_line(getattr(room, part), _NAME) for part in ("operator", "login", "origin", "since")}
        return msgspec.structs.replace(room, **parts)
