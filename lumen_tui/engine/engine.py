"""The engine: one object, one lease, one `beat(now)`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui import STATE_SCHEMA
from lumen_tui.engine.events import NO_ENGINE, UPGRADING, BeatLog, EventLog, HeartbeatFile, Listener, LoopTurn
from lumen_tui.engine.settings import Settings
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.quick_imports import import_asyncio
from lumen_tui.storage import files, integrity, schema
from lumen_tui.storage.clock import Clock, SystemClock
from lumen_tui.storage.layout import Layout, distrust
from lumen_tui.storage.lease import Lease, read_lease, take_lease
from lumen_tui.storage.noted_heads import STARTED
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.engine.beats import BeatReport
    from lumen_tui.engine.command_inbox import PendingRequests
    from lumen_tui.engine.monitors import Budgets
    from lumen_tui.engine.supervisor.supervisor import SupervisionResult, TaskSupervisor

_LEAST = 0.05  # seconds between two beats


class EngineBusy(Exception):
    """Another engine holds the lease."""


class StateGone(Exception):
    """The state folder is not the one the engine started on; nothing is written any more."""


class Engine:
    """Drives one state folder. `open` takes the lease and recovers; `beat` and `poll` do the work."""

    def __init__(
        self, store: Store, log: EventLog, lease: Lease, settings: Settings, heartbeat: HeartbeatFile,
        supervisor: TaskSupervisor, budgets: Budgets, clock: Clock, now: float, *, loops: bool, chat: bool,
    ) -> None:  # fmt: skip
        """Use what `open` has made. What loops and learns is imported here: its 70 ms hold up no worker."""
        import_asyncio()
        from lumen_tui.engine import parts

        layout = store.layout
        self.store = store
        self.log = log
        self.clock = clock
        self.heartbeat = heartbeat
        self.supervisor = supervisor
        self.budgets = budgets
        self.settings = settings
        self.trouble, self.announced = "", ("", "")  # why the last beat or poll was cut off; see `idle_phase`
        self.next_due = now
        self.beat_log = BeatLog(log)
        self.sandbox = parts.SandboxMonitor(layout)
        self.pauses = parts.PauseControl(layout, log, supervisor.index)
        self.commands = parts.CommandInbox(store, log, supervisor, self.pauses)
        self.switch = parts.KillSwitch(store, log, clock.running)
        self.approvals = parts.ApprovalMonitor(layout, log, supervisor.index.find)
        self.role_expiry = parts.RoleExpiry(store, log)
        self.freshness = parts.Freshness(store, log)
        self.loop = parts.MainLoop(store, log, supervisor, today=budgets.today)
        self.arrivals = parts.Arrivals(layout, self.loop)
        self.chat = parts.ChatTurns(store, log, supervisor) if chat else None
        self.learning = parts.Learning(layout, log)
        self.queue = parts.QueueJournal(layout, clock)
        self.mouths = parts.Mouths(layout, clock, log)
        self.mail = parts.MailPlaces(store, clock, log)
        self.schedules = parts.Scheduler(store, log, supervisor.dispatcher.watch_fd)
        self._lease: Lease | None = lease
        self._loops = loops
        self._folder = os.stat(layout.root).st_ino
        self._hook_news = parts.HookNews(store, log, now)
        self._sweeper = parts.Sweeper(layout)
        self._journals = parts.JournalMonitor(layout, log, heartbeat.noted)

    @classmethod
    def open(
        cls,
        root: Path,
        clock: Clock | None = None,
        listeners: tuple[Listener, ...] = (),
        *,
        loops: bool = True,
        chat: bool | None = None,
    ) -> Engine:
        """Take the lease of the folder, adopt its workers, and recover what is there.

        Without `loops` the main agent gets no turns, and tasks alone are driven; `chat` says whether the operator can
        talk with it, which goes with loops where it is not given. EngineBusy where another engine drives
        the folder; StoreError where it cannot be used.
        """
        clock, store = clock or SystemClock(), Store(root)
        layout = store.layout
        if fault := distrust(layout.root):
            raise files.Refused(fault)
        layout.create()
        lease = _lease_of(layout)
        now, log = clock.now(), EventLog(store, listeners)
        _bring_up(store, lease, log, now)
        settings, heartbeat = Settings(layout), HeartbeatFile(layout, lease.info, clock, now)
        heartbeat.write("starting", now, settings.config)
        head = heartbeat.head
        log.add(STARTED, f"pid {os.getpid()}, epoch {lease.info.epoch}", now, seals=head.seals, head=head.head)
        # Behind the lease: nobody else drives meanwhile, and whoever waits for an engine sees that there is one.
        from lumen_tui.engine.monitors import Budgets
        from lumen_tui.engine.supervisor.supervisor import TaskSupervisor

        budgets = Budgets(store, log)
        supervisor = TaskSupervisor(store, log, epoch=lease.info.epoch, refusal=budgets.refusal, clock=clock)
        adopted = supervisor.recover(now)
        engine = cls(
            store, log, lease, settings, heartbeat, supervisor, budgets, clock, now,
            loops=loops, chat=loops if chat is None else chat,
        )  # fmt: skip
        engine._recover(adopted, now)
        return engine

    def _recover(self, adopted: int, now: float) -> None:
        self._sweeper.sweep(now)
        self.settings.refresh(self.log, now)
        completed = self.loop.recover(self.config)
        if adopted or completed:
            parts = [f"{adopted} worker{'' if adopted == 1 else 's'} adopted", "an unfinished loop completed"]
            self.log.add("recovered", ", ".join(parts[: 1 + completed]), now)
        before = self.heartbeat.before
        if before and before.next_at and before.phase != "stopped":
            late = now - times.epoch(before.next_at, now)
            self.beat_log.missed(late, before.every_seconds, NO_ENGINE, now)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.settings.config

    @property
    def beats(self) -> int:
        """The number of the last beat, counted over all engines of this folder."""
        return self.heartbeat.beats

    def close(self, reason: str) -> None:
        """Record the stop and release the lease. Workers go on."""
        if self._lease is None:
            return
        now = self.clock.now()
        try:
            self.freshness.finish(now, cut=reason not in ("done", "idle"))
            self.log.add("engine_stopped", reason, now)
            self.heartbeat.head = self._journals.close(now)
            self._write_heartbeat("stopped", now, note=reason)
        except (files.StoreError, OSError):
            pass  # a full disk must not keep the engine from ending
        self.schedules.close()
        self.mouths.close()
        self.mail.close()
        self.queue.close()
        if self.chat is not None:
            self.chat.close()
        self.supervisor.close()
        self._lease.release()
        self._lease = None

    def check_folder(self) -> None:
        """Raise StateGone where the state folder was taken away or put in place of another."""
        try:
            inode = os.stat(self.store.root).st_ino
        except OSError:
            inode = 0
        if inode != self._folder:
            raise StateGone(f"{self.store.root} is gone or was replaced; start the engine again where it belongs")

    def poll(self, now: float) -> tuple[PendingRequests, SupervisionResult]:
        """Carry out commands and see to tasks: the part of a beat that cannot wait for the next one."""
        from lumen_tui.providers.choose import provider_name

        self.check_folder()
        self.settings.refresh(self.log, now)
        provider = provider_name(self.config.models, os.environ)
        self.supervisor.configure(self.config, provider)
        killed = self.switch.poll(now)
        self._hook_news.poll(now)
        self.freshness.poll(now)
        self.budgets.poll(self.config.budget, now, costs=provider != "offline")
        requests = self.commands.carry_out(now)
        self.pauses.reopen(self.config.models, os.environ, now)
        parts = self.pauses.parts
        self.supervisor.dispatcher.paused = parts
        may_start = self.pauses.paused() is None and killed is None and not self.commands.stops_after_tasks
        self.approvals.poll(now)
        self.schedules.poll(self.config, now, may_start=may_start and self._loops)
        supervised = self.supervisor.poll(now, may_start=may_start)
        self.learning.note_ended(supervised.collected, now)
        if self._is_busy():
            self.learning.wake()
        if self.commands.stops_after_tasks and not self.supervisor.index.running():
            requests.stop = self.commands.stops_after_tasks
        self.loop.poll(self.config, now, may_start=may_start and parts.loop is None)
        if self.chat is not None:
            self.chat.poll(self.config, now, refusal=self._why_no_turn(), loop=self.loop.at_work)
        self.queue.poll(self.config.notify, now)
        self.mouths.hear(self.queue.waiting, self.config, now)
        self.mail.poll(self.config, now, sends=killed is None)
        return requests, supervised

    def beat(self, now: float, reason: str = "timer") -> BeatReport:
        """Make one pass: commands, tasks, rules, and a loop of the main agent if there is news for it.

        It begins what goes on beside it, and so is called in a running event loop.
        """
        from lumen_tui.engine.beats import BeatReport

        self.heartbeat.beats += 1
        self._write_heartbeat("beating", now)
        self.notice_jump(now)
        requests, supervised = self.poll(now)
        self._journals.quarantine(now)
        self._sweeper.sweep(now)
        self.approvals.check_all(now)
        self._save_checkpoints(now)
        if not self.heartbeat.jumped:
            self.role_expiry.beat(now)
        self.learning.beat(self.config.evolution, now, busy=self._is_busy())
        self.log.rotate()
        self.queue.shorten(now)
        self.mail.beat(self.config, now)
        self.schedules.rest()
        if self.switch.kill is None and self.pauses.paused() is None:
            self.freshness.begin(self.config.freshness, now)
        turn = self._loop_turn(now, asked=reason == "asked")
        if self._loops:
            self.beat_log.ran(turn.loop, turn.skipped, now)
        self.heartbeat.head = self._journals.seal(now)
        return BeatReport(self.beats, reason, supervised, requests, turn.loop, turn.skipped)

    def _is_busy(self) -> bool:
        """Return whether a task waits or runs, a loop of the main agent among them."""
        index = self.supervisor.index
        return bool(index.queued() or index.running() or self.loop.at_work)

    def _why_no_turn(self) -> str:
        """Return what keeps the main agent from answering in the chat; empty if nothing does."""
        from lumen_tui.model import agent

        roles = self.pauses.parts.roles
        for hold in (self.switch.kill, self.pauses.paused(), roles.get(agent.ROLE)):
            if hold is not None:
                return f"the agent is {hold.words}"
        return self.commands.stops_after_tasks

    def _loop_turn(self, now: float, *, asked: bool) -> LoopTurn:
        if reason := self._why_no_loop():
            return LoopTurn(skipped=reason)
        if asked:
            self.pauses.reopen(self.config.models, os.environ, now, asked=True)
            self.supervisor.dispatcher.paused = self.pauses.parts
        return self.loop.turn(self.config, now, asked=asked, begins=lambda: self._write_heartbeat("loop", now))

    def _why_no_loop(self) -> str:
        """Return what keeps the main agent from a turn, whatever came in; empty if nothing does."""
        for hold in (self.switch.kill, self.pauses.paused()):
            if hold is not None:
                return hold.words
        if (loop := self.pauses.parts.loop) is not None:
            return f"the loop is {loop.words}"
        if not self._loops:
            return "this engine drives tasks alone"
        out_of_reach = integrity.unreachable_records(
            self.store.layout
        )  # a loop would take what it cannot see for nothing
        return out_of_reach and f"degraded: {out_of_reach}"

    def notice_jump(self, now: float) -> bool:
        """Return whether the wall clock was moved since the last call, and record that as an event."""
        if jump := self.heartbeat.jump(now):
            self.log.add("clock_jump", f"the clock moved by {jump:+.0f} s", now, seconds=round(jump))
        return bool(jump)

    def _save_checkpoints(self, now: float) -> None:
        """Save a checkpoint of every open session that has had none for its interval."""
        from lumen_tui.actions import checkpoints
        from lumen_tui.actions.outcome import ActionError

        try:
            saved = checkpoints.save_due(self.store, self.config.memory, now=now)
        except ActionError as error:
            self.log.add("checkpoint_failed", str(error), now)
            return
        for checkpoint in saved:
            self.log.add("checkpoint", checkpoint.summary, now)

    def next_beat(self, now: float, *, soon: bool) -> float:
        """Return when the next beat is due: after the interval with jitter, or the settle time if there is news.

        Where what ended waits for what may end with it, it is due when that wait is over at the latest.
        """
        import random  # behind the lease

        settings = self.config.heartbeat
        spread = settings.jitter * (2 * random.random() - 1)  # noqa: S311 - spreads load, guards nothing
        due = now + (settings.settle_seconds if soon else settings.every_minutes * 60 * (1 + spread))
        gathered = self.loop.gathers_until
        return min(due, max(gathered, now + _LEAST)) if gathered else due

    def sleep(self, now: float, until: float) -> None:
        """Record that the engine waits, and for how long."""
        from lumen_tui.engine.sandbox_tier import sentence_on

        self.next_due = until
        if choice := self.sandbox.refresh(self.config.sandbox, self.clock.running()):
            self.log.add("sandbox", sentence_on(choice), now, tier=choice.tier)
        self.announced = phase, note = self.idle_phase()
        self._write_heartbeat(phase, now, next_at=until, note=note)

    def idle_phase(self) -> tuple[str, str]:
        """Return phase and note of an engine that waits; `announced` holds what was written last."""
        kill, pause = self.switch.kill, self.pauses.paused()
        reasons = (("degraded", self.trouble), ("killed", kill and kill.words), ("paused", pause and pause.words))
        calm = ("asleep", self.commands.stops_after_tasks or self.budgets.view.full)
        return next(((phase, note) for phase, note in reasons if note), calm)

    def _write_heartbeat(self, phase: str, now: float, *, next_at: float = 0.0, note: str = "") -> None:
        self.heartbeat.write(phase, now, self.config, sandbox=self.sandbox.tier, next_at=next_at, note=note)


def _lease_of(layout: Layout) -> Lease:
    """Become the engine of the folder. Raise EngineBusy where there is another one, StoreError."""
    lease = take_lease(layout)
    if lease is None:
        raise EngineBusy(f"another engine (pid {read_lease(layout).pid}) drives {layout.root}")
    return lease


def _bring_up(store: Store, lease: Lease, log: EventLog, now: float) -> None:
    """Upgrade a folder of an earlier version and say so. Raise StoreError, with the lease given back."""
    try:
        if schema.read_schema(store.layout.schema).schema < STATE_SCHEMA:
            from lumen_tui.engine.upgrading import upgrade  # once in the life of a folder

            log.add(UPGRADING, f"{store.root} is of an earlier version: it is saved in backups/ first", now)
            if made := upgrade(store, now):
                log.add("upgraded", made.summary, now)
    except BaseException:
        lease.release()
        raise
