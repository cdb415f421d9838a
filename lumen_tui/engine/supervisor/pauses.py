"""What holds work back: pauses (of all, the loop, a role, a provider, a worker), kill switch, restart limiter."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from lumen_tui.actions.killing import Clock, end_all
from lumen_tui.engine.events import EventLog
from lumen_tui.model import ids, times
from lumen_tui.model.config import ModelsConfig, WorkersConfig
from lumen_tui.model.loop import Pause, Pauses
from lumen_tui.providers.choose import endpoint_mark
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import PROVIDER, Kill, is_killed, read_kill
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import has_worker

LOOP, ROLE = "loop", "role:"
_PARTS = (ROLE, PROVIDER)  # beginnings of what is paused by itself, beside the loop
Answer = tuple[bool, str]


class PauseControl:
    """Puts pauses into force, and ends them on request or when their time is over."""

    def __init__(self, layout: Layout, log: EventLog, index: TaskIndex) -> None:
        self._layout = layout
        self._log = log
        self._index = index
        self._all = Stamped(lambda: [layout.pause, layout.pauses], lambda: pauses.paused(layout))
        self._parts = Stamped(lambda: [layout.pauses], lambda: pauses.parts(layout))

    def paused(self) -> Pause | None:
        """Return the pause of everything; None if there is none."""
        self._all.refresh()
        return self._all.value

    @property
    def parts(self) -> Pauses:
        """What is paused by itself."""
        self._parts.refresh()
        return self._parts.value

    def pause(self, target: str, pause: Pause) -> Answer:
        """Pause everything (no target), the `loop`, a `role:NAME`, a `provider:NAME`, or the worker of a task."""
        if not target:
            return self._pause_all(pause)
        if target == LOOP or target.startswith(_PARTS):
            pauses.change(self._layout, target, pause)
            return True, f"{target.partition(':')[2] or target} is {pause.words}"
        if target not in self._at_work():
            return False, f"no worker is at {target}"
        pauses.hold(self._layout.task(target), pause)
        return True, "its worker rests " + ("at once" if pause.after == "now" else "after the step it is at")

    def _pause_all(self, pause: Pause) -> Answer:
        pauses.pause_all(self._layout, pause)
        if pause.after == "task":
            return True, "paused: running workers continue, nothing new starts"
        running = self._at_work()
        for task_id in running:
            pauses.hold(self._layout.task(task_id), pause)
        when = "at once" if pause.after == "now" else "after their step"
        return True, f"paused: nothing new starts, {len(running)} workers rest {when}"

    def _at_work(self) -> list[str]:
        """Return the tasks that have a worker, by their locks, as the index may be a moment old."""
        may = self._index.unsettled()
        return [name for name in may if has_worker(self._layout.task(name))]

    def resume(self, target: str, *, alone: bool = False) -> Answer:
        """Let what was paused go on; without a target all of it: the loop, each role and each worker too.

        With `alone` what is paused by itself stays so.
        """
        if target == LOOP or target.startswith(_PARTS):
            there = pauses.change(self._layout, target, None)
            return there, "resumed" if there else f"{target.partition(':')[2] or target} is not paused"
        if target:
            return self._resume_one(target)
        if alone:
            self._end_pause_of_all()
            return True, "resumed"
        return True, self._resume_all()

    def _resume_all(self) -> str:
        parts = pauses.parts(self._layout)
        self._end_pause_of_all()
        named = [LOOP] if parts.loop else []
        named += [ROLE + name for name in parts.roles] + [PROVIDER + name for name in parts.providers]
        for name in named:
            pauses.change(self._layout, name, None)
        held = [name for name in self._at_work() if pauses.held(self._layout.task(name))]
        for task_id in held:
            pauses.let_go(self._layout.task(task_id))
        more = [name.partition(":")[2] or name for name in named] + held
        return "resumed" + (f", with {', '.join(more)}" if more else "")

    def _end_pause_of_all(self) -> None:
        pause = self.paused()
        pauses.pause_all(self._layout, None)
        if pause is not None:
            self._let_go(pause)

    def _resume_one(self, task_id: str) -> Answer:
        if task_id not in self._at_work() or not pauses.held(self._layout.task(task_id)):
            return False, f"the worker of {ids.short(task_id)} does not rest"
        pauses.let_go(self._layout.task(task_id))
        return True, "its worker goes on"

    def _let_go(self, pause: Pause) -> None:
        for task_id in self._at_work():
            folder = self._layout.task(task_id)
            if (hold := pauses.held(folder)) and (hold.at, hold.by) == (pause.at, pause.by):
                pauses.let_go(folder)

    def end_expired(self, now: float) -> None:
        """End every pause whose time has come."""
        pause, parts = self.paused(), self.parts
        if pause is not None and pause.over(now):
            self._end_pause_of_all()  # what is paused by itself has a time of its own
            self._report("everything", pause, now)
        named = [(LOOP, parts.loop)] + [(ROLE + name, part) for name, part in parts.roles.items()]
        for name, part in named:
            if part is not None and part.over(now):
                self.resume(name)
                self._report(name, part, now)
        for name, part in parts.providers.items():
            if part.past(now):
                self.resume(PROVIDER + name)
                self._report(pauses.provider_words(name), part, now)
        for task_id in self._index.running():
            folder = self._layout.task(task_id)
            if (hold := pauses.held(folder)) and hold.over(now):
                pauses.let_go(folder)
                self._report(task_id, hold, now)

    def reopen(self, config: ModelsConfig, environ: Mapping[str, str], now: float, *, asked: bool = False) -> None:
        """Try providers again that were closed for another key or other settings than those of now.

        With `asked`, as a person wants an answer: all of them.
        """
        for name, part in self.parts.providers.items():
            changed = bool(part.mark) and part.mark != endpoint_mark(config, name, environ)
            if part.by == pauses.ENGINE and (asked or changed):
                self.resume(PROVIDER + name)
                reason = "a person asked for it" if asked else "its key or its settings have changed"
                self._log.add("resumed", f"{pauses.provider_words(name)} is tried again: {reason}", now)

    def _report(self, name: str, pause: Pause, now: float) -> None:
        self._log.add("resumed", f"{name} goes on: it was {pause.words}", now)


class KillSwitch:
    """Watches kill.json: ends the workers while it is there, records when it comes and goes."""

    def __init__(self, store: Store, log: EventLog, running: Clock) -> None:
        self._layout = store.layout
        self._log = log
        self._running = running
        self.kill: Kill | None = None

    def changed(self) -> bool:
        """Return whether the switch was thrown or lifted since the last poll: one `stat`."""
        return is_killed(self._layout) != (self.kill is not None)

    def poll(self, now: float) -> Kill | None:
        """Return the kill in force, with no worker left alive; None if there is none."""
        before = self.kill
        self.kill = read_kill(self._layout)
        if self.kill is not None:
            ended = end_all(self._layout, self.kill, now, self._running)
            if before is None or ended:
                self._log.add("killed", f"{self.kill.words} ({len(ended)} workers ended)", now, ended=ended)
        elif before is not None:
            self._log.add("unkilled", f"goes on; it was {before.words}", now)
        return self.kill


class RestartLimiter:
    """A circuit breaker: pauses a role too many of whose workers ended without an exit record."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout = layout
        self._log = log
        self._times: dict[str, deque[float]] = {}

    def note(self, role: str, config: WorkersConfig, *, running: float, now: float) -> None:
        """Count one more death; pause the role if it is one too many."""
        seen = self._times.setdefault(role, deque())
        seen.append(running)
        while running - seen[0] > config.deaths_minutes * 60:
            seen.popleft()
        if 0 < config.deaths <= len(seen):
            self._pause(role, len(seen), config, now)
            seen.clear()

    def _pause(self, role: str, count: int, config: WorkersConfig, now: float) -> None:
        reason = f"{count} of its workers died within {times.span(config.deaths_minutes * 60)}"
        pauses.change(self._layout, f"role:{role}", Pause(at=times.iso(now), by=pauses.ENGINE, reason=reason))
        self._log.add("role_stopped", f"{role}: {reason}; nothing of it starts until `resume role {role}`", now)
