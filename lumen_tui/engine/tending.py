"""The life of tasks: collect what ended, retry what was lost, end what ran too long, start what is next."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

import msgspec

from lumen_tui.engine import workers
from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.config import Config
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Run, Status, TaskView
from lumen_tui.store import files
from lumen_tui.store.frontmatter import BadFile
from lumen_tui.store.reader import Dismissed
from lumen_tui.store.roles import load_role
from lumen_tui.store.store import Store
from lumen_tui.store.taskindex import TaskIndex
from lumen_tui.store.taskread import read_json

_GRACE = 15.0  # seconds past its time limit before the engine ends a worker that should have ended itself
_FAR = 365 * times.DAY


class Collected(msgspec.Struct, frozen=True):
    """tasks/<id>/collected.json: the engine has taken the result in, once."""

    at: str
    status: str


class Stop(msgspec.Struct, frozen=True):
    """tasks/<id>/stop.json: a worker was asked to end, and how the task then counts."""

    status: str
    reason: str


@dataclass
class Tended:
    """What one look at the tasks changed."""

    started: list[str] = field(default_factory=list)
    collected: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class Tending:
    """Owns the workers of one engine."""

    def __init__(self, store: Store, log: EventLog, *, epoch: int) -> None:
        self._store, self._log, self._epoch = store, log, epoch
        self.index = TaskIndex(store.layout)
        self._children: dict[str, Popen[bytes]] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._dismissed = Dismissed(store.layout)
        self.config = Config()
        self.provider = "offline"

    def running(self) -> list[TaskView]:
        """Tasks with a living worker."""
        return [view for view in self.index.begun() if view.status.alive]

    def recover(self, now: float) -> int:
        """Take in everything that is there after a start; returns how many living workers were adopted."""
        self.index.refresh(now, {})
        adopted = self.running()
        for view in adopted:
            self._log.add("adopted", f"{view.spec.role}: {view.spec.objective}", now, task_id=view.id, pid=view.pid)
        return len(adopted)

    def look(self, now: float, *, may_start: bool) -> Tended:
        """One pass over the tasks. Reads nothing of a task on which nothing changed."""
        tended = Tended()
        self._reap()
        self.index.refresh(now, {}, only=set())
        if may_start and self._room_for_more():
            self._look_at_queued(now)
        for view in self.index.begun():
            if view.status is Status.LOST:
                self._lost(view, tended, now)
            elif view.status.ended:
                self._collect(view, tended, now)
            elif view.status.alive:
                self._limit(view, now)
        if may_start:
            self._start_next(tended, now)
        return tended

    def child_ended(self) -> bool:
        """Whether one of our own workers has ended and was not looked at yet."""
        return any(child.poll() is not None for child in self._children.values())

    def _room_for_more(self) -> bool:
        return len(self.running()) < self.config.workers.limit

    def _look_at_queued(self, now: float) -> None:
        """Queued tasks may have been edited since; the next few are looked at again before one starts."""
        queued = self.index.queued()[: self.config.workers.limit]
        self.index.refresh(now, {}, only={view.id for view in queued})

    def _reap(self) -> None:
        for task_id, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[task_id]

    def _lost(self, view: TaskView, tended: Tended, now: float) -> None:
        """A worker went without a word: try again where that is safe, give up where it is not."""
        if view.id in self._ending:
            return  # we ended it ourselves; that job writes the exit
        folder = self._store.layout.task(view.id)
        if view.finished:  # given up before; it waits for a person
            self._collect(view, tended, now)
            return
        tended.lost.append(view.id)
        if stop := read_json(folder / "stop.json", Stop):
            workers.write_exit(folder, view.id, stop.status, stop.reason, attempt=view.attempt, now=now)
            return
        if view.attempt <= self.config.workers.retries and self._repeatable(view.spec.role):
            workers.put_aside(folder, view.attempt)
            self._log.add("lost", f"attempt {view.attempt} ended without a word; trying again", now, task_id=view.id)
            return
        reason = f"the worker ended without a word in attempt {view.attempt}"
        workers.write_exit(folder, view.id, "lost", reason, attempt=view.attempt, now=now)
        self._log.add("lost", reason, now, task_id=view.id)

    def _repeatable(self, role_name: str) -> bool:
        """Only what changes nothing may run twice."""
        role = self._role(role_name)
        return isinstance(role, Role) and not role.write and role.shell != "any"

    def _role(self, name: str) -> Role | str:
        """The role in force, or the sentence that says why there is none."""
        try:
            return load_role(self._store.layout, name)
        except FileNotFoundError:
            return f"role {name!r} is not in force: hire it, or retry the task with another role"
        except BadFile as error:
            return f"role {name!r} cannot be read: roles/{name}.md line {error.line}: {error}"
        except (files.StoreError, ValueError) as error:
            return f"role {name!r} cannot be used: {error}"

    def _collect(self, view: TaskView, tended: Tended, now: float) -> None:
        """Take a result in exactly once, then archive it. A failed task stays until a person has dealt with it."""
        folder = self._store.layout.task(view.id)
        if read_json(folder / "collected.json", Collected) is None:
            tended.collected.append(view.id)
            text = f"{view.spec.role}: {view.spec.objective}"
            self._log.add(
                "task_ended", text, now, task_id=view.id, status=str(view.status), reason=view.reason,
                tokens=view.usage.tokens, usd=view.usage.usd, brain=view.brain,
            )  # fmt: skip
            record = Collected(at=times.iso(now), status=str(view.status))
            files.replace(folder / "collected.json", msgspec.json.encode(record))
        if view.status in (Status.DONE, Status.CANCELLED) or self._dealt_with(view.id):
            self._archive(view, folder)

    def _dealt_with(self, task_id: str) -> bool:
        self._dismissed.refresh()
        return task_id in self._dismissed.targets()

    def _archive(self, view: TaskView, folder: Path) -> None:
        year, month = times.iso(view.finished or view.started)[:7].split("-")
        target = self._store.layout.archive / year / month
        files.make_folder(target)
        files.move(folder, target / view.id)

    def _limit(self, view: TaskView, now: float) -> None:
        """End a worker that is past its time and did not end itself."""
        role = self._role(view.spec.role)
        limit = view.spec.timeout_seconds or (role.limits.timeout_seconds if isinstance(role, Role) else _FAR)
        if now - view.started > limit + _GRACE:
            self.end(view, status="failed", reason=f"timed out after {times.span(limit)}", now=now)

    def end(self, view: TaskView, *, status: str, reason: str, now: float) -> None:
        """Begin to end a task, in steps, without waiting for it."""
        folder = self._store.layout.task(view.id)
        if view.status is Status.QUEUED:
            self._give_up(view, status, reason, now)
            return
        if view.id not in self._ending:
            job = asyncio.get_running_loop().create_task(self._end(view, folder, status, reason, now))
            self._ending[view.id] = job
            job.add_done_callback(lambda _: self._ending.pop(view.id, None))

    async def _end(self, view: TaskView, folder: Path, status: str, reason: str, now: float) -> None:
        run = read_json(folder / "run.json", Run)
        if run is None:
            return
        limits = self.config.workers
        await workers.end(folder, run, status=status, reason=reason, ask=limits.ask_seconds, term=limits.term_seconds)
        if not (folder / "exit.json").exists():
            workers.write_exit(folder, view.id, status, reason, attempt=run.attempt, now=now)

    async def wait_for_endings(self) -> None:
        """Wait until every worker that is being ended has ended."""
        if self._ending:
            await asyncio.gather(*self._ending.values(), return_exceptions=True)

    def _start_next(self, tended: Tended, now: float) -> None:
        alive = self.running()
        by_role: dict[str, int] = {}
        for view in alive:
            by_role[view.spec.role] = by_role.get(view.spec.role, 0) + 1
        free = self.config.workers.limit - len(alive)
        for view in self.index.queued():
            if free <= 0:
                return
            if self._start(view, by_role, tended, now):
                free -= 1

    def _start(self, view: TaskView, by_role: dict[str, int], tended: Tended, now: float) -> bool:
        folder = self._store.layout.task(view.id)
        role = self._role(view.spec.role)
        if obstacle := role if isinstance(role, str) else self._dead_dependency(view):
            self._give_up(view, "failed", obstacle, now)
            return False
        at_once = role.limits.at_once if isinstance(role, Role) else 0
        if view.waits_for or 0 < at_once <= by_role.get(view.spec.role, 0):
            return False
        child = workers.start(folder, provider=self.provider, epoch=self._epoch, now=now)
        if child is None:
            return False
        self._children[view.id] = child
        self.index.expect(view.id)
        by_role[view.spec.role] = by_role.get(view.spec.role, 0) + 1
        tended.started.append(view.id)
        self._log.add("task_started", f"{view.spec.role}: {view.spec.objective}", now, task_id=view.id, pid=child.pid)
        return True

    def _give_up(self, view: TaskView, status: str, reason: str, now: float) -> None:
        """End a task that never had a worker."""
        folder = self._store.layout.task(view.id)
        workers.write_exit(folder, view.id, status, reason, attempt=view.attempt, now=now)
        self.index.expect(view.id)

    def _dead_dependency(self, view: TaskView) -> str:
        """Why a task can never start: something it depends on did not end well."""
        for name in view.spec.depends_on:
            found = self.index.find(name)
            if found is None:
                return f"it depends on {name}, which does not exist"
            if found.status in (Status.FAILED, Status.CANCELLED, Status.LOST) and found.finished:
                return f"it depends on {name}, which ended as {found.status}"
        return ""
