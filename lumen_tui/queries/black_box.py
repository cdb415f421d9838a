"""The room at an earlier moment, rebuilt from the journals, each read up to that moment and no further."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from lumen_tui.model import attention, budget, times
from lumen_tui.model.approvals import Approval
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.loop import Artifact, LoopState, Packet
from lumen_tui.model.snapshot import Attention, Need, Revisions, Snapshot, WakeState
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.transitions import QueueHistory, Transition
from lumen_tui.queries.past_engine import EnginePast, HoldsPast
from lumen_tui.queries.past_tasks import tasks_at
from lumen_tui.queries.past_units import UnitsPast
from lumen_tui.queries.queue_conditions import queue_conditions
from lumen_tui.queries.unit_index import progress_of
from lumen_tui.storage import backwards, files
from lumen_tui.storage.dated_lines import DatedLines
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines, whole_blocks
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store import approvals
from lumen_tui.store.attention.transitions import newest_first
from lumen_tui.store.audit.action_line import ActionLine, decode_action_line
from lumen_tui.store.audit.dismissals import Dismissals
from lumen_tui.store.ledger.ledger_past import LedgerPast
from lumen_tui.store.memory.loop_records import packet_in
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.settings.config import load_config, setting_files
from lumen_tui.store.settings.roles import list_roles, role_files
from lumen_tui.store.signals.signal_history import SignalHistory, SignalsThen

if TYPE_CHECKING:
    from lumen_tui.queries.happenings import Happenings

_PACKETS = 30
_P0 = 100
# Needs that no record says, but the journal of the queue; what is wrong with files and folders is told of now.
_NOTED = frozenset(
    need.value
    for need in Need
    if need
    not in (
        *(Need.ENGINE, Need.APPROVAL, Need.QUESTION, Need.P0_SIGNAL, Need.FAILED, Need.LOST, Need.BUDGET),
        *(Need.P0_DISCOVERY, Need.LOOP, Need.PROBLEM),
    )
)


class BlackBox:
    """The room of any moment, as one operator has it. Not safe for use by two threads at once."""

    def __init__(self, root: Path, operator: str) -> None:
        self._layout, self._operator = Layout(root), operator
        layout = self._layout
        self._looks = 0
        self._ledger, self._units = LedgerPast(layout), UnitsPast(layout)
        self._engine, self._holds = EnginePast(layout), HoldsPast(layout)
        self._queue = Stamped(lambda: [layout.transitions], lambda: list(newest_first(layout))[::-1])
        self._signals, self._nodes = SignalHistory(layout, operator), _NodesPast(layout)
        self._upto = _journals(layout)
        self._config = Stamped(lambda: setting_files(layout), lambda: load_config(layout)[0])
        self._roles = Stamped(lambda: role_files(layout), lambda: list_roles(layout))

    @cached_property
    def happenings(self) -> Happenings:
        """What happened before and after a moment."""
        from lumen_tui.queries.happenings import Happenings  # which a look at one moment does without

        return Happenings(self._layout)

    def close(self) -> None:
        """Close every journal. Snapshots that were taken can still be read."""
        self._signals.close()
        self._nodes.close()

    def at(self, moment: float, now: float) -> Snapshot:
        """Return the room at a moment, as far as that is recorded (`model.past.NOT_RECORDED`); `now` is the present.

        Its revisions differ from those of the one before.
        """
        layout = self._layout
        ends = {journal.path: journal.end_at(moment) for journal in self._upto}
        nodes = self._nodes.at(moment, ends[layout.touches])
        with closing(Dismissals(layout, ends)) as dismissed:
            dismissed.refresh()
            signals, packets = self._signals.at(moment, _P0), _packets(layout, ends[layout.packets])
            return self._rebuilt(moment, now, _Lists(signals, nodes, dismissed.targets(), packets))

    def _rebuilt(self, moment: float, now: float, lists: _Lists) -> Snapshot:
        layout, packets, signals, nodes = self._layout, lists.packets, lists.signals, lists.nodes
        self._config.refresh()
        self._roles.refresh()
        config, (roles, retired, _) = self._config.value, self._roles.value
        rule, tasks = config.memory.decay.rule, tasks_at(layout, moment, roles)
        asked = _asked(layout, moment, {view.id for view in tasks if not view.finished})
        book, engine = self._ledger.book_at(moment, now), self._engine.at(moment, packets)
        killed, paused = self._holds.killed(moment), self._holds.paused(moment)
        live = [view for view in tasks if not view.finished]
        spend = budget.view(book, config.budget, moment, [view.id for view in live if view.status.alive])
        shown = Snapshot(
            root=str(layout.root),
            taken=moment,
            config=config,
            engine=engine,
            loop=_loop_state(packets),
            packets=packets,
            wake=_wake_state(packets),
            tasks=tasks,
            signals=signals.rows,
            unread=signals.unread,
            discoveries=nodes.discoveries(moment),
            discovery_counts=nodes.open.counts(moment),
            decay=nodes.decay_view(rule, moment),
            fading=nodes.fading(rule, moment),
            roles=tuple(roles),
            retired=tuple(retired),
            spend=spend,
            approvals=tuple(request for request in asked if not request.question),
            questions=tuple(request for request in asked if request.question),
            killed=killed,
            paused=paused,
            standing=queue_conditions(
                live, config, roles, retired, engine=engine, book=book, killed=killed, paused=paused, now=moment
            ),
            read_only="this is the past",
            revisions=self._revisions(),
        )
        return self._with_queue(self._with_units(shown), asked, lists)

    def _revisions(self) -> Revisions:
        self._looks += 1
        return Revisions(**dict.fromkeys(Revisions.__struct_fields__, self._looks))

    def _with_units(self, shown: Snapshot) -> Snapshot:
        units = self._units.at(shown.taken)
        lanes = tuple(sorted({unit.lane for unit in units if unit.lane}))
        return replace(shown, work=units, work_percent=progress_of(units, shown.signals), lanes=lanes)

    def _with_queue(self, shown: Snapshot, asked: Sequence[Approval], lists: _Lists) -> Snapshot:
        """Add what needed a person: what the records say, and of what they do not, what the queue's journal says."""
        self._queue.refresh()
        history = QueueHistory()
        for transition in self._queue.value:
            if transition.moment <= shown.taken:
                history.take(transition)
        noted = [_noted(item.transitions[0]) for item in history.open.values() if item.transitions[0].need in _NOTED]
        shown = _with_stalled(shown, {need.target for need in noted if need.need is Need.STALLED})
        recorded = _needs(shown, asked, lists)
        known = {need.key for need in recorded}
        needs = (*recorded, *(need for need in noted if need.key not in known))
        day = budget.day_of(shown.taken, shown.config.budget.day_starts)
        queue = attention.sift(attention.in_order(needs), lists.dismissed, day, shown.taken)
        return replace(shown, attention=queue.shown, snoozed=queue.put_off)


