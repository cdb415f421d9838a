"""Imports of foreign lines: each is added once, unchanged and in order; what cannot be used is quarantined.

Running an import twice changes nothing: a line that is already there is not added again. For undo, the lines that an
import appended to a journal are found again and removed, if nothing builds on them.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.merging import Settled, settle
from lumen_tui.storage import directories, files, rewriting
from lumen_tui.storage.damage import Quarantined, known_lines
from lumen_tui.storage.journal import Journal, whole_lines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.redaction import clean_foreign
from lumen_tui.storage.rewriting import Watch
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw

_CHUNK = 1024 * 1024
_KEPT_BYTES = 8 * 1024  # of a damaged line; its source is still there
_MOST_NAMED = 20  # damaged lines that a report names
_FIRST = 300  # bytes of the first line by which a range is found after the journal was rewritten
_STAMPS = ("updated_at", "updated_by")


class Destination(NamedTuple):
    """Where an import goes. `begin` is called before each write, so that one that changes nothing leaves no trace."""

    layout: Layout
    now: str
    begin: Callable[[], None] = lambda: None
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
    at: int = 0  # where in the target the lines begin that were added
    size: int = 0  # and how many bytes they have
    copied: list[str] = []  # files that were added, below the state folder
    replaced: dict[str, str] = {}  # files that were replaced, each with the text that it had

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
    """Append what is new to the journal `target`, under its lock, in one batch; quarantine what cannot be used."""
    part = ImportPart(source=str(source), target=str(target.relative_to(to.layout.root)))
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
        lines = [entry.line for entry in fresh] if target != to.layout.memory else _settled(fd, part, fresh)
        if lines:
            to.begin()
            data = b"".join(line + b"\n" for line in lines)
            part.at = files.append_locked(fd, data)
            part.size = len(data)
    part.added = len(lines)
    _quarantine(to, part, bad)
    return part


def _without_secrets(source: SourceLine) -> SourceLine:
    return source if source.reason else SourceLine(source.number, clean_foreign(source.line))


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


class LineRange(msgspec.Struct):
    """Consecutive lines in a journal: their offset and size in bytes, their hash, and how the first begins."""

    at: int
    size: int
    sha256: str
    first: str


def line_range(path: Path, at: int, size: int) -> LineRange:
    """Return the lines that are at this place now."""
    fd = files.open_plain(path)
    try:
        data = os.pread(fd, size, at)
    finally:
        os.close(fd)
    return LineRange(at, size, hashlib.sha256(data).hexdigest(), data[:_FIRST].decode(errors="replace"))


def find_range(path: Path, lines_wanted: LineRange) -> int:
    """Return the offset of the lines now; -1 where they are no longer together."""
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return -1
    try:
        if not os.fstat(fd).st_size:
            return -1
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as data:
            return _find(data, lines_wanted)
    finally:
        os.close(fd)


def _find(data: mmap.mmap, lines_wanted: LineRange) -> int:
    at = lines_wanted.at
    first = lines_wanted.first.encode()
    while at >= 0:
        if hashlib.sha256(data[at : at + lines_wanted.size]).hexdigest() == lines_wanted.sha256:
            return at
        at = data.find(first, 0 if at == lines_wanted.at else at + 1)
        if at == lines_wanted.at:
            at = data.find(first, at + 1)
    return -1


class Later(NamedTuple):
    """What later lines say about the records of a range."""

    changed: str = ""  # the id of one that differs from what was imported
    again: frozenset[str] = frozenset()  # those that are as imported: changes to them were undone
    end: int = 0  # up to which offset the journal was read


def later_changes(path: Path, at: int, size: int) -> Later:
    """Return what builds on the range at this place."""
    fd = files.open_plain(path)
    try:
        came = os.pread(fd, size, at)
        behind = os.pread(fd, os.fstat(fd).st_size - at - size, at + size)
    finally:
        os.close(fd)
    end = at + size + len(behind)
    both = {name.decode(errors="replace") for name in nodes.ids_in(came) & nodes.ids_in(behind)}
    if not both:
        return Later(end=end)
    first = _newest(came, both)
    last = _newest(behind, both)
    changed = next((name for name in sorted(both) if name not in last or first.get(name) != last[name]), "")
    return Later(changed, frozenset(both), end)


def _newest(lines: bytes, names: Set[str]) -> dict[str, Raw]:
    """Return the newest state of these records, without who changed them and when."""
    records = {}
    for line in lines.splitlines():
        record = _record(line)
        if record is not None and (record_id := str(record.get("id"))) in names:
            records[record_id] = {
                key: value for key, value in record.items() if key not in _STAMPS and value not in ({}, "")
            }
    return records


def _record(line: bytes) -> Raw | None:
    try:
        record = msgspec.json.decode(line)
    except UNDECODABLE:
        return None
    return record if isinstance(record, dict) else None


def cut_range(path: Path, at: int, size: int, changes: Later) -> None:
    """Remove the range, and later lines that repeat its records.

    Raise rewriting.JournalReplaced where the journal was replaced meanwhile.
    """
    position = 0

    def without(blocks: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal position
        for block in blocks:
            begin = max(0, at - position)
            end = max(0, at + size - position)
            following = block[end:]
            examined = max(0, changes.end - position - min(end, len(block)))
            position += len(block)
            repeated = following[:examined]
            newer = following[examined:]
            yield block[:begin] + (_not_of(repeated, changes.again) if changes.again else repeated) + newer

    rewriting.beside(path, without)


def _not_of(lines: bytes, names: Set[str]) -> bytes:
    return b"".join(
        [line for line in lines.splitlines(keepends=True) if str((_record(line) or {}).get("id")) not in names]
    )
