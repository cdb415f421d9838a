"""The one interface between a front end and the engine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, lineage
from lumen_tui.model.analytics import TaskStatistics
from lumen_tui.model.approvals import Approval
from lumen_tui.model.decay import DecayForecast, DecayRule, DecayView
from lumen_tui.model.lineage import Trace
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.records import Alike, AuditEntry, DiscoveryRow, Node, NodeRow, node_of
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.steering import Steer
from lumen_tui.model.task_cost import NOTHING_SPENT, TaskCost
from lumen_tui.model.tasks import TaskEvent, TaskView
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.queries.task_costs import costs
from lumen_tui.storage import files, origin, process, schema
from lumen_tui.storage.clock import Clock, SystemClock, clocks_of
from lumen_tui.storage.layout import distrust
from lumen_tui.storage.store import Store
from lumen_tui.storage.watch import wait_for_changes
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.tasks import steers
from lumen_tui.store.tasks.task_records import newest_events

if TYPE_CHECKING:
    from lumen_tui.engine.likeness import Titles

_REASONS = 9  # that a prompt offers: one for each digit
_RESULT_BYTES = 1024 * 1024
_MOVES = 3  # looks at a task that moves: into the archive, and out of it where it is tried again
_AGES = 60.0  # seconds after which a snapshot is taken again because time alone has changed it
_FIRST = 0.03  # seconds after which the first snapshot is taken of what was read so far
_LOADING = 0.15  # seconds between two later ones while a large folder is read in


class TaskDetail(msgspec.Struct, frozen=True):
    """All there is to read about one task. Texts are safe."""

    view: TaskView
    events: tuple[TaskEvent, ...]
    result: str
    more_events: int = 0  # bytes of earlier events that were left out
    cost: TaskCost = NOTHING_SPENT
    steers: tuple[Steer, ...] = ()  # what was said to it
    question: Approval | None = None  # that waits for the operator's answer
    skills: tuple[str, ...] = ()  # whose text it read, in this order


class Port(Protocol):
    """What a front end may ask. Every call may touch the disk: call it from a thread, never from an event loop."""

    root: Path  # the state folder
    client: str  # where it is that the operator acts, as the audit log names it

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot; cheap when nothing changed."""

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """Yield a new snapshot whenever something changed, until `stop` is set. Blocks between them."""

    def submit(self, request: Request) -> Done:
        """Carry out one action by name (see engine.actions). Raises ActionError and StoreError."""

    def task_detail(self, task_id: str) -> TaskDetail:
        """Return spec, events and result of one task, live or archived. Raises ActionError if there is none."""

    def events(self, limit: int) -> list[EngineEvent]:
        """Return the engine's newest events, oldest first."""

    def node(self, node_id: str) -> Node:
        """Return one node by its full id. Raises ActionError if there is none."""

    def provenance(self, node_id: str) -> tuple[str, ...]:
        """Return where a node came from and what came of it, as lines of text; empty if it has no links."""

    def like(self, node_id: str) -> tuple[str, int] | None:
        """Return the open discovery most like this one and how alike, in per cent; None if none comes near."""

    def similar(self, node_id: str) -> list[Alike]:
        """Return an open discovery and those that resemble it, itself first; empty if it was judged already."""

    def audit_entries(self, limit: int) -> list[AuditEntry]:
        """Return the audit log, newest first."""

    def undoable(self) -> str:
        """Return the id of the operator's newest action here that can be undone; empty if there is none."""

    def recent_reasons(self, verb: str) -> tuple[str, ...]:
        """Return the last reasons given with a verb, each once, newest first."""

    def decay_at(self, rule: DecayRule, now: float) -> tuple[DecayView, Sequence[DecayForecast]]:
        """Return decay under any rule at any moment, for what is in memory today."""

    def why(self, name: str) -> Trace:
        """Return what caused a thing and what came of it. Raises ActionError if nothing has this id."""

    def role_book(self) -> TaskStatistics:
        """Return the statistics of every role and model."""

    def listing(self, kind: str) -> Sequence[NodeRow]:
        """Return the `archived` or the `protected` nodes, last changed first."""


