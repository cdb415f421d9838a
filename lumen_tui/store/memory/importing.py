"""Imports of foreign lines: each is added once, unchanged and in order; what cannot be used is quarantined.

Running an import twice changes nothing: a line that is already there is not added again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.merging import Settled, settle
from lumen_tui.storage import directories, files
from lumen_tui.storage.damage import Quarantined, known_lines
from lumen_tui.storage.journal import Journal, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean, clean_foreign
from lumen_tui.store.memory import nodes

_CHUNK = 1024 * 1024
_KEPT_BYTES = 8 * 1024  # of a damaged line; its source is still there
_MOST_NAMED = 20  # damaged lines that a report names


class SourceLine(msgspec.Struct):
    """One line of a source file, or where `reason` is set, a line that cannot be used. `number` counts from 1."""

    number: int
    line: bytes
    reason: str = ""


class ImportPart(msgspec.Struct):
    """The result for one source file. Counts are of lines or files."""

    source: str
    target: str
    read: int = 0
    added: int = 0
    present: int = 0  # there already
    kept: int = 0  # ours, which are newer or decided on, were kept
    quarantined: int = 0
    problems: list[str] = []  # the first of them, with file and line
    at: int = 0  # where in the target the lines begin that were added
    size: int = 0  # and how many bytes they have
    copied: list[str] = []  # files that were added, below the state folder


class ImportReport(msgspec.Struct):
    """What an import did."""

    kind: str
    path: str
    parts: list[ImportPart] = []

    @property
    def added(self) -> int:
        """How many are new."""
        return sum(part.added for part in self.parts)

    @property
    def quarantined(self) -> int:
        """How many could not be used."""
        return sum(part.quarantined for part in self.parts)


def read_lines(path: Path) -> Iterator[SourceLine]:
    """Yield the lines of a foreign file, overlong ones marked; no more than one line is in memory."""
    number = 0
    tail = b""
    cut = False
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            *lines, tail = (tail + chunk).split(b"\n")
            for line in lines:
                number += 1
                yield _source(number, line, cut)
                cut = False
            if len(tail) > files.MAX_READ_LINE:
                tail = tail[:_KEPT_BYTES]
                cut = True
    if tail:
        yield _source(number + 1, tail, cut)


def _source(number: int, line: bytes, cut: bool) -> SourceLine:
    if cut or len(line) > files.MAX_READ_LINE:
        return SourceLine(number, line[:_KEPT_BYTES], "the line is longer than 1 MiB")
    return SourceLine(number, (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip())


def checked(sources: Iterable[SourceLine], why_not: Callable[[bytes], str]) -> Iterator[SourceLine]:
    """Yield the sources that are not blank, each with the reason why it cannot be used, if any."""
    for source in sources:
        if source.line and not source.reason:
            source.reason = why_not(source.line)
        if source.line:
            yield source


def why_not(*needed: str) -> Callable[[bytes], str]:
    """Return a check of lines for records with these text fields; it returns what is wrong, or an empty text."""

    def test(line: bytes) -> str:
        try:
            record = msgspec.json.decode(line)
            if not isinstance(record, dict):
                return "not a JSON object"
            if missing := [key for key in needed if not isinstance(record.get(key), str)]:
                return f"the field {missing[0]!r} is missing or no text"
            if "id" in needed:
                ids.check_file_name(record["id"], "id")
        except (*UNDECODABLE, ids.BadId) as error:
            return str(error)
        return ""

    return test


def add_lines(layout: Layout, target: Path, source: Path, sources: Iterable[SourceLine], now: str) -> ImportPart:
    """Append what is new to the journal `target`, under its lock, in one batch; quarantine what cannot be used."""
    part = ImportPart(source=str(source), target=str(target.relative_to(layout.root)))
    bad: list[SourceLine] = []
    with files.locked_log(target) as fd:
        present = Counter(map(_digest, whole_lines(fd)))
        fresh: list[SourceLine] = []
        for entry in map(_without_secrets, sources):
            part.read += 1
            if entry.reason:
                bad.append(entry)
            elif present[digest := _digest(entry.line)] > 0:
                present[digest] -= 1  # the same line may stand twice: an older state that came back
                part.present += 1
            else:
                fresh.append(entry)
        lines = [entry.line for entry in fresh] if target != layout.memory else _settled(fd, part, fresh)
        if lines:
            data = b"".join(line + b"\n" for line in lines)
            part.at = files.append_locked(fd, data)
            part.size = len(data)
    part.added = len(lines)
    _quarantine(layout, part, bad, now)
    return part


def _without_secrets(source: SourceLine) -> SourceLine:
    return source if source.reason else SourceLine(source.number, clean_foreign(source.line))


def _settled(fd: int, part: ImportPart, fresh: list[SourceLine]) -> list[bytes]:
    """Return the node lines to append: of known nodes only what is newer, and no decision is undone."""
    records = [msgspec.json.decode(source.line, type=dict[str, Any]) for source in fresh]
    ours = nodes.newest(fd, {record["id"] for record in records})
    lines = []
    for source, record in zip(fresh, records, strict=True):
        settled = settle(ours[record["id"]][1], record) if record["id"] in ours else Settled(record)
        if settled.told:
            part.kept += 1
            part.problems += (
                [f"{part.source}:{source.number}: {settled.told}"] if len(part.problems) < _MOST_NAMED else []
            )
        if settled.record is not None:
            lines.append(source.line if settled.record is record else msgspec.json.encode(settled.record))
    return lines


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def _quarantine(layout: Layout, part: ImportPart, damaged: list[SourceLine], now: str) -> None:
    """Keep damaged lines once, however often the import runs."""
    known = {(where, digest) for where, _, digest in known_lines(layout)} if damaged else set()
    records = []
    for source in damaged:
        part.quarantined += 1
        if len(part.problems) < _MOST_NAMED:
            part.problems.append(f"{part.source}:{source.number}: {source.reason}")
        digest = hashlib.sha256(source.line).hexdigest()
        where = f"{part.source}:{source.number}"
        if (where, digest) not in known:
            text = source.line[:_KEPT_BYTES].decode(errors="backslashreplace")
            records.append(Quarantined(where, 0, source.reason, digest, text, now))
    if records:
        directories.make_folder(layout.quarantine.parent)
        Journal(layout.quarantine).append_all(records)


def lumenflow_folder(path: Path) -> Path | None:
    """Return the .lumenflow folder that `path` is or holds."""
    for folder in (path, path / ".lumenflow"):
        if (folder / "memory").is_dir():
            return folder
    return None


def import_lumenflow(layout: Layout, folder: Path, now: str) -> ImportReport:
    """Import a .lumenflow folder: journals line by line, session and stamp files whole."""
    report = ImportReport(kind="lumenflow", path=str(folder), parts=[])
    journals = {
        layout.memory: ("id", "type", "content", "created_at"),
        layout.signals: ("id", "message", "created_at"),
        layout.receipts: ("signal_id", "read_at"),
        layout.relationships: ("from_id", "to_id", "type", "created_at"),
    }
    for target, needed in journals.items():
        source = folder / "memory" / target.name
        if source.is_file():
            sources = checked(read_lines(source), why_not(*needed))
            report.parts.append(add_lines(layout, target, source, sources, now))
    for name, pattern in (("sessions", "*.json"), ("stamps", "*.done")):
        if (folder / name).is_dir():
            report.parts.append(_copy_files(layout, folder / name, layout.root / name, pattern))
    return report


def _copy_files(layout: Layout, source: Path, target: Path, pattern: str) -> ImportPart:
    """Copy the files that are missing here; existing ones are never overwritten."""
    part = ImportPart(source=str(source), target=str(target.relative_to(layout.root)))
    for path in sorted(source.glob(pattern)):
        part.read += 1
        try:
            place = target / ids.check_file_name(path.name)
            data = files.read(path)
        except (ids.BadId, files.StoreError) as error:
            part.quarantined += 1
            part.problems.append(f"{path}: {error}")
            continue
        if (present := files.read(place)) is None:
            files.replace(place, _clean_file(data or b""))
            part.added += 1
            part.copied.append(str(place.relative_to(layout.root)))
            continue
        part.present += 1
        if present != _clean_file(data or b""):
            part.problems.append(f"{path}: ours is another and was kept")
    return part


def _clean_file(data: bytes) -> bytes:
    """Return a session or stamp file without secrets; one that is not UTF-8 unchanged."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    redacted = clean(text)
    return data if redacted == text else redacted.encode()
