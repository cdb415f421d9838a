"""Import of work units: those of LumenFlow from its YAML documents, events and stamps, those of an export whole.

A unit that a person changed here keeps that, unless it was changed in LumenFlow later.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from lumen_tui.model import ids, lumenunits, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import Raw
from lumen_tui.model.ids import short_hash
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.model.lumenunits import CHANGED_AT, SOURCE, STATE, TABLE, Unit, UnitSource
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, frontmatter, locks
from lumen_tui.storage.redaction import clean
from lumen_tui.storage.safe_yaml import BadDocument
from lumen_tui.store.memory import importing
from lumen_tui.store.memory.importing import Destination, ImportPart, ImportReport, SourceLine
from lumen_tui.store.memory.outside import ForeignFolder
from lumen_tui.store.work import unit_yaml, work_units

EVENTS_FILE = "state/wu-events.jsonl"
DOCUMENTS = "docs/tasks/wu"  # where LumenFlow keeps the documents, unless its settings name another folder
_PLACES = (DOCUMENTS, "docs/04-operations/tasks/wu")
_SETTINGS = "workspace.yaml"
_UNDOABLE = 24 * 1024  # characters of both texts, which one line of the audit log has to hold
UNTITLED = "Untitled"  # the title of a unit that a mention made


def take(to: Destination, source: ForeignFolder, project: Path, report: ImportReport) -> None:
    """Add to the report what comes of the work units of a LumenFlow project."""
    left_out: Counter[str] = Counter()
    units: dict[str, UnitSource] = {}
    part = ImportPart(source=str(project), target="work")
    _documents(ForeignFolder(project), units, part, left_out)
    checkpoints, events = _events(source, units, report)
    _stamps(source, units)
    part.read = len(units)
    placed = Placed({}, {})
    with locks.waiting_lock(to.layout.lock("work")):
        for number, unit in enumerate(sorted(units.values(), key=lambda unit: unit.id)):
            to.watch(number / len(units))
            place(to, part, lumenunits.unit_of(unit), placed)
        importing.write_files(to, part, *placed)
    if units or part.problems:
        report.parts.append(part)
    if checkpoints:
        report.parts.append(importing.add_lines(to, to.layout.memory, events, checkpoints))
    edges = [edge for unit in units.values() for edge in lumenunits.relations(unit)]
    lines = dict.fromkeys(msgspec.json.encode(edge) for edge in edges)
    if lines:
        numbered = [SourceLine(number, line) for number, line in enumerate(_first_of_each(lines), start=1)]
        report.parts.append(importing.add_lines(to, to.layout.relationships, project, numbered))
    ended = Counter(word for unit in units.values() if (word := lumenunits.ended_otherwise(unit)))
    report.notes += [
        f"work units that are {word} in LumenFlow, done here: {count}" for word, count in sorted(ended.items())
    ]
    report.left_out |= dict(left_out)


def take_whole(to: Destination, source: Path, units: Iterable[Unit]) -> ImportPart:
    """Take work units that were exported from here."""
    part = ImportPart(source=str(source), target="work")
    placed = Placed({}, {})
    with locks.waiting_lock(to.layout.lock("work")):
        for unit in units:
            part.read += 1
            if ids.is_wu(text_of(unit.front, "id")):
                place(to, part, unit, placed)
            else:
                part.quarantined += 1
                part.name(f"{source}: a work unit without an id")
        importing.write_files(to, part, *placed)
    return part


def _first_of_each(lines: Iterable[bytes]) -> list[bytes]:
    """Return one line for each edge, which two units may name: with `blocks` and with `blocked_by`."""
    edges: dict[tuple[str, str], bytes] = {}
    for line in lines:
        edge = msgspec.json.decode(line)
        edges.setdefault((edge["from_id"], edge["to_id"]), line)
    return list(edges.values())


def _documents(project: ForeignFolder, units: dict[str, UnitSource], part: ImportPart, left_out: Counter[str]) -> None:
    for place_name in dict.fromkeys((*_named_place(project), *_PLACES)):
        initiatives = len(list(project.files(f"{Path(place_name).parent}/initiatives/*.y*ml")))
        left_out.update({"initiatives": initiatives} if initiatives else {})
        for path, real in project.files(f"{place_name}/WU-*.y*ml"):
            try:
                document = unit_yaml.read(importing.read_foreign(real, unit_yaml.LARGEST + 1))
                wu_id = ids.check_wu(text_of(document, "id"))
            except (BadDocument, ids.BadId, OSError, files.StoreError) as error:
                part.quarantined += 1
                part.name(f"{path}: {error}")
                continue
            if wu_id in units:
                part.name(f"{path}: {wu_id} is there twice; the first one counts")
                continue
            units[wu_id] = UnitSource(wu_id, document)


def _named_place(project: ForeignFolder) -> tuple[str, ...]:
    """Return the folder of work units that the project's own settings name."""
    file = project.file(_SETTINGS)
    if file is None:
        return ()
    try:
        settings = unit_yaml.read(importing.read_foreign(file, unit_yaml.LARGEST + 1))
    except (BadDocument, OSError, files.StoreError):
        return ()
    named = text_of(table_of(table_of(settings, "software_delivery"), "directories"), "wuDir")
    inside = named and not os.path.isabs(named) and ".." not in Path(named).parts and not set(named) & set("*?[")
    return (named,) if inside else ()