def _with_stalled(shown: Snapshot, noted: Collection[str]) -> Snapshot:
    """Let the tasks stall of which the queue's journal says it: a process that was stopped was not silent yet."""

    def then(view: TaskView) -> TaskView:
        stalled = view.status is Status.RUNNING and view.id in noted
        return replace(view, status=Status.STALLED) if stalled else view

    return replace(shown, tasks=tuple(map(then, shown.tasks))) if noted else shown


class _Lists(NamedTuple):
    """What was read of the long journals up to a moment."""

    signals: SignalsThen
    nodes: NodeIndex
    dismissed: frozenset[str]
    packets: tuple[Packet, ...]


def _journals(layout: Layout) -> tuple[DatedLines, ...]:
    return (
        DatedLines(layout.touches, b"at"),
        DatedLines(layout.actions, b"at"),
        DatedLines(layout.packets, b"completed_at"),
    )


def _noted(transition: Transition) -> Attention:
    return Attention(Need(transition.need), transition.target, transition.text, transition.moment)


def _needs(shown: Snapshot, asked: Sequence[Approval], lists: _Lists) -> tuple[Attention, ...]:
    """Return what needed a person by the records; a task that was tried again was dealt with."""
    retried = {view.spec.retry_of for view in shown.tasks}
    p0 = min(shown.discovery_counts.get("P0", 0), _P0)
    return attention.collect(
        engine=shown.engine,
        tasks=[view for view in shown.tasks if view.id not in retried],
        p0_signals=lists.signals.urgent,
        p0_discoveries=shown.discoveries[:p0],
        spend=shown.spend,
        problems=(),
        loop=shown.loop,
        killed=shown.killed,
        approvals=asked,
        now=shown.taken,
    )


# How far the nodes went.


class _DatedNode(msgspec.Struct):
    id: str
    created_at: str = ""
    updated_at: str = ""


_dated = lazy_decoder(_DatedNode)


