"""Imports of foreign lines: each is added once, unchanged and in order; what cannot be used is quarantined.

Running an import twice changes nothing: a line that is already there is not added again.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lumen_tui.model import ids, jsontext
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.merging import Settled, settle
from lumen_tui.storage import directories, files, rewriting
from lumen_tui.storage.damage import Quarantined, known_lines
from lumen_tui.storage.journal import Journal, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean_foreign
from lumen_tui.storage.rewriting import Watch
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.import_ranges import LineRange, range_of

_CHUNK = 1024 * 1024
_KEPT_BYTES = 8 * 1024  # of a damaged line; its source is still there
_MOST_NAMED = 20  # damaged lines that a report names
_STEP = 1000  # lines between two words on the progress


class PlannedWrite(msgspec.Struct, frozen=True):
    """What an import is about to write: lines at the end of a journal, or files. Paths are below the state folder."""

    journal: str = ""
    lines: LineRange | None = None
    made: dict[str, bytes] = {}
    replaced: dict[str, tuple[bytes, bytes]] = {}  # each with the content that it has and the one it gets


def _unrecorded(_: PlannedWrite) -> AbstractContextManager[None]:
    return nullcontext()


class Destination(NamedTuple):
    """Where an import goes. `writing` is around each write: it records what will be there before it is."""

    layout: Layout
    now: str
    writing: Callable[[PlannedWrite], AbstractContextManager[None]] = _unrecorded
    watch: Watch = rewriting.unwatched


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
    copied: list[str] = []  # files that were added, below the state folder
    replaced: list[str] = []  # files that were replaced

    def name(self, problem: str) -> None:
        """Keep a problem for the report, unless there are many already."""
        if len(self.problems) < _MOST_NAMED:
            self.problems.append(problem)


class ImportReport(msgspec.Struct):
    """What an import did."""

    kind: str
    path: str
    parts: list[ImportPart] = []
    left_out: dict[str, int] = {}  # what was not taken, counted by kind
    notes: list[str] = []  # what a person should know of what was taken

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


def read_foreign(path: Path | None, limit: int = 16 * 1024 * 1024) -> bytes:
    """Return the beginning of a file of another tool. OSError where it cannot be read; None is a link to elsewhere."""
    if path is None:
        raise OSError("it is no plain file of this folder, or leads out of it")
    with path.open("rb") as file:
        return file.read(limit)


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


def add_lines(to: Destination, target: Path, source: Path, sources: Iterable[SourceLine]) -> ImportPart:
    """Append what is new to the journal `target`, in one batch; quarantine what cannot be used.

    Secrets are looked for before the lock is taken, as that takes seconds, and only in lines that are not there yet.
    """
    part = ImportPart(source=str(source), target=str(target.relative_to(to.layout.root)))
    bad: list[SourceLine] = []
    matched: Counter[bytes] = Counter()
    new = list(_unknown(part, bad, _lines_of(target), matched, _watched(to, source, sources)))
    if new:
        _append(to, part, target, new, matched)
    _quarantine(to, part, bad)
    return part


def _append(to: Destination, part: ImportPart, target: Path, new: list[SourceLine], matched: Counter[bytes]) -> None:
    """Append under the lock what nobody else appended meanwhile."""
    with files.locked_log(target) as fd:
        present = Counter(map(_digest, whole_lines(fd)))
        present.subtract(matched)
        fresh: list[SourceLine] = []
        for entry in new:
            if present[digest := _digest(entry.line)] > 0:
                present[digest] -= 1
                part.present += 1
            else:
                fresh.append(entry)
        lines = [entry.line for entry in fresh] if target != to.layout.memory else _settled(fd, part, fresh)
        if lines:
            data = b"".join(line + b"\n" for line in lines)
            with to.writing(PlannedWrite(part.target, range_of(data, os.fstat(fd).st_size))):
                files.append_locked(fd, data)
    part.added = len(lines)


def write_files(
    to: Destination,
    part: ImportPart,
    new_files: dict[str, bytes],
    replaced: dict[str, tuple[bytes, bytes]] | None = None,
) -> None:
    """Write files that are not here yet, and give others another content; all of it is recorded beforehand."""
    if not new_files and not replaced:
        return
    with to.writing(PlannedWrite(made=new_files, replaced=replaced or {})):
        for name, data in (*new_files.items(), *((name, after) for name, (_, after) in (replaced or {}).items())):
            directories.make_folder((to.layout.root / name).parent)
            files.replace(to.layout.root / name, data)
    part.added += len(new_files) + len(replaced or {})
    part.copied += new_files
    part.replaced += replaced or {}


def _watched(to: Destination, source: Path, sources: Iterable[SourceLine]) -> Iterator[SourceLine]:
    """Yield the sources, and report how much of the file they are."""
    size = os.path.getsize(source) if source.is_file() else 0
    seen = 0
    for number, entry in enumerate(sources):
        seen += len(entry.line) + 1
        if size and number % _STEP == 0:
            to.watch(min(seen / size, 1.0))
        yield entry


def _lines_of(path: Path) -> Counter[bytes]:
    """Return the digests of the lines of a journal."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return Counter()
    try:
        return Counter(map(_digest, whole_lines(fd)))
    finally:
        os.close(fd)


