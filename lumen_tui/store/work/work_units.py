"""Work units and lanes on disk: work/WU-NNN.md, numbered without gaps being filled, completion stamps, lane locks.

A lane lock names who holds a place; whether a work unit is in progress is in its own file, so a lock that is left over
blocks nobody. Whoever changes a work unit or a lane lock holds the lock `work`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model import lanes as names
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.problem import Problem
from lumen_tui.model.views import present_unit_fields
from lumen_tui.model.work import Holder, Tracked, WorkUnit
from lumen_tui.storage import directories, files, frontmatter, locks, process
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.settings import config_errors


def parse_unit(wu_id: str, text: str) -> WorkUnit:
    """Return the work unit in `text`. BadFile says what is wrong and on which line."""
    fields, body = frontmatter.split(text)
    try:
        return msgspec.convert({"title": "", **present_unit_fields(fields), "id": wu_id, "body": body}, WorkUnit)
    except msgspec.ValidationError as error:
        line = frontmatter.line_of(text, config_errors.place(error))
        raise BadFile(config_errors.in_words(error, WorkUnit, fields), line) from error


def render_unit(unit: WorkUnit) -> str:
    """Return the text of a work unit's file."""
    fields: dict[str, object] = msgspec.to_builtins(unit)
    fields.pop("body", None)
    return frontmatter.join(fields, unit.body or f"# {unit.title}")


def read_unit(layout: Layout, wu_id: str) -> WorkUnit | None:
    """Return one work unit; None where there is none. BadFile where a person must fix it."""
    data = files.read(layout.work_unit(wu_id))
    return None if data is None else parse_unit(wu_id, data.decode(errors="replace"))


def unit_files(layout: Layout) -> list[Path]:
    """Return the paths that change when a work unit does: the folder, and the file of each."""
    return [layout.work, *layout.work.glob("WU-*.md")]


def list_units(layout: Layout) -> tuple[list[WorkUnit], list[Problem]]:
    """Return all work units by number, and the problems of unreadable files."""
    units = []
    problems = []
    for path in layout.work.glob("WU-*.md"):
        try:
            if unit := read_unit(layout, path.stem):
                units.append(unit)
        except BadFile as error:
            problems.append(Problem(where=f"work/{path.name}:{error.line}", what=str(error), hint="fix the file"))
        except (ids.BadId, files.StoreError, OSError) as error:
            problems.append(Problem(where=f"work/{path.name}", what=str(error)))
    return sorted(units, key=lambda unit: _number(unit.id)), problems


def _number(wu_id: str) -> int:
    return int(wu_id.partition("-")[2])


def read_tracked(layout: Layout, wu_id: str) -> Tracked | None:
    """Return a work unit with its state; None where there is none. BadFile where a person must fix it."""
    data = files.read(layout.work_unit(wu_id))
    return None if data is None else _tracked(wu_id, data.decode(errors="replace"))


def _tracked(wu_id: str, text: str) -> Tracked:
    unit = parse_unit(wu_id, text)
    own = {name for name in Tracked.__struct_fields__ if name not in type(unit).__struct_fields__}
    fields = frontmatter.split(text)[0]
    extra = {name: fields[name] for name in own if isinstance(fields.get(name), str)}
    return msgspec.convert({**msgspec.to_builtins(unit), **extra}, Tracked)


def list_tracked(layout: Layout) -> list[Tracked]:
    """Return all readable work units, by number."""
    units = []
    for path in layout.work.glob("WU-*.md"):
        try:
            unit = read_tracked(layout, path.stem)
        except (BadFile, ids.BadId, files.StoreError, OSError):
            continue
        if unit:
            units.append(unit)
    return sorted(units, key=lambda unit: int(unit.id.partition("-")[2]))


def unit_fields(layout: Layout, wu_id: str, names: list[str]) -> dict[str, object] | None:
    """Return these keys of the front matter (None for one that is not set), or None without a file."""
    data = files.read(layout.work_unit(wu_id))
    if data is None:
        return None
    table = frontmatter.split(data.decode(errors="replace"))[0]
    return {name: table.get(name) for name in names}


def set_unit_fields(layout: Layout, wu_id: str, fields: dict[str, object]) -> None:
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


def write_unit(layout: Layout, unit: WorkUnit) -> None:
    """Write a work unit's file."""
    files.replace(layout.work_unit(unit.id), render_unit(unit).encode())