class _NodesPast:
    """The index of nodes of one moment after another: read again only where nodes or touches lie between two."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._written = Stamped(lambda: [layout.memory, layout.actions], lambda: list(_node_dates(layout)))
        self._index: NodeIndex | None = None
        self._ends: object = None

    def close(self) -> None:
        """Close the journals."""
        if self._index is not None:
            self._index.close()

    def at(self, moment: float, touches: int) -> NodeIndex:
        """Return the nodes of a moment, with the touches before that offset. Touches the disk."""
        self._written.refresh()
        place = bisect_right(self._written.value, moment, key=lambda written: written.at)
        end = self._written.value[place - 1].end if place else 0
        ends = {self._layout.memory: end, self._layout.touches: touches}
        if self._index is None or (end, touches) != self._ends:
            self.close()
            self._index, self._ends = NodeIndex(self._layout, ends), (end, touches)
            while self._index.refresh():
                pass
        return self._index


class _NodeDates(NamedTuple):
    """When a line of the nodes was written, and where it ends."""

    at: float
    end: int


def _node_dates(layout: Layout) -> Iterator[_NodeDates]:
    """Yield when each line was written. An edit is dated; what undo put back has its old date, and that of the undo."""
    try:
        fd = files.open_plain(layout.memory)
    except (FileNotFoundError, files.StoreError, OSError):
        return
    turned = [times.epoch(action.at) for action in _actions(layout, b'does"') if action.undoes or action.redoes]
    seen: set[str] = set()
    written, turn = 0.0, 0
    try:
        for start, block in whole_blocks(fd):
            for offset, line in split_lines(block, start):
                end = offset + len(line) + 1
                try:
                    node = _dated.decode(line)
                except UNDECODABLE:
                    continue
                date = max(times.epoch(node.created_at), times.epoch(node.updated_at))
                if node.id in seen and date < written:
                    turn = next((at for at in range(turn, len(turned)) if turned[at] >= written), len(turned))
                    date = turned[turn] if turn < len(turned) else written
                seen.add(node.id)
                written = max(written, date)
                yield _NodeDates(written, end)
    finally:
        os.close(fd)


def _actions(layout: Layout, *marks: bytes, end: int | None = None) -> Iterator[ActionLine]:
    """Yield the actions with one of these marks up to an offset, or all; what cannot be read is passed over."""
    try:
        fd = files.open_plain(layout.actions)
    except (FileNotFoundError, files.StoreError, OSError):
        return
    try:
        for start, block in whole_blocks(fd):
            for offset, line in split_lines(block, start):
                if end is not None and offset >= end:
                    return
                if not any(mark in line for mark in marks):
                    continue
                try:
                    yield decode_action_line(line)
                except UNDECODABLE:
                    continue
    finally:
        os.close(fd)


def _packets(layout: Layout, end: int) -> tuple[Packet, ...]:
    """Return the last packets before an offset, the oldest first."""
    found: list[Packet] = []
    try:
        fd = files.open_plain(layout.packets)
    except (FileNotFoundError, files.StoreError, OSError):
        return ()
    try:
        for offset, line in backwards.lines(fd):
            if offset < end and (packet := packet_in(line)):
                found.append(packet)
            if len(found) == _PACKETS:
                break
    finally:
        os.close(fd)
    return tuple(reversed(found))


def _loop_state(packets: Sequence[Packet]) -> LoopState | None:
    if not packets:
        return None
    last, failed = packets[-1], len(list(takewhile(lambda packet: packet.failed, reversed(packets))))
    return LoopState(
        loop=last.loop,
        completed_at=last.completed_at,
        sleep_seconds=last.sleep_seconds,
        health=last.health,
        abandoned=last.abandoned,
        decided_against=last.decided_against,
        last_artifact=last.made[-1] if last.made else Artifact(),
        packet=last.id,
        seconds=last.seconds,
        failed_loops=failed,
    )


def _wake_state(packets: Sequence[Packet]) -> WakeState:
    return WakeState(packets[-1].wake_state, times.epoch(packets[-1].completed_at)) if packets else WakeState()


def _asked(layout: Layout, moment: float, unended: set[str]) -> list[Approval]:
    """Return the calls and questions that waited for an answer."""
    found = []
    for request in approvals.every(layout, done=True):
        if not request.asked <= moment < request.expires or not (request.lasting or request.task_id in unended):
            continue
        answer = approvals.decision(layout, request.id)
        if answer is None or times.epoch(answer.at) > moment:
            found.append(request)
    return found
