"""When each operator last looked, and how far the journals went then. The folder is not watched: nobody wakes of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import safe
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout

_MOST = 64 * 1024  # bytes of a record


class JournalPosition(Struct, frozen=True):
    """How far a journal went: its inode and size."""

    ino: int
    offset: int


class LastVisit(Struct, frozen=True):
    """sessions/operators/<name>.json"""

    operator: str
    last_seen: str
    places: dict[str, JournalPosition] = {}
    schema: int = 1

    @property
    def at(self) -> float:
        """Seconds since 1970, 0 where the date cannot be read."""
        return times.epoch(self.last_seen)


def path(layout: Layout, operator: str) -> Path:
    """Return the record of an operator. Any name will do: the file is named after its hash where it must be."""
    try:
        slug = ids.check_name(operator, "operator")
    except ids.BadId:
        slug = f"other-{hashlib.sha256(operator.encode(errors='replace')).hexdigest()[:16]}"
    return layout.operators / f"{slug}.json"


def read(layout: Layout, operator: str) -> LastVisit | None:
    """Return when an operator last looked; None for never, or where that cannot be read."""
    try:
        data = files.read(path(layout, operator), _MOST)
        visit = msgspec.json.decode(data, type=LastVisit) if data else None
    except (*UNDECODABLE, files.StoreError, OSError):
        return None
    return visit if visit and visit.at else None


def write(layout: Layout, operator: str, now: float) -> None:
    """Note that an operator is looking. files.StoreError where it cannot be; a folder that is gone stays gone."""
    if not layout.exists():
        raise files.NotWritten(f"there is no state folder at {layout.root} any more")
    directories.make_folder(layout.operators)
    seen = LastVisit(safe(operator), times.iso(now), places(layout))
    files.replace(path(layout, operator), msgspec.json.format(msgspec.json.encode(seen), indent=1) + b"\n")


def places(layout: Layout) -> dict[str, JournalPosition]:
    """Return how far the journals go that a digest is made from."""
    positions = {}
    for journal in (layout.events, layout.signals, layout.memory, layout.actions, layout.packets):
        try:
            stat = os.stat(journal, follow_symlinks=False)
        except OSError:
            continue
        positions[journal.name] = JournalPosition(stat.st_ino, stat.st_size)
    return positions