class KeyTaken(Exception):
    """A work unit with this key exists already."""

    def __init__(self, wu_id: str) -> None:
        super().__init__(wu_id)
        self.wu_id = wu_id


def _under_key(layout: Layout, key: str) -> str:
    """Return the id of the unit with this key, retired ones included; empty where there is none."""
    for path in layout.work.rglob("WU-*.md"):
        try:
            fields, _ = frontmatter.split((files.read(path) or b"").decode(errors="replace"))
        except (BadFile, files.StoreError, OSError):
            continue
        if fields.get("key") == key:
            return path.stem
    return ""


def add_units(layout: Layout, units: list[WorkUnit], begin: Callable[[list[WorkUnit]], None]) -> list[WorkUnit]:
    """Write new work units under the lock `work`; return them with their ids, as `numbered` does.

    `begin` gets all of them, with their ids, before the first is written; on an error none is left.
    """
    with locks.waiting_lock(layout.lock("work")):
        complete = numbered(layout, units)
        begin(complete)
        write_units(layout, complete)
    return complete


def numbered(layout: Layout, units: list[WorkUnit]) -> list[WorkUnit]:
    """Return new work units with ids: an empty one becomes the next free number, retired ones included.

    The caller holds the lock `work`. FileExistsError where an id is taken, KeyTaken where a key is.
    """
    taken = {path.stem for path in layout.work.rglob("WU-*.md")}
    complete: list[WorkUnit] = []
    for unit in units:
        complete.append(_named(layout, unit, taken))
        taken.add(complete[-1].id)
    return complete


def write_units(layout: Layout, units: list[WorkUnit]) -> None:
    """Write new work units; on an error none is left. The caller holds the lock `work`."""
    try:
        for unit in units:
            write_unit(layout, unit)
    except BaseException:
        discard_units(layout, units)
        raise


def discard_units(layout: Layout, units: list[WorkUnit]) -> None:
    """Remove the files of units that were just written, where what belongs to them could not be written."""
    for unit in units:
        directories.remove(layout.work_unit(unit.id))


def _named(layout: Layout, unit: WorkUnit, taken: set[str]) -> WorkUnit:
    if unit.key and (existing := _under_key(layout, unit.key)):
        raise KeyTaken(existing)
    if unit.id in taken:
        raise FileExistsError(f"{unit.id} exists already")
    highest = max((_number(name) for name in taken if name[3:].isdigit()), default=0)
    return unit if unit.id else msgspec.structs.replace(unit, id=f"WU-{highest + 1:03d}")


def retire_unit(layout: Layout, wu_id: str) -> None:
    """Retire a work unit; its file moves to work/retired and its number is not used again."""
    directories.make_folder(layout.work / "retired")
    directories.move(layout.work_unit(wu_id), layout.work / "retired" / f"{ids.check_wu(wu_id)}.md")


def _entries(layout: Layout, lane: str) -> list[Holder]:
    """Return everything in the lock file, other lanes of the same slug too; empty where it cannot be read."""
    try:
        data = files.read(layout.lane_lock(lane)) or b""
        return msgspec.json.decode(data, type=dict[str, list[Holder]]).get("holders", []) if data.strip() else []
    except (*UNDECODABLE, files.StoreError, OSError):
        return []


def lane_holders(layout: Layout, lane: str) -> list[Holder]:
    """Return who is entered in the lock of this lane."""
    return [entry for entry in _entries(layout, lane) if names.key(entry.lane) == names.key(lane)]


def enter_lane(layout: Layout, holder: Holder) -> None:
    """Enter one holder in the lock of its lane, replacing an entry for the same work unit."""
    _rewrite(layout, holder.lane, holder.wu_id, [holder])


def leave_lane(layout: Layout, lane: str, wu_id: str) -> None:
    """Remove a work unit from the lock of its lane."""
    if lane and any(entry.wu_id == wu_id for entry in lane_holders(layout, lane)):
        _rewrite(layout, lane, wu_id, [])


def _rewrite(layout: Layout, lane: str, wu_id: str, more: list[Holder]) -> None:
    remaining = [
        entry for entry in _entries(layout, lane) if entry.wu_id != wu_id or names.key(entry.lane) != names.key(lane)
    ]
    if not remaining + more:
        directories.remove(layout.lane_lock(lane))
        return
    text = msgspec.json.format(msgspec.json.encode({"holders": remaining + more}), indent=1) + b"\n"
    files.replace(layout.lane_lock(lane), text)


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
