"""The engine: one object, one lease, one `beat(now)`."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from lumen_tui.actions import checkpoints
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine import events
from lumen_tui.engine.command_inbox import CommandInbox, PendingRequests
from lumen_tui.engine.events import BeatLog, EventLog, Listener
from lumen_tui.engine.monitors import ApprovalMonitor, Budgets, HookNews, RoleExpiry
from lumen_tui.engine.settings import SandboxMonitor, Settings
from lumen_tui.engine.supervisor.pauses import KillSwitch
from lumen_tui.engine.supervisor.supervisor import SupervisionResult, TaskSupervisor
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.loop import Heartbeat
from lumen_tui.providers.choose import provider_name
from lumen_tui.storage import files, integrity, process
from lumen_tui.storage.clock import Clock, SystemClock
from lumen_tui.storage.damage import DamageScan
from lumen_tui.storage.layout import distrust
from lumen_tui.storage.lease import Lease, read_lease, take_lease
from lumen_tui.storage.repair import Sweeper
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import read_json

_JUMP = 60.0  # seconds by which wall time may leave running time between two beats before it is an event


class EngineBusy(Exception):
    """Another engine holds the lease."""


class StateGone(Exception):
    """The state folder is not the one the engine started on; nothing is written any more."""


@dataclass
class BeatReport:
    """What one beat did."""

    beat: int
    reason: str
    supervised: SupervisionResult = field(default_factory=SupervisionResult)
    requests: PendingRequests = field(default_factory=PendingRequests)
    loop: int = 0  # the number of the loop that ran, 0 where none did
    skipped: str = ""  # why there was no loop

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        supervised = self.supervised
        return not (
            supervised.started or supervised.collected or supervised.lost or self.loop or self.requests.carried_out
        )


class Engine:
    """Drives one state folder. `open` takes the lease and recovers; `beat` and `poll` do the work."""

    def __init__(
        self, root: Path, clock: Clock | None = None, listeners: tuple[Listener, ...] = (), *, loops: bool = True
    ) -> None:
        """Drive `root`; without `loops` the main agent gets no turns, and tasks alone are driven."""
        self.store = Store(root)
        self._loops = loops
        self._listeners = listeners
        self.trouble, self.announced = "", ("", "")  # why the last beat or poll was cut off; see `idle_phase`
        self.clock = clock or SystemClock()
        self._lease: Lease | None = None
        self.settings = Settings(self.store.layout)

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.settings.config

    def open(self) -> None:
        """Take the lease of the folder and recover what is there.

        EngineBusy where another one is; StoreError where the folder cannot be used.
        """
        layout = self.store.layout
        if fault := distrust(layout.root):
            raise files.Refused(fault)
        layout.create()
        self._lease = take_lease(layout)
        if self._lease is None:
            raise EngineBusy(f"another engine (pid {read_lease(layout).pid}) drives {layout.root}")
        self._recover(self.clock.now())

    def _recover(self, now: float) -> None:
        assert self._lease is not None  # noqa: S101 - open took it
        layout = self.store.layout
        self._folder = os.stat(layout.root).st_ino
        before = read_json(layout.heartbeat, Heartbeat)
        self.beats = before.beat if before else 0
        self.next_due = now
        self._jumped_in = -2  # the beat in or after which the wall clock was moved
        self._started_at = times.iso(now)
        self._last = (now, self.clock.running())
        self.log = EventLog(self.store, self._listeners)
        self.beat_log = BeatLog(self.log)
        self.sandbox = SandboxMonitor(
            layout, lambda tier, text: self.log.add("sandbox", text, self.clock.now(), tier=tier)
        )
        self.supervisor = TaskSupervisor(self.store, self.log, epoch=self._lease.info.epoch, clock=self.clock)
        self.approvals = ApprovalMonitor(layout, self.log, self.supervisor.index.find)
        self.commands = CommandInbox(self.store, self.log, self.supervisor)
        self.budgets = Budgets(self.store, self.log)
        self.switch = KillSwitch(self.store, self.log, self.clock.running)
        self.supervisor.dispatcher.held_back = self.budgets.refusal
        self._damage = DamageScan(layout)
        self.role_expiry = RoleExpiry(self.store, self.log)
        self._hook_news = HookNews(self.store, self.log, now)
        self._sweeper = Sweeper(layout)
        self._sweeper.sweep(now)
        self._write_heartbeat("starting", now)
        self.log.add("engine_started", f"pid {os.getpid()}, epoch {self._lease.info.epoch}", now)
        adopted = self.supervisor.recover(now)
        self._load_loops()
        self.settings.refresh(self.log, now)
        completed = self.loop.recover(self.config)
        if adopted or completed:
            parts = [f"{adopted} worker{'' if adopted == 1 else 's'} adopted", "an unfinished loop completed"]
            self.log.add("recovered", ", ".join(parts[: 1 + completed]), now)
        if before and before.next_at and before.phase != "stopped":
            late = now - times.epoch(before.next_at, now)
            self.beat_log.missed(late, before.every_seconds, events.NO_ENGINE, now)

    def _load_loops(self) -> None:
        """Load what loops, learns and probes: 70 ms of imports that the workers do not wait for."""
        from lumen_tui.engine.evolution.learning import Learning
        from lumen_tui.engine.freshness import Freshness
        from lumen_tui.engine.loops.loops import Arrivals, MainLoop

        self.freshness = Freshness(self.store, self.log)
        self.loop = MainLoop(self.store, self.log, self.supervisor, today=self.budgets.today)
        self.arrivals = Arrivals(self.store.layout, self.loop)
        self.learning = Learning(self.store.layout, self.log)

    def close(self, reason: str) -> None:
        """Record the stop and release the lease. Workers go on."""
        if self._lease is None:
            return
        now = self.clock.now()
        try:
            self.freshness.finish(now, cut=reason not in ("done", "idle"))
            self.log.add("engine_stopped", reason, now)
            self._write_heartbeat("stopped", now, note=reason)
        except (files.StoreError, OSError):
            pass  # a full disk must not keep the engine from ending
        self.supervisor.dispatcher.close()
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

    def poll(self) -> tuple[PendingRequests, SupervisionResult]:
        """Carry out commands and see to tasks: the part of a beat that cannot wait for the next one."""
        self.check_folder()
        now = self.clock.now()
        self.settings.refresh(self.log, now)
        self.supervisor.config = self.config
        self.supervisor.dispatcher.provider = provider_name(self.config.models, os.environ)
        self.supervisor.dispatcher.models = self.config.models
        killed = self.switch.poll(now)
        self._hook_news.poll(now)
        self.freshness.poll(now)
        self.budgets.poll(self.config.budget, now, costs=self.supervisor.dispatcher.provider != "offline")
        requests = self.commands.carry_out(now)
        self.supervisor.dispatcher.paused_roles = self.commands.pauses.parts.roles
        may_start = self.commands.paused() is None and killed is None and not self.commands.stops_after_tasks
        self.approvals.poll(now)
        supervised = self.supervisor.poll(now, may_start=may_start)
        self.learning.note_ended(supervised.collected)
        if self.commands.stops_after_tasks and not self.supervisor.index.running():
            requests.stop = self.commands.stops_after_tasks
        self.loop.poll(self.config, now, may_start=may_start and self.commands.pauses.parts.loop is None)
        return requests, supervised

    async def beat(self, now: float, reason: str = "timer") -> BeatReport:
        """Make one pass: commands, tasks, rules, and a loop of the main agent if there is news for it."""
        self.beats += 1
        report = BeatReport(beat=self.beats, reason=reason)
        self._write_heartbeat("beating", now)
        self.notice_jump(now)
        report.requests, report.supervised = self.poll()
        self._quarantine_damage(now)
        self._sweeper.sweep(now)
        self.approvals.check_all(now)
        self._save_checkpoints(now)
        if self.beats > self._jumped_in + 1:
            self.role_expiry.beat(now)
        self.learning.beat(self.config.evolution, now)
        self.log.rotate()
        if self.switch.kill is None and self.commands.paused() is None:
            self.freshness.begin(self.config.freshness, now)
        pause = self.commands.paused()
        if self.switch.kill is not None:
            report.skipped = self.switch.kill.words
        elif pause is not None:
            report.skipped = pause.words
        elif (loop := self.commands.pauses.parts.loop) is not None:
            report.skipped = f"the loop is {loop.words}"
        elif not self._loops:
            report.skipped = "this engine drives tasks alone"
        elif out_of_reach := integrity.unreachable_records(self.store.layout):
            report.skipped = f"degraded: {out_of_reach}"  # a loop would take what it cannot see for nothing
        else:
            self._run_loop(report, now)
        if self._loops:
            self.beat_log.ran(report.loop, report.skipped, now)
        return report

    def _run_loop(self, report: BeatReport, now: float) -> None:
        def begins() -> float:
            self._write_heartbeat("loop", now)
            return self.clock.now()

        turn = self.loop.turn(self.config, now, asked=report.reason == "asked", begins=begins)
        report.loop = turn.loop
        report.skipped = turn.skipped

    def notice_jump(self, now: float) -> bool:
        """Return whether the wall clock was moved since the last call, and record that as an event."""
        wall, running = self._last
        self._last = (now, self.clock.running())
        jump = (now - wall) - (self._last[1] - running)
        if abs(jump) > _JUMP:
            self.log.add("clock_jump", f"the clock moved by {jump:+.0f} s", now, seconds=round(jump))
            self._jumped_in = self.beats
        return abs(jump) > _JUMP

    def _quarantine_damage(self, now: float) -> None:
        """Copy damaged lines of the shared journals to quarantine, once each."""
        if new := self._damage.scan(times.iso(now)):
            self.log.add("quarantined", f"{new} damaged line{'s' if new > 1 else ''} copied to quarantine", now)

    def _save_checkpoints(self, now: float) -> None:
        """Save a checkpoint of every open session that has had none for its interval."""
        try:
            saved = checkpoints.save_due(self.store, self.config.memory, now=now)
        except ActionError as error:
            self.log.add("checkpoint_failed", str(error), now)
            return
        for checkpoint in saved:
            self.log.add("checkpoint", checkpoint.summary, now)

    def next_beat(self, now: float, *, soon: bool) -> float:
        """Return when the next beat is due: after the interval with jitter, or the settle time if there is news."""
        settings = self.config.heartbeat
        spread = settings.jitter * (2 * random.random() - 1)  # noqa: S311 - spreads load, guards nothing
        return now + (settings.settle_seconds if soon else settings.every_minutes * 60 * (1 + spread))

    def sleep(self, now: float, until: float) -> None:
        """Record that the engine waits, and for how long."""
        self.next_due = until
        self.sandbox.refresh(self.config.sandbox, self.clock.running())
        self.announced = phase, note = self.idle_phase()
        self._write_heartbeat(phase, now, next_at=until, note=note)

    def idle_phase(self) -> tuple[str, str]:
        """Return phase and note of an engine that waits; `announced` holds what was written last."""
        kill, pause = self.switch.kill, self.commands.paused()
        reasons = (("degraded", self.trouble), ("killed", kill and kill.words), ("paused", pause and pause.words))
        calm = ("asleep", self.commands.stops_after_tasks or self.budgets.view.full)
        return next(((phase, note) for phase, note in reasons if note), calm)

    def _write_heartbeat(self, phase: str, now: float, *, next_at: float = 0.0, note: str = "") -> None:
        assert self._lease is not None  # noqa: S101 - only called while it is held
        lease = self._lease.info
        record = Heartbeat(
            beat=self.beats,
            phase=phase,
            at=times.iso(now),
            pid=lease.pid,
            start_ticks=lease.start_ticks,
            boot_id=lease.boot_id,
            host=process.host(),
            epoch=lease.epoch,
            next_at=times.iso(next_at) if next_at else "",
            next_in=max(0.0, next_at - now),
            running=self.clock.running(),
            awake=self.clock.awake(),
            jumped=self.beats <= self._jumped_in + 1,
            started_at=self._started_at,
            every_seconds=self.config.heartbeat.every_minutes * 60,
            note=note,
            brain=provider_name(self.config.models, os.environ),
            sandbox=self.sandbox.tier,
        )
        files.replace(self.store.layout.heartbeat, msgspec.json.encode(record))