class RemotePort:
    """Talks to the engine through files alone, so any number of rooms work alike, attached or not."""

    def __init__(
        self,
        root: Path,
        operator: str = "operator",
        *,
        read_only: str = "",
        clock: Clock | None = None,
        client: str = "",
    ) -> None:
        self.root = root
        self.operator = operator
        self.client = client or f"room-{process.name(process.myself())}"
        self._read_only = read_only
        self._clock = clock or SystemClock()
        self._store = Store(root)
        self._reader = SnapshotReader(root, operator)
        self._reader.clocks = clocks_of(self._clock)
        # Why what is asked here is no order of the operator, and what shows that an agent asks: as the process began.
        self._origin = origin.no_operator(os.environ), origin.agent_evidence(os.environ)
        self._turn = threading.Lock()
        self._stream = SnapshotStream(self._reader, self._clock, self._turn, lambda: self.read_only)
        self._titles: Titles | None = None

    @property
    def read_only(self) -> str:
        """Why nothing can be written, or the empty string."""
        later = schema.heed(self._store.layout.schema)
        return self._read_only or distrust(self.root) or later or _unwritable(self.root)

    def snapshot(self) -> Snapshot:
        with self._turn:
            return self._stream.signed(self._reader.snapshot(self._clock.now()))

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        return self._stream.changes(stop)

    def submit(self, request: Request) -> Done:
        from lumen_tui.actions import acting
        from lumen_tui.actions.registry import perform  # the room paints before it acts

        if reason := self.read_only:
            raise ActionError(f"nothing can be changed here: {reason}")
        acting.must_not_be_agent(request.verb, self._origin[1])
        return perform(
            self._store,
            request,
            by=self.operator,
            now=self._clock.now(),
            client=self.client,
            order=not self._origin[0],
        )

    def task_detail(self, task_id: str, *, refresh: bool = True) -> TaskDetail:
        """Return one task; without `refresh` by what was taken in last, for a caller that follows the state anyway."""
        for attempt in range(_MOVES):
            with self._turn:
                if refresh or attempt:
                    self._reader.refresh(self._clock.now())
                view, folder = _task(self._reader, task_id)
                asked = self._reader.question_of(view.id, self._clock.now())
            events = newest_events(folder)
            result = (files.read(folder / "result.md", _RESULT_BYTES) or b"").decode(errors="replace")
            messages = tuple(steers.read(folder))
            if folder.exists():
                break  # else it was archived meanwhile, and what was read is not all
        from lumen_tui.model.skills import read_in

        cost = costs(self._store.layout, [view], self._clock.now())[view.id]
        return TaskDetail(
            view=view,
            events=events,
            result=safe(result),
            cost=cost,
            steers=messages,
            question=asked,
            skills=read_in(events),
        )

    def events(self, limit: int) -> list[EngineEvent]:
        from lumen_tui.engine.events import recent_events  # it knows the providers

        return recent_events(self._store, limit)

    def node(self, node_id: str) -> Node:
        match = nodes.find(self._store.layout.memory, [node_id]).get(node_id)
        if match is None:
            raise ActionError(f"there is no node {ids.short(node_id)}", missing=True)
        return node_of(match[1])

    def provenance(self, node_id: str) -> tuple[str, ...]:
        from lumen_tui.queries.lineage.provenance import provenance

        try:
            tree = provenance(self._store, node_id)
        except LookupError as error:
            raise ActionError(f"there is no node {ids.short(node_id)}", missing=True) from error
        return tuple(safe(line) for line in lineage.lines(tree)) if tree.up or tree.down else ()

    def like(self, node_id: str) -> tuple[str, int] | None:
        titles, rows, revision = self._compared()
        return titles.nearest(node_id, rows, revision)

    def similar(self, node_id: str) -> list[Alike]:
        titles, rows, revision = self._compared()
        return titles.alike(node_id, rows, revision)

    def _compared(self) -> tuple[Titles, Sequence[DiscoveryRow], int]:
        """Return the titles index, the open discoveries, and the revision of memory they belong to."""
        with self._turn:
            now = self._clock.now()
            self._reader.load(now)
            rows, revision = self._reader.nodes.discoveries(now), self._reader.nodes.revision
        if self._titles is None:
            from lumen_tui.engine.likeness import Titles  # rapidfuzz: not before it is needed

            self._titles = Titles()
        return self._titles, rows, revision

    def audit_entries(self, limit: int) -> list[AuditEntry]:
        return journal.recent(self._store.layout, limit)

    def undoable(self) -> str:
        from lumen_tui.actions.undo import newest_possible

        return newest_possible(self._store, by=self.operator, client=self.client, now=self._clock.now())

    def recent_reasons(self, verb: str) -> tuple[str, ...]:
        return journal.recent_reasons(self._store.layout, verb, _REASONS)

    def decay_at(self, rule: DecayRule, now: float) -> tuple[DecayView, Sequence[DecayForecast]]:
        with self._turn:
            self._reader.load(self._clock.now())
            index = self._reader.nodes
            return index.decay_view(rule, now), index.fading(rule, now)

    def why(self, name: str) -> Trace:
        from lumen_tui.queries.lineage.trace import trace

        try:
            return trace(self._store.layout, name, self._clock.now())
        except (LookupError, ValueError) as error:
            raise ActionError(f"there is nothing with the id {one_line(name, 60)}", missing=True) from error

    def role_book(self) -> TaskStatistics:
        from lumen_tui.store.tasks import role_stats

        return role_stats.book(self._store.layout, self._clock.now())

    def listing(self, kind: str) -> Sequence[NodeRow]:
        with self._turn:
            self._reader.load(self._clock.now())
            return self._reader.nodes.listing(kind)


