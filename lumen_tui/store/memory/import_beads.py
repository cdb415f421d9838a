"""Import of beads: one file of issues, or its folder, in which labels, dependencies and comments may be beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import beads, beads_marks, lumenunits, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import Raw
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.model.lumenunits import Unit
from lumen_tui.storage import files
from lumen_tui.store.memory import import_units, importing, nodes
from lumen_tui.store.memory.importing import Destination, ImportReport, SourceLine
from lumen_tui.store.memory.outside import ForeignFolder

ISSUES = ("issues.jsonl", "beads.jsonl")
_PLACES = ("", ".beads", ".beads/backup", "backup")
_FOLDERS = (".beads", "backup")  # what else is in these is beads' own
_BESIDE = {"labels": "labels.jsonl", "dependencies": "dependencies.jsonl", "comments": "comments.jsonl"}
_NODE = importing.why_not("id", "type", "content", "created_at")
_EDGE = importing.why_not("from_id", "to_id", "type")
_NAMED = {
    "events.jsonl": "lines of history (events.jsonl)",
    "interactions.jsonl": "lines of its audit log (interactions.jsonl)",
    "deletions.jsonl": "deletions (deletions.jsonl)",
    "config.jsonl": "settings (config.jsonl)",
}


def issues_file(path: Path) -> Path | None:
    """Return the file of issues that `path` is or holds."""
    if path.is_file():
        return path
    places = [path / place / name for place in _PLACES for name in ISSUES]
    return next((place for place in places if place.is_file()), None)


def import_beads(to: Destination, path: Path) -> ImportReport:
    """Import the issues of one file, dependencies as relationships, memories as notes; of beads' folder the whole."""
    report = ImportReport(kind="beads", path=str(path), parts=[])
    folder = ForeignFolder(path.parent)
    left_out: Counter[str] = Counter()
    is_whole = path.parent.name in _FOLDERS
    beside = {name: _beside(folder, file, left_out) for name, file in _BESIDE.items()} if is_whole else {}
    beads_file = _BeadsFile()
    for source in importing.read_lines(path):
        if source.line:
            beads_file.take(to, source, beside)
    beads_file.finish(left_out, beside)
    report.parts += [
        importing.add_lines(to, to.layout.memory, path, beads_file.records()),
        importing.add_lines(to, to.layout.relationships, path, beads_file.edges),
    ]
    if beads_file.units:
        report.parts.append(import_units.take_whole(to, path, beads_file.units.values()))
    for name, words in _NAMED.items() if is_whole else ():
        if count := folder.count_lines(name):
            left_out[words] += count
    if is_whole:
        left_out.update(folder.others({path.name, *_BESIDE.values(), *_NAMED}))
    report.left_out = dict(left_out)
    report.notes = beads_file.notes()
    return report


Beside = dict[str, list[Raw]]  # by the id of the issue


def _beside(folder: ForeignFolder, name: str, left_out: Counter[str]) -> Beside:
    """Return the records of a file beside the issues, by issue."""
    records: Beside = {}
    file = folder.file(name)
    for source in importing.read_lines(file) if file else ():
        record = None if source.reason else _decoded(source)
        issue_id = text_of(record, "issue_id") if record is not None else ""
        if record is None or not issue_id:
            left_out[f"lines of {name} that cannot be used"] += bool(source.line)
            continue
        records.setdefault(issue_id, []).append(record)
    return records


def _decoded(source: SourceLine) -> Raw | None:
    try:
        record = msgspec.json.decode(source.line)
    except UNDECODABLE as error:
        source.reason = str(error)
        return None
    return record if isinstance(record, dict) else None


