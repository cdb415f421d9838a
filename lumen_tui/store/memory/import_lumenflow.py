"""Import of a LumenFlow project: its memory line by line, its work units, sessions and stamps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids, lumenflow
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.foreign import MARK, Raw
from lumen_tui.model.jsontext import text_of
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean
from lumen_tui.store.memory import import_units, importing
from lumen_tui.store.memory.importing import Destination, ImportPart, ImportReport, SourceLine
from lumen_tui.store.memory.outside import ForeignFolder
from lumen_tui.store.work import open_sessions

FOLDER = ".lumenflow"
BESIDE = "lumen-relationships.jsonl"  # in an export: the edges whose ends are no nodes, and those that were withdrawn
CURRENT = "current.json"
_HOLDS = ("memory", "state", "stamps", "sessions")
_COPIED = {"sessions": ("*.json", "ended/*.json"), "stamps": ("*.done",)}
_JOURNALS = ("memory.jsonl", "signals.jsonl", "signal-receipts.jsonl", "relationships.jsonl", BESIDE)
_TOUCHED_BY_IT = ("memory", "sessions", "stamps", "state")


def lumenflow_folder(path: Path) -> Path | None:
    """Return the .lumenflow folder that `path` is or holds."""
    for folder in (path, path / FOLDER):
        if any((folder / name).is_dir() for name in _HOLDS) and (folder.name == FOLDER or (folder / "memory").is_dir()):
            return folder
    return None


def import_lumenflow(to: Destination, folder: Path) -> ImportReport:
    """Import a .lumenflow folder, with the work units of the project that holds it."""
    report = ImportReport(kind="lumenflow", path=str(folder), parts=[])
    project = folder.parent if folder.name == FOLDER else folder
    source = ForeignFolder(folder, project)
    names = _names(source)
    for target, needed, here in _journals(to.layout, names):
        if file := source.file(f"memory/{target.name}"):
            lines = importing.checked(map(here, importing.read_lines(file)), importing.why_not(*needed))
            report.parts.append(importing.add_lines(to, target, file, lines))
    if file := source.file(f"memory/{BESIDE}"):
        lines = importing.checked(importing.read_lines(file), importing.why_not("from_id", "to_id", "type"))
        report.parts.append(importing.add_lines(to, to.layout.relationships, file, lines))
    import_units.take(to, source, project, report)
    report.parts += [_copy_files(to, source, name) for name in _COPIED if _there(source, name)]
    report.left_out |= _left_out(source)
    return report


def _there(source: ForeignFolder, name: str) -> bool:
    return (source.path / name).is_dir()


Here = Callable[[SourceLine], SourceLine]


def _journals(layout: Layout, names: dict[str, str]) -> Iterator[tuple[Path, tuple[str, ...], Here]]:
    """Yield the journals: where each goes, the texts that its records have, and how a line becomes ours."""
    yield layout.memory, ("id", "type", "content", "created_at"), _here(lumenflow.node_here)
    yield layout.signals, ("id", "message", "created_at"), _here(lumenflow.marked_here)
    yield layout.receipts, ("signal_id", "read_at"), lambda source: source
    edge_here = _here(lambda edge: lumenflow.edge_here(edge, names), always=bool(names))
    yield layout.relationships, ("from_id", "to_id", "type", "created_at"), edge_here


def _here(change: Callable[[Raw], Raw], *, always: bool = False) -> Here:
    """Return a function that restores what was exported from here; every other line stays byte for byte."""
    mark = f'"{MARK}"'.encode()

    def line_here(source: SourceLine) -> SourceLine:
        if source.reason or not (always or mark in source.line):
            return source
        record = _decoded(source.line)
        ours = change(record) if record is not None else None
        return source if ours is None or ours is record or ours == record else _line(source, ours)

    return line_here


def _line(source: SourceLine, record: Raw) -> SourceLine:
    return SourceLine(source.number, msgspec.json.encode(record))


def _decoded(line: bytes) -> Raw | None:
    try:
        record = msgspec.json.decode(line)
    except UNDECODABLE:
        return None
    return record if isinstance(record, dict) else None


def _names(source: ForeignFolder) -> dict[str, str]:
    """Return our id of each node that was exported from here, by the id that it has there."""
    names: dict[str, str] = {}
    file = source.file("memory/memory.jsonl")
    for entry in importing.read_lines(file) if file else ():
        if b'"here"' not in entry.line:
            continue
        record = _decoded(entry.line) or {}
        here = text_of(lumenflow.node_here(record), "id")
        if here and here != record.get("id") and _is_id(here):
            names[text_of(record, "id")] = here
    return names


def _is_id(text: str) -> bool:
    try:
        return bool(ids.check_file_name(text))
    except ids.BadId:
        return False


def _copy_files(to: Destination, source: ForeignFolder, name: str) -> ImportPart:
    """Copy the files that are missing here; existing ones are never overwritten."""
    part = ImportPart(source=str(source.path / name), target=name)
    new_files: dict[str, bytes] = {}
    for pattern in _COPIED[name]:
        for path, real in source.files(f"{name}/{pattern}"):
            part.read += 1
            try:
                place = to.layout.root / name / Path(pattern).parent / ids.check_file_name(path.name)
                data = _clean_file(_session_here(path.name, importing.read_foreign(real)))
            except (ids.BadId, OSError) as error:
                part.quarantined += 1
                part.name(f"{path}: {error}")
                continue
            if _is_new(part, path, place, data):
                new_files[str(place.relative_to(to.layout.root))] = data
    importing.write_files(to, part, new_files)
    return part


def _is_new(part: ImportPart, path: Path, place: Path, data: bytes) -> bool:
    """Return whether a file is not here yet; one that is stays as it is."""
    if (present := files.read(place)) is None:
        return True
    part.present += 1
    our_stamp = place.suffix == ".done" and present.startswith(b"{")  # it says the same in our form
    if present != data and not our_stamp:
        part.name(f"{path}: ours is another and was kept")
    return False


def _session_here(name: str, data: bytes) -> bytes:
    """Return the current session that was exported from here as it was; every other file as it is."""
    record = _decoded(data) if name == CURRENT else None
    ours = lumenflow.marked_here(record) if record is not None else record
    return data if ours is None or ours is record else open_sessions.encode(ours)


def _clean_file(data: bytes) -> bytes:
    """Return a session or stamp file without secrets; one that is not UTF-8 unchanged."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    redacted = clean(text)
    return data if redacted == text else redacted.encode()


def _left_out(source: ForeignFolder) -> dict[str, int]:
    """Count what of the folder has no place here, by kind."""
    counts = Counter(source.others(set(_TOUCHED_BY_IT)))
    for name in _TOUCHED_BY_IT:
        for file, count in ForeignFolder(source.path / name, source.path.parent).others(set()).items():
            if not _is_taken(name, file):
                counts[file if file.startswith("files of") else f"{name}/{file}"] += count
    counts.update({f"{name}, a link to outside of the folder": count for name, count in source.outside.items()})
    return {name: count for name, count in counts.items() if count}


def _is_taken(folder: str, name: str) -> bool:
    """Return whether a file of one of the folders that are read is itself read."""
    if folder == "memory":
        return name in _JOURNALS
    if folder == "state":
        return name == "wu-events.jsonl"
    return name.endswith(".json" if folder == "sessions" else ".done") or name == "files of ended/"
