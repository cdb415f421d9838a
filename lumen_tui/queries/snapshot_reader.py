"""State folder in, one frozen Snapshot out. Reads degrade: what cannot be read becomes a Problem."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.model import attention, budget, liveness, times
from lumen_tui.model.approvals import Approval
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.liveness import EngineView
from lumen_tui.model.loop import Heartbeat, LoopState
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.problem import Problem
from lumen_tui.model.queueing import QueueConditions
from lumen_tui.model.records import Untriaged
from lumen_tui.model.roles import Role, unreached
from lumen_tui.model.snapshot import DemoMark, Revisions, Snapshot, WakeState
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import ALIVE, TaskView
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries import learnt
from lumen_tui.queries.operators import OperatorsIndex
from lumen_tui.queries.queue_conditions import queue_conditions
from lumen_tui.queries.schedule_views import ScheduleIndex
from lumen_tui.queries.unit_index import UnitIndex
from lumen_tui.storage import files, integrity, lease, process
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store import mail_sources
from lumen_tui.store.approvals import ApprovalIndex, ExpiredIndex
from lumen_tui.store.attention.transitions import TransitionBook
from lumen_tui.store.audit.dismissals import Dismissals
from lumen_tui.store.ledger.ledger import LedgerReader
from lumen_tui.store.memory.archive import ArchiveDamage
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.loop_records import recent_packets
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.memory.relays import RelayIndex
from lumen_tui.store.sessions.hook_events import ProgressMonitor
from lumen_tui.store.settings import hosts
from lumen_tui.store.settings.config import load_config, setting_files
from lumen_tui.store.settings.roles import list_custom_tools, list_roles, python_files, role_files
from lumen_tui.store.settings.themes import list_themes, theme_files
from lumen_tui.store.settings.toolservers import server_problems
from lumen_tui.store.signals.signal_index import SignalIndex
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.change_records import OpenLists
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.store.tasks.role_stats import Proposals
from lumen_tui.store.tasks.task_index import TaskIndex, TaskList
from lumen_tui.store.tasks.task_records import read_json

if TYPE_CHECKING:
    from lumen_tui.model.config import Config

RoleList = tuple[list[Role], list[str], list[Problem]]  # as `list_roles` returns it

_PACKETS = 30
_WAKE_BYTES = 256 * 1024
_P0_LIMIT = 100
_TASK_NAMED = lazy_re(rb'"(?:task_id|key|target)":"([a-z0-9][a-z0-9-]*)"')


class ChangedTasks:
    """Which tasks to read again: those that the engine's events and the operators' actions name."""

    SWEEP = 30.0  # seconds after which all are looked at, whatever was named
    LATE = 3.0  # seconds for which a named task is looked at: an action is on record before it is carried out

    def __init__(self, layout: Layout) -> None:
        self._followers = (Follower(layout.events), Follower(layout.actions))
        self._swept = -1.0
        self._named: dict[bytes, float] = {}  # ids, and until when, by the monotonic clock

    def close(self) -> None:
        """Close the journals."""
        for follower in self._followers:
            follower.close()

    def names(self, now: float) -> set[str] | None:
        """Return ids of tasks that may have changed since the last call; None for all of them."""
        sweep, moment = not 0 <= now - self._swept < self.SWEEP, time.monotonic()
        first = self._swept < 0
        for follower in self._followers:
            for _, data in follower.pieces():
                if not first:
                    self._named |= dict.fromkeys(_TASK_NAMED.findall(data), moment + self.LATE)
        self._named = {name: until for name, until in self._named.items() if until >= moment}
        if sweep:
            self._swept = now
            return None
        return {name.decode() for name in self._named}


def _folder_missing(message: str) -> list[Problem]:
    hint = "bring it back, or start again: what is typed into a room or a command is kept nowhere"
    return [Problem("state folder", message, hint)]


def _demo(layout: Layout) -> str:
    """Return what a demo calls itself; empty for a folder that is none."""
    mark = read_json(layout.demo_mark, DemoMark)
    if mark is None:
        return "demo" if layout.demo_mark.exists() else ""
    return f"demo, recorded {one_line(mark.recorded_at[:10])}" if mark.recorded_at else "demo"


def _wake_state(layout: Layout) -> WakeState:
    try:
        data = files.read(layout.wake_state, _WAKE_BYTES)
    except (files.StoreError, OSError) as error:
        return WakeState(text=f"wake-state.md cannot be read: {error}")
    if data is None:
        return WakeState()
    return WakeState(text=safe(data.decode(errors="replace")), written=os.stat(layout.wake_state).st_mtime)


def _kill_words(layout: Layout) -> str:
    kill = read_kill(layout)
    return kill.words if kill else ""


def _learnt_files(layout: Layout) -> list[Path]:
    return [layout.observations, layout.constitution, layout.approved_constitution, layout.promotions]


def _tool_files(layout: Layout) -> list[Path]:
    settings = (layout.config, layout.operator, layout.accepted, layout.custom_tools)
    return [*settings, *python_files(layout), *role_files(layout)]


def _tool_problems(
    layout: Layout, config: Stamped[tuple[Config, list[Problem]]], roles: Stamped[RoleList]
) -> list[Problem]:
    config.refresh()  # whoever asks has looked at the files already, so that what changes now makes him ask again
    roles.refresh()
    servers = server_problems(layout, config.value[0], roles.value[0])
    return [*servers, *list_custom_tools(layout)[1]]


def _folder_problems(layout: Layout) -> list[Problem]:
    return integrity.disk_problems(layout.root) + integrity.misplaced_files(layout)


class SnapshotReader:
    """Follows one state folder for one operator. Not safe for use by two threads at once.

    A dozen journals stay open until `close`: for one snapshot use `with closing(SnapshotReader(root)) as reader`.
    With `queue_only` it keeps what `queue` needs alone, as an engine does for all of its life.
    Nothing in here refers back to the reader, so that one that nobody closes is still freed with its last user.
    """

    def __init__(self, root: Path, operator: str = "operator", *, queue_only: bool = False) -> None:
        self.layout = layout = Layout(root)
        self.signals = SignalIndex(layout, operator)
        self.nodes = NodeIndex(layout)
        self.tasks = TaskIndex(layout)
        self._dismissed = Dismissals(layout)
        self._task_news = ChangedTasks(layout)
        self._config = Stamped(lambda: setting_files(layout), lambda: load_config(layout))
        self._roles = Stamped(lambda: role_files(layout), lambda: list_roles(layout))
        config, roles = self._config, self._roles
        self._tools = Stamped(lambda: _tool_files(layout), lambda: _tool_problems(layout, config, roles))
        self._mail = Stamped(
            lambda: [*mail_sources.source_files(layout).values()], lambda: mail_sources.sources(layout)
        )
        self._themes = Stamped(lambda: [layout.themes, *theme_files(layout)], lambda: list_themes(layout))
        self._work = UnitIndex(layout, self.signals)
        self._loop = Stamped(lambda: [layout.loop_state], lambda: read_json(layout.loop_state, LoopState))
        self._beat = Stamped(lambda: [layout.heartbeat], lambda: read_json(layout.heartbeat, Heartbeat))
        self._wake = Stamped(lambda: [layout.wake_state], lambda: _wake_state(layout))
        self._packets = Stamped(
            lambda: [layout.packets], lambda: () if queue_only else recent_packets(layout, _PACKETS)
        )
        self._progress = ProgressMonitor(layout)
        self._ledger = LedgerReader(layout)
        self._approvals = ApprovalIndex(layout)
        self._expired = ExpiredIndex(layout)
        self.facts = FactIndex(layout)
        self._archive = ArchiveDamage(layout)
        self._missing_reason = ""  # why there is no state folder any more
        self._machine: list[Problem] = []  # what is wrong with the program's files and the disk
        self._kill = Stamped(lambda: [layout.kill], lambda: _kill_words(layout))
        self._pause = Stamped(lambda: [layout.pause, layout.pauses], lambda: pauses.paused(layout))
        self._hosts = Stamped(lambda: hosts.sources(layout), lambda: hosts.known_hosts(layout))
        self._pauses = Stamped(lambda: [layout.pauses], lambda: pauses.parts(layout))
        self._evolution = Stamped(lambda: _learnt_files(layout), lambda: learnt.evolution_summary(layout))
        self._proposals, self._relay = Proposals(layout), RelayIndex(layout)
        self._schedules = ScheduleIndex(layout)
        self._changes = OpenLists(layout)
        self.transitions = TransitionBook(layout)
        self._operators = OperatorsIndex(layout, operator, news=not queue_only)
        self._engine, self._engine_revision = EngineView(), 0
        self.clocks: Callable[[], liveness.Clocks] | None = None  # without them the wall clock has to do

    def close(self) -> None:
        """Close every journal. Snapshots that were taken can still be read."""
        journals = (self.signals, self.nodes, self.facts, self._dismissed, self._task_news, self._progress)
        more = (
            self._ledger,
            self._expired,
            self._archive,
            self._relay,
            self._schedules,
            self.transitions,
            self._operators,
        )
        for index in (*journals, *more):
            index.close()

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config.value[0]

    def refresh(self, now: float) -> bool:
        """Take in what changed; True while there is more to load (call again)."""
        for part in (
            self._config,
            self._roles,
            self._tools,
            self._themes,
            self._mail,
            self._work,
            self._loop,
            self._beat,
            self._wake,
            self._packets,
            *(self._kill, self._pause, self._pauses, self._evolution, self._hosts),
        ):
            part.refresh()
        self._approvals.refresh(now)
        self._expired.refresh()
        self._dismissed.refresh()
        self._ledger.refresh()
        self.facts.refresh()
        self._relay.refresh()
        self._schedules.refresh()
        self.transitions.refresh()
        self._operators.refresh(now)
        self._changes.refresh()
        self._progress.refresh(self.config.memory.progress_signals)
        stall = {role.name: role.limits.stall_seconds for role in self._roles.value[0]}
        clocks = self.clocks() if self.clocks else None
        running = clocks.running if clocks else None
        self.tasks.refresh(now, stall, self._task_news.names(now), running=running)
        self._poll_engine(now)
        self._missing_reason = (
            "" if self.layout.root.is_dir() else f"the state folder {self.layout.root} does not exist"
        )
        self._machine = integrity.program_problems()
        self._machine += (
            _folder_missing(self._missing_reason) if self._missing_reason else _folder_problems(self.layout)
        )
        more = self.signals.refresh() if self.signals.changed() else False
        if self.nodes.changed():
            more |= self.nodes.refresh()
        more = more or self._archive.refresh()  # what the panes show comes first
        return self._proposals.refresh(self.tasks, now) or more

    def _poll_engine(self, now: float) -> None:
        beat = self._beat.value
        held = lease.is_held(self.layout)
        leader = process.ProcessId(beat.pid, beat.start_ticks, beat.boot_id) if beat and held else None
        state = process.state_of(leader) if leader else ""
        clocks = self.clocks() if self.clocks else None
        engine = liveness.derive_engine(lock_held=held, heartbeat=beat, process_state=state, now=now, clocks=clocks)
        if engine != self._engine:
            self._engine = engine
            self._engine_revision += 1

    def mark(self) -> object:
        """Return a mark that changes when a new snapshot would show something else, the hour apart."""
        more = (self._dismissed.revision, self._progress.revision, self._proposals.revision, self._relay.revision)
        lists = (self._changes.revision, self.transitions.revision, self._operators.revision)
        return self._revisions(), self._engine, more, lists, self.signals.share, self.nodes.share

    def load(self, now: float) -> None:
        """Refresh until everything is loaded."""
        while self.refresh(now):
            pass

    def snapshot(self, now: float) -> Snapshot:
        """Load everything and return the state at `now`."""
        self.load(now)
        return self.partial_snapshot(now)

    def questions(self, now: float) -> tuple[Approval, ...]:
        """Return the questions that wait for an answer, as of the last refresh."""
        return self._approvals.questions(now, self.tasks.live())

    def question_of(self, task_id: str, now: float) -> Approval | None:
        """Return the question of a task that waits for an answer."""
        return next((request for request in self.questions(now) if request.task_id == task_id), None)

    def queue(self, now: float) -> attention.Queue:
        """Return what needs a person, and what is snoozed, as of the last refresh."""
        return self._attention(self._spend(now), self._problems(now), now)

    def partial_snapshot(self, now: float) -> Snapshot:
        """Return what was loaded so far."""
        live, problems = self.tasks.live(), self._problems(now)
        spend = self._spend(now)
        needs = self._attention(spend, problems, now)
        return Snapshot(
            root=str(self.layout.root),
            taken=now,
            config=self.config,
            engine=self._engine,
            loop=self._loop.value,
            packets=self._packets.value,
            wake=self._wake.value,
            tasks=TaskList(live, self.tasks.archive),
            signals=self.signals.rows(),
            unread=self.signals.unread,
            discoveries=self.nodes.discoveries(now),
            discovery_counts=self.nodes.open.counts(now),
            decay=self.nodes.decay_view(self.config.memory.decay.rule, now),
            fading=self.nodes.fading(self.config.memory.decay.rule, now),
            roles=tuple(self._roles.value[0]),
            retired=tuple(self._roles.value[1]),
            themes=self._themes.value[0],
            work=self._work.units(),
            work_percent=self._work.percent(),
            lanes=self._work.lanes(),
            spend=spend,
            killed=self._kill.value,
            approvals=self._approvals.calls(now, live),
            questions=self.questions(now),
            attention=needs.shown,
            waiting=tuple(self.transitions.history.open.values()),
            operators=self._operators.view(now),
            snoozed=needs.put_off,
            problems=problems,
            gone=self._missing_reason,
            demo=_demo(self.layout),
            loading=min(self.signals.share, self.nodes.share),
            paused=(paused := pauses.words(self._pause.value, self._pauses.value, now)),
            standing=self._conditions(live, paused, now),
            revisions=self._revisions(),
            hooks=self._progress.hooks.view,
            facts=self.facts.view(),
            upcoming=self._schedules.upcoming(now),
        )

    def _conditions(self, live: list[TaskView], paused: dict[str, str], now: float) -> QueueConditions:
        """Return what holds queued tasks back now."""
        return queue_conditions(
            live,
            self.config,
            self._roles.value[0],
            self._roles.value[1],
            engine=self._engine,
            book=self._ledger.book,
            killed=self._kill.value,
            paused=paused,
            hosts=hosts.book(self.layout, self._hosts.value),
            now=now,
        )

    def _spend(self, now: float) -> SpendView:
        alive = [view.id for view in self.tasks.of_status(ALIVE)]
        return budget.view(self._ledger.book, self.config.budget, now, alive)

    def _attention(self, spend: SpendView, problems: tuple[Problem, ...], now: float) -> attention.Queue:
        p0 = self.nodes.open.counts(now).get("P0", 0)
        items = attention.collect(
            engine=self._engine,
            tasks=sorted(self.tasks.of_status(attention.OF_TASKS), key=attrgetter("id")),
            p0_signals=self.signals.unread_p0(_P0_LIMIT),
            p0_discoveries=self.nodes.discoveries(now)[: min(p0, _P0_LIMIT)],
            spend=spend,
            problems=problems,
            facts=self.facts.view().alarming,
            loop=self._loop.value,
            progress=self._progress.missing(self.config.memory.progress_signals, self._work.raw),
            killed=self._kill.value,
            approvals=self._approvals.waiting(now, self.tasks.live()),
            evolution=self._evolution.value,
            retirements=self._proposals.retirements,
            held=self._relay.held(),
            overdue=self._expired.overdue,
            untriaged=self._untriaged(now),
            changes=map(safe_record, self._changes.open),
            now=now,
        )
        return attention.sift(items, self._dismissed.targets(), spend.day, now)

    def _untriaged(self, now: float) -> Untriaged | None:
        days = self.config.memory.triage_days
        return self.nodes.open.untriaged(now - days * times.DAY, now) if days else None

    def _problems(self, now: float) -> tuple[Problem, ...]:
        problems = [*pauses.stopped(self._pauses.value)]
        problems += self._machine
        problems += [
            *self._config.value[1],
            *self._roles.value[2],
            *unreached(self._roles.value[0], beat.sandbox if (beat := self._engine.heartbeat) else ""),
            *self._tools.value,
            *self._themes.value[1],
            *mail_sources.problems(self._mail.value, now),
            *self._work.problems,
            *hosts.problems(self._hosts.value),
            *self.tasks.problems.values(),
        ]
        problems += [*self._ledger.problems, *self._relay.problems, *self._schedules.problems(self.config, now)]
        problems += [*self._archive.damage.problems(), *self.transitions.damage.problems()]
        problems += self._approvals.problems + self.facts.damage.problems()
        problems += self.signals.damage.problems() + self.nodes.damage.problems() + self._progress.hooks.problems(now)
        return tuple(safe_record(problem) for problem in problems)

    def _revisions(self) -> Revisions:
        return Revisions(
            loop=self._loop.revision + self._packets.revision + self._ledger.revision + self._schedules.revision,
            wake=self._wake.revision,
            tasks=self.tasks.revision,
            signals=self.signals.revision,
            nodes=self.nodes.revision,
            roles=self._roles.revision,
            engine=self._engine_revision + self._kill.revision + self._pause.revision,
            problems=self._evolution.revision
            + self._config.revision
            + self._themes.revision
            + self._mail.revision
            + self._pauses.revision
            + self._hosts.revision
            + self._work.revision
            + self._archive.revision
            + len(self._machine),
            approvals=self._approvals.revision + self._expired.revision,
            facts=self.facts.revision,
        )
