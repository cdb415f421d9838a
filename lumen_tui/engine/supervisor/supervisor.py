"""The life of tasks: collect what ended, retry what was lost, end what ran too long, start what is next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.supervisor import parked, workers
from lumen_tui.engine.supervisor.dispatcher import Dispatcher, role_or_reason
from lumen_tui.engine.supervisor.pauses import RestartLimiter
from lumen_tui.engine.supervisor.settling import Settler
from lumen_tui.model import agent, times
from lumen_tui.model.config import Config
from lumen_tui.model.loop import TASK_ENDED, task_end
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import ALIVE, BEGUN, Run, Status, TaskView
from lumen_tui.storage import directories, files, process
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.repair import sweep
from lumen_tui.storage.store import Store
from lumen_tui.store.audit.dismissals import Dismissals
from lumen_tui.store.tasks import claims, family, homes, pauses, task_files, task_records
from lumen_tui.store.tasks.liveness import died_waiting, waited
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import has_worker, read_json, repeatable
from lumen_tui.worker import steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

Attempt = tuple[str, int]  # a task and the number of the attempt (below 0: its check): it may end more than once
_AT_ONCE = 300  # tasks that wait or have ended, read in one look after a start: about 20 ms
_GRACE = 15.0  # seconds past its time limit before the engine ends a worker that should have ended itself


class Collected(msgspec.Struct, frozen=True):
    """tasks/<id>/collected.json: the engine has taken the result in, once."""

    at: str
    status: str


@dataclass
class SupervisionResult:
    """What one pass over the tasks changed."""

    started: list[str] = field(default_factory=list)
    collected: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class TaskSupervisor:
    """Owns the workers of one engine."""

    def __init__(self, store: Store, log: EventLog, *, epoch: int, refusal: Callable[[str], str], clock: Clock) -> None:
        """Start no task of a role for which `refusal` gives a reason."""
        self._store = store
        self._log = log
        self._clock = clock
        self._restart_limiter = RestartLimiter(store.layout, log)
        self._remembers = -1  # the revision of the index whose tasks alone are remembered
        self._met: dict[Attempt, float] = {}  # task and attempt -> awake time when this engine first saw it
        self.index = TaskIndex(store.layout, at_once=_AT_ONCE)
        self.dispatcher = Dispatcher(store, log, self.index, epoch=epoch, refusal=refusal, clock=clock)
        self._settler = Settler(store.layout, log)
        self.dispatcher.watch_fd(self._settler.fileno())
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._dismissed = Dismissals(store.layout)
        self._reported: set[Attempt] | None = (
            None  # whose end is in events.jsonl: after a kill right behind it, it is reported once
        )
        self._collected: set[Attempt] = set()
        self._settled: set[str] = set()  # ended and collected: nothing is left to do until a person has dealt with it
        self._dealt: frozenset[str] = frozenset()
        self.config = Config()

    def recover(self, now: float) -> int:
        """Take in everything that is there after a start; returns how many living workers were adopted."""
        self._settler.sweep()
        self.index.refresh(now, {}, running=self._clock.running())
        adopted = self.index.of_status(ALIVE)
        for view in adopted:
            self._log.add("adopted", f"{view.spec.role}: {view.spec.objective}", now, task_id=view.id, pid=view.pid)
        return len(adopted)

    def configure(self, config: Config, provider: str) -> None:
        """Go by this configuration from now on; `provider` is what tasks that name none run on."""
        self.config = config
        self.dispatcher.configure(config.models, provider)

    def notice(self, now: float) -> None:
        """Take in tasks that were made a moment ago."""
        self.index.refresh(now, {}, only=set(), running=self._clock.running())

    def poll(self, now: float, *, may_start: bool) -> SupervisionResult:
        """Make one pass over the tasks. Reads nothing of a task on which nothing changed."""
        supervised = SupervisionResult()
        self.dispatcher.reap()
        self.index.refresh(now, {}, only=set(), running=self._clock.running())
        self._dismissed.refresh()
        self._dealt = self._dismissed.targets()
        for view in self.index.of_status(BEGUN):
            if view.id in self._settled and view.id not in self._dealt:
                continue
            if view.status is Status.LOST and not view.finished:
                self._lost(view, supervised, now)
            elif view.finished:
                self._collect(view, supervised, now)
            elif view.status.parked:
                if parked.go_on(self._store.layout, self._log, view, now):
                    self.index.expect(view.id)
            else:
                self._supervise(view, now)
        self._forget_others()
        self.dispatcher.watch(self.index.running())
        if may_start and not self.index.loading:
            supervised.started = self.dispatcher.start_next(self.config, now)
        return supervised

    def _forget_others(self) -> None:
        """Keep nothing of tasks that were archived or taken away: an engine runs for months."""
        if self._remembers == self.index.revision:
            return
        self._remembers = self.index.revision
        begun = {view.id for view in self.index.of_status(BEGUN)}
        self._met = {attempt: since for attempt, since in self._met.items() if attempt[0] in begun}
        self._collected = {attempt for attempt in self._collected if attempt[0] in begun}
        self._settled &= begun
        self.dispatcher.forget_others(begun)

    def _lost(self, view: TaskView, supervised: SupervisionResult, now: float) -> None:
        """Handle a worker that left no exit record: try again if that is safe, give up if not."""
        if view.id in self._ending:
            return  # we ended it ourselves; that job writes the exit
        folder = self._store.layout.task(view.id)
        if (reason := task_records.why_put_back(folder, view.attempt)) is not None:
            self.index.expect(view.id)
            workers.keep_attempt(folder, view.attempt)
            self._log.add("put_back", f"back in the queue: {reason}", now, task_id=view.id)
            return
        supervised.lost.append(view.id)
        self.index.expect(view.id)
        if stop := task_records.read_stop(folder):
            task_records.write_exit(folder, view.id, stop.status, stop.reason, attempt=view.attempt, now=now)
            return
        home = homes.read(folder, view.attempt) if view.host else None
        if view.host and not (home and home.over):
            supervised.lost.remove(view.id)
            # Its proxy has gone, which says nothing of the worker there.
            self.dispatcher.launch(view, view.host, now, kind="found_again")
            return
        how = home.over if home else self.dispatcher.ended_how(view.id)
        how = f": {how}" if how else ""
        self._restart_limiter.note(view.spec.role, self.config.workers, running=self._clock.running(), now=now)
        lost = view.attempt - died_waiting(folder) - len(claims.refuted(folder))
        again = lost <= self.config.workers.retries and not agent.turn_of(view.id)
        known = home is None or home.whole  # else a host has gone, and what it had begun last is known to nobody
        goes_on = known and steps.goes_on(folder, view.spec)
        repeatable = goes_on or self._repeatable(view.spec.role, folder, view.attempt, known=known)
        if again and repeatable:
            workers.keep_attempt(folder, view.attempt)
            text = f"attempt {view.attempt}: worker crashed{how}; trying again"
            self._log.add("lost", text, now, task_id=view.id)
        else:
            warning = "; it may have changed something, so it is not begun again by itself" if again else ""
            reason = f"the worker crashed in attempt {view.attempt}{how}{warning}"
            task_records.write_exit(folder, view.id, "lost", reason, attempt=view.attempt, now=now)
            self._log.add("lost", reason, now, task_id=view.id)

    def _repeatable(self, role_name: str, folder: Path, attempt: int, *, known: bool) -> bool:
        """Return whether a task may run twice: its role changes nothing, or it is known to have changed nothing yet."""
        role = role_or_reason(self._store.layout, role_name)
        if not isinstance(role, Role) or not (known or (not role.write and role.shell != "any")):
            return False
        return repeatable(role, folder, attempt)

    def _collect(self, view: TaskView, supervised: SupervisionResult, now: float) -> None:
        """Take a result in exactly once, then archive it. A failed task stays until a person has dealt with it."""
        folder = self._store.layout.task(view.id)
        if (view.id, view.attempt) not in self._collected and read_json(folder / "collected.json", Collected) is None:
            supervised.collected.append(view.id)
            self._end_below(view, now)
            parked.note_unseen(folder, view.attempt, now)
            self._report_end(view, now)
            record = Collected(at=times.iso(now), status=str(view.status))
            files.replace(folder / "collected.json", msgspec.json.encode(record))
        self._collected.add((view.id, view.attempt))
        if not self._settler.settled(view.id, folder, now):
            self.index.expect(view.id)
            return
        over = view.status in (Status.DONE, Status.CANCELLED) or view.spec.role == agent.ROLE
        if over or view.id in self._dealt:
            self._archive(view, folder, now)
        else:
            self._settled.add(view.id)

    def _end_below(self, view: TaskView, now: float) -> None:
        """End what a cancelled task had ordered, also what it ordered at the very moment at which it was cancelled."""
        if view.status is not Status.CANCELLED or view.spec.role == agent.ROLE:
            return
        for name in family.descendants(self._store.layout, view.id):
            below = self.index.find(name)
            if below is not None and not (below.status.ended or below.finished):
                self.end(below, status="cancelled", reason=f"{view.id}, which ordered it, was cancelled", now=now)

    def _report_end(self, view: TaskView, now: float) -> None:
        if self._reported is None:
            self._reported = {(event.task_id, task_end(event).attempt) for event in self._log.newest(TASK_ENDED)}
        if (view.id, view.attempt) not in self._reported:
            self._log.add(
                TASK_ENDED,
                f"{view.spec.role}: {view.spec.objective}",
                now,
                task_id=view.id,
                status=str(view.status),
                reason=view.reason,
                tokens=view.usage.tokens,
                usd=view.usage.usd,
                brain=view.brain,
                attempt=view.attempt,
                by=view.spec.created_by,
                made=view.spec.created_at,
                awaited_by=parked.awaited_by(self._store.layout, view),
                verdict=str(view.verdict or ""),
            )

    def _archive(self, view: TaskView, folder: Path, now: float) -> None:
        """Move the folder out of the way, unless a worker is still on its way out of it: the next look does."""
        if has_worker(folder):
            self.index.expect(view.id)
            return
        year, month = times.iso(view.finished)[:7].split("-")
        target = self._store.layout.archive / year / month
        directories.make_folder(target)
        sweep(folder, now)
        directories.move(folder, target / view.id)
        self._dismissed.refresh()
        if view.id in self._dealt and view.id not in self._dismissed.targets():  # taken back at this very moment
            task_files.unarchive(self._store.layout, view.id)

    def _supervise(self, view: TaskView, now: float) -> None:
        """See to a task whose worker is alive."""
        if self.index.is_leaderless(view.id):
            self._end_leftovers(view, now)
        elif not pauses.held(self._store.layout.task(view.id)):
            self._limit(view, now)

    def _end_leftovers(self, view: TaskView, now: float) -> None:
        """End what still holds the lock of a worker that has gone; the task is lost then, and treated as such."""
        killed = process.kill_lock_holders(str(self._store.layout.task(view.id) / "run.lock"))
        if killed:
            text = f"its worker is gone; {len(killed)} processes that still held its lock were ended"
            self._log.add("leftover", text, now, task_id=view.id, pids=killed)
            self.index.expect(view.id)

    def _limit(self, view: TaskView, now: float) -> None:
        """End a worker that is past its time and did not end itself. The time that the machine sleeps is left out,
        and what passed before this engine met the worker.
        """
        limit = _seconds(view, self._store.layout, self.config)
        met = self._met.setdefault((view.id, -view.attempt if view.claimed else view.attempt), self._clock.awake())
        took = self._clock.awake() - met
        folder = self._store.layout.task(view.id)
        if limit > 0 and took > limit + _GRACE and took - waited(folder, view.attempt, now) > limit + _GRACE:
            self.end(view, status="failed", reason=f"timed out after {times.span(limit)}", now=now)

    def end(self, view: TaskView, *, status: str, reason: str, now: float) -> None:
        """Begin to end a task, in steps, without waiting for it. The lock decides: the list may be a moment old."""
        alive = has_worker(self._store.layout.task(view.id))
        if (view.status.parked or view.status is Status.QUEUED) and not alive:
            self.dispatcher.give_up(view, status, reason, now)
        elif view.id not in self._ending:
            import asyncio  # 40 ms that taking over from a dead engine need not wait for

            folder = self._store.layout.task(view.id)
            job = asyncio.get_running_loop().create_task(self._end(view, folder, status, reason, now))
            self._ending[view.id] = job
            job.add_done_callback(lambda _: self._ending.pop(view.id, None))

    async def _end(self, view: TaskView, folder: Path, status: str, reason: str, now: float) -> None:
        run = read_json(folder / "run.json", Run)
        if run is None:
            return
        limits = self.config.workers
        await workers.end(folder, run, status=status, reason=reason, ask=limits.ask_seconds, term=limits.term_seconds)
        if _has_no_exit(folder):
            task_records.write_exit(folder, view.id, status, reason, attempt=run.attempt, now=now)

    def close(self) -> None:
        """Let go of everything; workers go on."""
        self._settler.close()
        self.dispatcher.close()

    async def wait_for_endings(self) -> None:
        """Wait until every worker that is being ended has ended."""
        if self._ending:
            import asyncio

            await asyncio.gather(*self._ending.values(), return_exceptions=True)


def _has_no_exit(folder: Path) -> bool:
    """Return whether a task has not ended; one that ended by itself may have been archived meanwhile."""
    return folder.is_dir() and not (folder / "exit.json").exists()


def _seconds(view: TaskView, layout: Layout, config: Config) -> float:
    """Return how long the worker of a task may take, or the process that checks it; 0 for any time."""
    if view.claimed:
        return config.workers.check_minutes * 60
    role = role_or_reason(layout, view.spec.role)
    return view.spec.timeout_seconds or (role.limits.timeout_seconds if isinstance(role, Role) else 0.0)