def _events(source: ForeignFolder, units: dict[str, UnitSource], report: ImportReport) -> tuple[list[SourceLine], Path]:
    """Give each unit its events; return the checkpoints among them, as nodes."""
    file = source.file(EVENTS_FILE)
    part = ImportPart(source=str(file or EVENTS_FILE), target="work")
    checkpoints: list[SourceLine] = []
    for line in importing.read_lines(file) if file else ():
        if not line.line:
            continue
        part.read += 1
        event = None if line.reason else _event(line.line)
        if event is None:
            part.quarantined += 1
            part.name(f"{part.source}:{line.number}: {line.reason or 'not an event of a work unit'}")
            continue
        wu_id = text_of(event, "wuId")
        units.setdefault(wu_id, UnitSource(wu_id, {}, [])).events.append(event)
        if event["type"] == "checkpoint" and text_of(event, "note"):
            checkpoints.append(SourceLine(line.number, msgspec.json.encode(lumenunits.checkpoint_of(event))))
    if part.quarantined:
        report.parts.append(part)
    return checkpoints, file or source.path


def _event(line: bytes) -> Raw | None:
    try:
        event = msgspec.json.decode(line)
    except UNDECODABLE:
        return None
    return event if isinstance(event, dict) and lumenunits.usable(event) else None


def _stamps(source: ForeignFolder, units: dict[str, UnitSource]) -> None:
    for path, real in source.files("stamps/WU-*.done"):
        if real is None or not ids.is_wu(path.stem):
            continue
        text = importing.read_foreign(real, unit_yaml.LARGEST).decode(errors="replace")
        units.setdefault(path.stem, UnitSource(path.stem, {}, [])).stamp = text


class Placed(NamedTuple):
    """The texts of units' files that are to be written, by name below the state folder."""

    made: dict[str, bytes]
    replaced: dict[str, tuple[bytes, bytes]]  # with the one that is here


def place(to: Destination, part: ImportPart, theirs: Unit, placed: Placed) -> None:
    """Take a unit's file where it is new, or newer than ours. Needs the lock `work`."""
    wu_id = text_of(theirs.front, "id")
    path = to.layout.work_unit(ids.check_wu(wu_id))
    try:
        text = _sealed(theirs)
        status = work_units.parse_unit(wu_id, text).status
        if status not in lumenunits.STATES:
            raise frontmatter.BadFile(f"its status is {one_line(status, 40)!r}: one of {', '.join(lumenunits.STATES)}")
    except frontmatter.BadFile as error:
        part.quarantined += 1
        part.name(f"{part.source}: {wu_id}: {error}")
        return
    present = files.read(path)
    if present is None and (to.layout.work / "retired" / path.name).exists():
        part.kept += 1
        part.name(f"{wu_id} was retired here: it stays so")
        return
    if present is not None:
        chosen = _beside(part, wu_id, present.decode(errors="replace"), text, theirs, os.stat(path).st_mtime)
        if chosen is None:
            return
        if len(present) + len(chosen) > _UNDOABLE:
            part.kept += 1
            part.name(f"{wu_id} is too long to be replaced with a way back: remove work/{path.name} and import again")
            return
        placed.replaced[f"work/{path.name}"] = present, chosen.encode()
    else:
        placed.made[f"work/{path.name}"] = text.encode()


def _sealed(unit: Unit) -> str:
    """Return the text of a unit's file with a hash of itself, from which one sees later whether it was changed here."""
    plain = clean(frontmatter.join(unit.front, unit.body))
    if TABLE not in unit.front:
        return plain  # exported from here: it is as it was
    front, body = frontmatter.split(plain)
    return frontmatter.join({**front, TABLE: {**table_of(front, TABLE), SOURCE: short_hash(plain)}}, body)


def _is_unchanged(front: Raw, body: str) -> bool:
    """Return whether a unit's file is as an import wrote it."""
    table = dict(table_of(front, TABLE))
    source = table.pop(SOURCE, "")
    return bool(source) and short_hash(frontmatter.join({**front, TABLE: table}, body)) == source


def _beside(part: ImportPart, wu_id: str, ours: str, theirs: str, unit: Unit, changed: float) -> str | None:
    """Return the text that replaces ours, None where ours stays."""
    if ours == theirs:
        part.present += 1
        return None
    try:
        front, body = frontmatter.split(ours)
    except frontmatter.BadFile as error:
        part.kept += 1
        part.name(f"{wu_id}: its file here cannot be read ({error}); it is kept")
        return None
    new_front = frontmatter.split(theirs)[0]
    known, their_table = table_of(front, TABLE), table_of(new_front, TABLE)
    their_date = times.epoch(text_of(their_table, CHANGED_AT))
    if their_table and _is_unchanged(front, body) and their_date >= times.epoch(text_of(known, CHANGED_AT)):
        return theirs
    if not their_table or (known and known.get(SOURCE) == their_table.get(SOURCE)):
        part.present += 1  # this state of it was imported already; what differs was changed here
        return None
    return _later(part, wu_id, (front, body), Unit(new_front, unit.body), changed)


def _later(part: ImportPart, wu_id: str, ours: tuple[Raw, str], theirs: Unit, changed: float) -> str | None:
    """Return our unit with the state that it has there, where that is later than what a person did here."""
    front, body = ours
    their_date = times.epoch(text_of(table_of(theirs.front, TABLE), CHANGED_AT))
    blank = front.get("title") == UNTITLED and front.get("title") != theirs.front.get("title")
    if their_date <= changed and not blank:
        part.kept += 1
        date = times.iso(changed)[:10]
        part.name(f"{wu_id} was changed here on {date}, after LumenFlow's: ours is kept")
        return None
    merged = dict(front)
    if their_date > changed:
        merged = {key: value for key, value in front.items() if key not in STATE}
        merged |= {key: value for key, value in theirs.front.items() if key in STATE}
    if blank:
        merged = {**theirs.front, **{key: value for key, value in merged.items() if key not in ("title", "created_at")}}
        body = theirs.body
    merged[TABLE] = theirs.front[TABLE]
    return frontmatter.join(merged, body)
