"""Work units on disk: work/WU-NNN.md, numbered without gaps being filled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.views import present_unit_fields
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import directories, files, frontmatter, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
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
    fields: dict[str, Any] = msgspec.to_builtins(unit)
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
    """Write new work units; an empty id becomes the next free number, retired ones included.

    `begin` gets all of them, with their ids, before the first is written; on an error none is left.
    FileExistsError where an id is taken, KeyTaken where a key is.
    """
    with locks.waiting_lock(layout.lock("work")):
        taken = {path.stem for path in layout.work.rglob("WU-*.md")}
        named: list[WorkUnit] = []
        for unit in units:
            named.append(_named(layout, unit, taken))
            taken.add(named[-1].id)
        begin(named)
        try:
            for unit in named:
                write_unit(layout, unit)
        except BaseException:
            discard_units(layout, named)
            raise
    return named


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