def _unknown(
    part: ImportPart,
    bad: list[SourceLine],
    known: Counter[bytes],
    matched: Counter[bytes],
    sources: Iterable[SourceLine],
) -> Iterator[SourceLine]:
    """Yield the lines, without secrets, that are not among the known ones; count the matched, and collect the bad."""
    for entry in sources:
        part.read += 1
        if entry.reason:
            bad.append(entry)
        elif known[digest := _digest(entry.line)] > matched[digest]:
            matched[digest] += 1  # the same line may be there twice: an older state that came back
            part.present += 1
        else:
            line = without_order(clean_foreign(entry.line))
            if line != entry.line and known[digest := _digest(line)] > matched[digest]:
                matched[digest] += 1  # it came before, as it is kept here
                part.present += 1
            else:
                yield SourceLine(entry.number, line)


def without_order(line: bytes) -> bytes:
    """Return a line from elsewhere as one that is no order: whose word it is there says nothing here."""
    if b'"order"' not in line and b"\\u" not in line:
        return line
    record = jsontext.decode(line)
    if record is None or record.pop("order", None) is None:
        return line
    return jsontext.dumps(record).encode()


def _settled(fd: int, part: ImportPart, fresh: list[SourceLine]) -> list[bytes]:
    """Return the node lines to append: of known nodes only what is newer, and no decision is undone."""
    records = [msgspec.json.decode(source.line, type=dict[str, Any]) for source in fresh]
    ours = nodes.newest(fd, {record["id"] for record in records})
    lines = []
    for source, record in zip(fresh, records, strict=True):
        known = ours[record["id"]][1] if record["id"] in ours else None
        if known == record:  # the same in other words: it was written by another program, or exported from here
            part.present += 1
            continue
        settled = settle(known, record) if known is not None else Settled(record)
        if settled.told:
            part.kept += 1
            part.name(f"{part.source}:{source.number}: {settled.told}")
        if settled.record is not None:
            lines.append(source.line if settled.record is record else msgspec.json.encode(settled.record))
    return lines


def _digest(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def _quarantine(to: Destination, part: ImportPart, damaged: list[SourceLine]) -> None:
    """Keep damaged lines once, however often the import runs."""
    known = {(where, digest) for where, _, digest in known_lines(to.layout)} if damaged else set()
    records = []
    for source in damaged:
        part.quarantined += 1
        part.name(f"{part.source}:{source.number}: {source.reason}")
        digest = hashlib.sha256(source.line).hexdigest()
        where = f"{part.source}:{source.number}"
        if (where, digest) not in known:
            text = source.line[:_KEPT_BYTES].decode(errors="backslashreplace")
            records.append(Quarantined(where, 0, source.reason, digest, text, to.now))
    if records:
        directories.make_folder(to.layout.quarantine.parent)
        Journal(to.layout.quarantine).append_all(records)
