"""Lanes on disk: the changing front matter of work units, lane locks, completion stamps.

A lane lock tells who holds a place; whether a work unit is in progress is in its own file, so a lock that is left over
blocks nobody. Whoever changes a work unit or a lane lock holds the lock `work`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import ids
from lumen_tui.model import lanes as names
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.handoff import Holder, Tracked
from lumen_tui.storage import directories, files, frontmatter, process
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.work.views import lock_path as lock_path
from lumen_tui.store.work.views import slug as slug
from lumen_tui.store.work.work_units import parse_unit


def _entries(layout: Layout, lane: str) -> list[Holder]:
    """Return everything in the lock file, other lanes of the same slug too; empty where it cannot be read."""
    try:
        data = files.read(lock_path(layout, lane)) or b""
        return msgspec.json.decode(data, type=dict[str, list[Holder]]).get("holders", []) if data.strip() else []
    except (*UNDECODABLE, files.StoreError, OSError):
        return []


def holders(layout: Layout, lane: str) -> list[Holder]:
    """Return who is entered in the lock of this lane."""
    return [entry for entry in _entries(layout, lane) if names.key(entry.lane) == names.key(lane)]


def enter(layout: Layout, holder: Holder) -> None:
    """Enter one holder in the lock of its lane, replacing an entry for the same work unit."""
    _rewrite(layout, holder.lane, holder.wu_id, [holder])


def leave(layout: Layout, lane: str, wu_id: str) -> None:
    """Remove a work unit from the lock of its lane."""
    if lane and any(entry.wu_id == wu_id for entry in holders(layout, lane)):
        _rewrite(layout, lane, wu_id, [])


def _rewrite(layout: Layout, lane: str, wu_id: str, more: list[Holder]) -> None:
    remaining = [
        entry for entry in _entries(layout, lane) if entry.wu_id != wu_id or names.key(entry.lane) != names.key(lane)
    ]
    if not remaining + more:
        directories.remove(lock_path(layout, lane))
        return
    text = msgspec.json.format(msgspec.json.encode({"holders": remaining + more}), indent=1) + b"\n"
    files.replace(lock_path(layout, lane), text)


def local_holder(lane: str, wu_id: str, *, by: str, since: str, pid: int = 0, session_id: str = "") -> Holder:
    """Return a holder on this machine; with `pid`, for as long as that process lives."""
    if pid <= 0:
        return Holder(lane=lane, wu_id=wu_id, by=by, since=since, host=process.host(), session_id=session_id)
    known = process.identify(pid)
    return Holder(
        lane=lane,
        wu_id=wu_id,
        by=by,
        since=since,
        pid=pid,
        start_ticks=known.start_ticks,
        boot_id=known.boot_id,
        host=process.host(),
        session_id=session_id,
    )


def is_gone(layout: Layout, holder: Holder) -> bool:
    """Return whether there is evidence that the holder has left: its process or its session ended.

    Without evidence it is present: an agent may be silent for long.
    """
    from lumen_tui.store.work import sessions

    if holder.pid and holder.host == process.host():
        return not process.is_same(ProcessId(holder.pid, holder.start_ticks, holder.boot_id))
    try:
        session_record = sessions.read(layout, holder.session_id) if holder.session_id else None
    except ids.BadId:
        return False
    return session_record is not None and bool(session_record.ended_at)


def read_unit(layout: Layout, wu_id: str) -> Tracked | None:
    """Return a work unit with its state; None where there is none. BadFile where a person must fix it."""
    data = files.read(layout.work_unit(wu_id))
    return None if data is None else _tracked(wu_id, data.decode(errors="replace"))


def _tracked(wu_id: str, text: str) -> Tracked:
    unit = parse_unit(wu_id, text)
    own = {name for name in Tracked.__struct_fields__ if name not in type(unit).__struct_fields__}
    fields = frontmatter.split(text)[0]
    extra = {name: fields[name] for name in own if isinstance(fields.get(name), str)}
    return msgspec.convert({**msgspec.to_builtins(unit), **extra}, Tracked)


def list_units(layout: Layout) -> list[Tracked]:
    """Return all readable work units, by number."""
    units = []
    for path in layout.work.glob("WU-*.md"):
        try:
            unit = read_unit(layout, path.stem)
        except (BadFile, ids.BadId, files.StoreError, OSError):
            continue
        if unit:
            units.append(unit)
    return sorted(units, key=lambda unit: int(unit.id.partition("-")[2]))


def fields_of(layout: Layout, wu_id: str, names: list[str]) -> dict[str, Any] | None:
    """Return these keys of the front matter (None for one that is not set), or None without a file."""
    data = files.read(layout.work_unit(wu_id))
    if data is None:
        return None
    table = frontmatter.split(data.decode(errors="replace"))[0]
    return {name: table.get(name) for name in names}


def set_fields(layout: Layout, wu_id: str, fields: dict[str, Any]) -> None:
    """Set keys of the front matter (None removes one); the others, known here or not, and the text stay."""
    data = files.read(layout.work_unit(wu_id))
    if data is None:
        raise files.StoreError(f"work/{wu_id}.md is gone")
    table, body = frontmatter.split(data.decode(errors="replace"))
    for name, value in fields.items():
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
    files.replace(layout.work_unit(wu_id), frontmatter.join(table, body).encode())


def stamp_path(layout: Layout, wu_id: str) -> Path:
    """Return the path of a work unit's completion stamp."""
    return layout.stamps / f"{ids.check_wu(wu_id)}.done"


def read_stamp(layout: Layout, wu_id: str) -> dict[str, str]:
    """Return the content of the stamp; empty where there is none or it is damaged."""
    try:
        return msgspec.json.decode(files.read(stamp_path(layout, wu_id)) or b"{}", type=dict[str, str])
    except UNDECODABLE:
        return {}


def write_stamp(layout: Layout, wu_id: str, fields: dict[str, str]) -> None:
    """Write the stamp durably."""
    directories.make_folder(layout.stamps)
    files.replace(stamp_path(layout, wu_id), msgspec.json.encode(fields) + b"\n")


def remove_stamp(layout: Layout, wu_id: str) -> None:
    """Remove the stamp, if there is one."""
    if os.path.lexists(stamp_path(layout, wu_id)):
        directories.remove(stamp_path(layout, wu_id))