class _BeadsFile:
    """What the lines of one file come to: of several lines of an issue the one that was changed last."""

    def __init__(self) -> None:
        self.issues: dict[str, SourceLine] = {}
        self.changed: dict[str, float] = {}
        self.others: list[SourceLine] = []
        self.units: dict[str, Unit] = {}
        self.edges: list[SourceLine] = []
        self._edges: dict[str, list[SourceLine]] = {}
        self._counts: Counter[str] = Counter()
        self._known: set[str] = set()

    def take(self, to: Destination, source: SourceLine, beside: dict[str, Beside]) -> None:
        """Take one line: an issue, a memory, a header, or something that is none of these."""
        record = None if source.reason else _decoded(source)
        if record is not None and "_schema" in record:
            return  # the header of a sorted export: it holds no record
        if (
            record is not None
            and record.get("_type") == "memory"
            and text_of(record, "key")
            and text_of(record, "value")
        ):
            self.others.append(_line(source, _note(to, record), _NODE))
        elif record is not None and all(text_of(record, key) for key in ("id", "title")):
            self._take_issue(source, record, beside)
        else:
            source.reason = source.reason or "not an issue: it has no id or no title"
            self.others.append(source)

    def _take_issue(self, source: SourceLine, issue: Raw, beside: dict[str, Beside]) -> None:
        name = text_of(issue, "id")
        self._known.add(name)
        changed = max(times.epoch(text_of(issue, key)) for key in ("updated_at", "created_at"))
        if name in self.issues:
            self._counts["again"] += 1
            if changed < self.changed[name]:
                return
        self.changed[name] = changed
        if unit := beads_marks.unit_of(issue):
            self.units[name] = Unit(lumenunits.plain(table_of(unit, "front")), text_of(unit, "body"))
        _join(issue, {kind: records.get(name, []) for kind, records in beside.items()})
        self._counts["backlog"] += beads.priority_of(issue) == beads.BACKLOG
        self.issues[name] = _line(source, beads_marks.node_of(issue), _NODE)
        if unit:
            del self.issues[name]
        self._edges[name] = [_line(source, edge, _EDGE) for edge in beads_marks.edges_of(issue)]

    def finish(self, left_out: Counter[str], beside: dict[str, Beside]) -> None:
        """Collect the edges, and count what is beside the issues and belongs to none of them."""
        self.edges = [edge for edges in self._edges.values() for edge in edges]
        for kind, records in beside.items():
            if orphans := sum(len(lines) for name, lines in records.items() if name not in self._known):
                left_out[f"{kind} of issues that are not in the file"] += orphans

    def records(self) -> Iterator[SourceLine]:
        """Yield the lines for memory.jsonl, in the order of the file."""
        return iter(sorted([*self.issues.values(), *self.others], key=lambda source: source.number))

    def notes(self) -> list[str]:
        """Return what a person should know of what was taken."""
        backlog, again = self._counts["backlog"], self._counts["again"]
        return [
            *(
                [f"of priority 4 (backlog), which is P3 here and stays 4 in metadata.beads: {backlog}"]
                if backlog
                else []
            ),
            *([f"lines that repeat an issue, of which the one changed last counts: {again}"] if again else []),
        ]


def _note(to: Destination, memory: Raw) -> Raw:
    """Return the note of a memory, dated when it came here first, as beads keeps no date of it."""
    note = beads_marks.note_of(memory)
    if note["created_at"] != beads.LONG_AGO:
        return note
    known = nodes.find(to.layout.memory, [str(note["id"])]).get(str(note["id"]))
    return {**note, "created_at": known[1].get("created_at", to.now) if known else to.now}


def _join(issue: Raw, beside: dict[str, list[Raw]]) -> None:
    """Add to an issue what is beside it and not in it: labels, dependencies and comments."""
    for kind, records in beside.items():
        if not records:
            continue
        listed = issue.get(kind)
        own = listed if isinstance(listed, list) else []
        known = {_key(kind, entry) for entry in own}
        added = [record for record in records if _key(kind, record) not in known]
        issue[kind] = own + [text_of(record, "label") if kind == "labels" else record for record in added]


def _key(kind: str, entry: object) -> str:
    """Return what makes two entries the same."""
    if not isinstance(entry, dict):
        return str(entry)
    if kind == "labels":
        return text_of(entry, "label")
    if kind == "dependencies":
        return f"{text_of(entry, 'type')} {text_of(entry, 'depends_on_id')}"
    return str(entry.get("id")) if entry.get("id") is not None else f"{entry.get('author')} {entry.get('text')}"


def _line(source: SourceLine, record: Raw, why_not: Callable[[bytes], str]) -> SourceLine:
    line = msgspec.json.encode(record)
    if len(line) > files.MAX_READ_LINE:
        return SourceLine(source.number, source.line, "the issue is longer than 1 MiB")
    return SourceLine(source.number, line, why_not(line))
