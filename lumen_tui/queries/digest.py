"""When each operator last looked, and what is new in the journals since: from there on, or back to a date, never all.

The folder of visits is not watched: nobody wakes of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from lumen_tui.model import agent, digest, ids, times
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.digest import Digest, DigestEntry
from lumen_tui.model.digests import sha256
from lumen_tui.model.kinds import DISCOVERY_ALIASES
from lumen_tui.model.loop import TASK_ENDED, EngineEvent, task_end
from lumen_tui.model.packets import outcome
from lumen_tui.model.records import Stage, decode_node, decode_signal
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import backwards, directories, files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import whole_blocks
from lumen_tui.store import approvals
from lumen_tui.store.audit.action_line import decode_action_line
from lumen_tui.store.memory.loop_records import packet_in

_MOST = 64 * 1024  # bytes of a record
T = TypeVar("T")
MOST = 5000  # newest lines of one journal that are looked at
_NAMED = 200  # entries of one group
_OLDER_IN_A_ROW = 50  # lines in a row from before the date after which nothing newer is expected
_TEXT = 200  # characters
_DATES = (b'"created_at":"', b'"at":"', b'"completed_at":"')
_ELSEWHERE = frozenset({"signal.send", "node.create"})  # verbs whose work has a group of its own


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


def visit_path(layout: Layout, operator: str) -> Path:
    """Return the record of an operator. Any name will do: the file is named after its hash where it must be."""
    try:
        slug = ids.check_name(operator, "operator")
    except ids.BadId:
        slug = f"other-{sha256(operator.encode(errors='replace'))[:16]}"
    return layout.operators / f"{slug}.json"


def read_visit(layout: Layout, operator: str) -> LastVisit | None:
    """Return when an operator last looked; None for never, or where that cannot be read."""
    try:
        data = files.read(visit_path(layout, operator), _MOST)
        visit = msgspec.json.decode(data, type=LastVisit) if data else None
    except (*UNDECODABLE, files.StoreError, OSError):
        return None
    return visit if visit and visit.at else None


def note_visit(layout: Layout, operator: str, now: float) -> None:
    """Note that an operator is looking. files.StoreError where it cannot be; a folder that is gone stays gone."""
    if not layout.exists():
        raise files.NotWritten(f"there is no state folder at {layout.root} any more")
    directories.make_folder(layout.operators, below=layout.root)
    seen = LastVisit(safe(operator), times.iso(now), places(layout))
    files.replace(visit_path(layout, operator), msgspec.json.format(msgspec.json.encode(seen), indent=1) + b"\n")


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


class NewLines(NamedTuple):
    """New lines, the newest first; how many there are; and whether there may be more than that."""

    lines: list[bytes]
    total: int
    partly: bool = False


def new_lines(path: Path, place: JournalPosition | None, since: float) -> NewLines:
    """Return the lines behind `place`; where that is none, or the journal was rewritten, those that are not older."""
    try:
        fd = files.open_plain(path)
    except (FileNotFoundError, files.Refused):
        return NewLines([], 0)
    try:
        stat = os.fstat(fd)
        if place is None or place.ino != stat.st_ino or place.offset > stat.st_size:
            return _since_date(fd, times.iso(since)[:19].encode())
        # A line that was being written at the last visit is new.
        return _from_offset(fd, backwards.line_start(fd, place.offset))
    finally:
        os.close(fd)


def _from_offset(fd: int, begin: int) -> NewLines:
    lines: list[bytes] = []
    for offset, line in backwards.lines(fd):
        if offset < begin:
            return NewLines(lines, len(lines))
        if len(lines) >= MOST:
            return NewLines(lines, sum(block.count(b"\n") for _, block in whole_blocks(fd, begin)))
        lines.append(line)
    return NewLines(lines, len(lines))


def _since_date(fd: int, since: bytes) -> NewLines:
    lines: list[bytes] = []
    older = 0
    for _, line in backwards.lines(fd):
        if _date(line) < since:
            older += 1
            if older >= _OLDER_IN_A_ROW:
                break
            continue
        older = 0
        if len(lines) >= MOST:
            return NewLines(lines, len(lines), partly=True)
        lines.append(line)
    return NewLines(lines, len(lines))


def _date(line: bytes) -> bytes:
    """Return the date of a record as it is written; ISO-8601 in UTC sorts as text. One without a date counts as old."""
    at = min((at for mark in _DATES if (at := line.find(mark)) >= 0), default=-1)
    return line[line.find(b'":"', at) + 3 :][:19] if at >= 0 else b""


def digest_for(
    layout: Layout, operator: str, now: float, *, seen: LastVisit | None = None, since: float = 0.0
) -> Digest:
    """Return what happened since `seen`, which says how far the journals went then.

    Without it since a moment, by the dates of lines; for somebody who has not looked before, in the last day.
    """
    first = seen is None and not since
    begin = seen.at if seen else since or now - times.DAY
    return msgspec.structs.replace(_DigestBuilder(layout, operator, begin, seen).digest(now), first=first)


class _DigestBuilder:
    """Builds one digest from the journals."""

    def __init__(self, layout: Layout, operator: str, since: float, seen: LastVisit | None) -> None:
        self._layout, self._operator, self._since, self._seen = layout, operator, since, seen
        self._entries: dict[str, list[DigestEntry]] = {}
        self._counts: dict[str, int] = {}
        self._partly: set[str] = set()
        self._usd = 0.0

    def digest(self, now: float) -> Digest:
        """Return everything, grouped."""
        self._events()
        self._signals()
        self._discoveries()
        self._loops()
        self._people()
        self._questions()
        groups = digest.grouped(self._entries, self._counts, frozenset(self._partly), _NAMED)
        return Digest(self._operator, self._since, now, groups, round(self._usd, 6))

    def _new_lines(self, path: Path) -> NewLines:
        places = self._seen.places if self._seen else {}
        return new_lines(path, places.get(path.name), self._since)

    def _add(self, group: str, at: str, text: str, target: str, kind: str) -> None:
        entry = DigestEntry(times.epoch(at), one_line(text, _TEXT), one_line(target, 80), kind)
        self._entries.setdefault(group, []).append(entry)

    def _events(self) -> None:
        """Add events of the current file and, where it was begun meanwhile, of the one before."""
        new = self._new_lines(self._layout.events)
        place = self._seen.places.get(self._layout.events.name) if self._seen else None
        lines = new.lines
        if new.partly or not _is_same_file(self._layout.events, place):
            earlier = new_lines(self._layout.earlier_events, place, self._since)
            lines = [*lines, *earlier.lines][:MOST]
        for event in _decoded(lines, lambda line: decode_safe(line, EngineEvent)):
            self._event(event)

    def _event(self, event: EngineEvent) -> None:
        if event.kind == TASK_ENDED:
            end = task_end(event)
            self._usd += end.usd
            if not agent.is_own(event.task_id):
                reason = f": {end.reason}" if end.reason else ""
                text = event.text if end.status == "done" else f"{event.text} {end.status}{reason}"
                self._add("ended" if end.status == "done" else "failed", event.at, text, event.task_id, "task")
        elif group := digest.EVENTS.get(event.kind):
            target, kind = event.task_id, "task"
            if isinstance(fact := event.data.get("fact"), str):
                target, kind = fact, "fact"
            text = digest.event_words(event.kind, event.text)
            self._add(group, event.at, text, target, kind if target else "event")

    def _signals(self) -> None:
        """Add signals to everybody and to the operator."""
        new = self._new_lines(self._layout.signals)
        for signal in _decoded(new.lines, decode_signal):
            if signal.sender == self._operator or signal.target_agent not in ("", self._operator):
                continue
            head = " ".join(part for part in (signal.priority if signal.priority == "P0" else "", signal.wu_id) if part)
            self._add(
                "signals",
                signal.created_at,
                f"{head + ' ' if head else ''}{signal.sender}: {signal.message}",
                signal.id,
                "signal",
            )
        if new.total > len(new.lines):
            self._counts["signals"] = new.total
        self._note_partial("signals", new)

    def _discoveries(self) -> None:
        new = self._new_lines(self._layout.memory)
        lines = [line for line in new.lines if b'"discovery"' in line and b'"updated_at"' not in line]
        for node in _decoded(lines, decode_node):
            if node.type in ("discovery", *DISCOVERY_ALIASES) and node.created_by != self._operator:
                self._add("discoveries", node.created_at, f"{node.priority} {node.title}".strip(), node.id, "node")
        self._note_partial("discoveries", new)

    def _loops(self) -> None:
        new = self._new_lines(self._layout.packets)
        for packet in filter(None, map(packet_in, new.lines)):
            name = agent.task_id(packet.loop) if packet.loop > 0 else ""
            self._add("loops", packet.completed_at, f"loop {packet.loop}: {outcome(packet)}", name, "loop")
        if new.total > len(new.lines):
            self._counts["loops"] = new.total
        self._note_partial("loops", new)

    def _people(self) -> None:
        """Add what other operators did. An action may take several lines."""
        new = self._new_lines(self._layout.actions)
        others = [line for line in _decoded(new.lines, decode_action_line) if line.by != self._operator]
        dropped = {line.id for line in others if line.stage == Stage.DROPPED}
        reported = [
            line for line in others if line.stage not in (Stage.DONE, Stage.DROPPED) and line.verb not in _ELSEWHERE
        ]
        actions = {line.id: line for line in reported if line.id not in dropped}
        for line in actions.values():
            self._add("people", line.at, f"{line.by}: {line.summary or line.verb}", line.target or line.id, "action")
        self._note_partial("people", new)

    def _questions(self) -> None:
        """Add approvals that wait now and were asked for meanwhile."""
        for request in approvals.undecided(self._layout):
            if request.asked >= self._since:
                self._add(
                    "approvals",
                    times.iso(request.asked),
                    f"{request.role} asks: {request.summary}",
                    request.id,
                    "approval",
                )

    def _note_partial(self, group: str, new: NewLines) -> None:
        if new.partly:
            self._partly.add(group)


def _is_same_file(path: Path, place: JournalPosition | None) -> bool:
    """Return whether the journal is still the one in which the place was noted."""
    try:
        return place is not None and os.stat(path).st_ino == place.ino
    except OSError:
        return False


def _decoded(lines: list[bytes], decode: Callable[[bytes], T]) -> Iterator[T]:
    """Decode lines. Damaged ones are skipped: the room's problems report them."""
    for line in lines:
        try:
            yield decode(line)
        except UNDECODABLE:
            continue