def _task(reader: SnapshotReader, task_id: str) -> tuple[TaskView, Path]:
    view, folder = reader.tasks.find(task_id), reader.tasks.folder(task_id)
    if view is None or folder is None:
        raise ActionError(f"there is no task {one_line(task_id, 80)}", missing=True)
    return view, folder


def _unwritable(root: Path) -> str:
    import os

    return "" if os.access(root, os.W_OK | os.X_OK) else f"{root} is read-only"


class SnapshotStream:
    """Takes a snapshot whenever something changed. `turn` is held while the reader is used."""

    def __init__(
        self, reader: SnapshotReader, clock: Clock, turn: threading.Lock, read_only: Callable[[], str]
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._turn = turn
        self._read_only = read_only
        self._serial = 0

    def signed(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with its place among all that were read, and the reason why nothing can be written."""
        self._serial += 1
        return msgspec.structs.replace(snapshot, serial=self._serial, read_only=self._read_only())

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """Yield a new snapshot whenever something changed, until `stop` is set. Blocks between them."""
        mark, taken = None, 0.0
        for _ in self._occasions(stop):
            now, running = self._clock.now(), self._clock.running()
            with self._turn:
                new = (self._reader.mark(), self._read_only())
                if new == mark and running - taken < _AGES:
                    continue
                snapshot = self.signed(self._reader.partial_snapshot(now))
            mark, taken = new, running
            yield snapshot

    def _occasions(self, stop: threading.Event) -> Iterator[None]:
        """Yield once for each part of the first load, then for each change."""
        yield from self._load(stop, _FIRST)
        for _ in wait_for_changes(self._reader.layout, stop, self._reader.tasks.busy):
            yield from self._load(stop)

    def _load(self, stop: threading.Event, patience: float = _LOADING) -> Iterator[None]:
        """Take in what is new; while that takes long, a snapshot of what is there so far every now and then."""
        more, shown = True, self._clock.running()
        while more and not stop.is_set():
            with self._turn:
                more = self._reader.refresh(self._clock.now())
            if not more or self._clock.running() - shown > patience:
                patience = _LOADING
                shown = self._clock.running()
                yield
