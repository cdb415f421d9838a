"""Which queued task gets a worker next, and which never can."""

from __future__ import annotations

from subprocess import Popen

from lumen_tui.engine import workers
from lumen_tui.engine.events import EventLog
from lumen_tui.model.config import Config
from lumen_tui.model.ids import BadId
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.store import files
from lumen_tui.store.frontmatter import BadFile
from lumen_tui.store.layout import Layout
from lumen_tui.store.roles import load_role
from lumen_tui.store.store import Store
from lumen_tui.store.taskindex import TaskIndex


def role_or_why(layout: Layout, name: str) -> Role | str:
    """The role in force, or the sentence that says why there is none."""
    try:
        return load_role(layout, name)
    except FileNotFoundError:
        return f"role {name!r} is not in force: hire it, or retry the task with another role"
    except BadFile as error:
        return f"role {name!r} cannot be read: roles/{name}.md line {error.line}: {error}"
    except (files.StoreError, BadId) as error:
        return f"role {name!r} cannot be used: {error}"


class Starter:
    """Starts queued tasks up to the limits, and keeps the processes it started."""

    def __init__(self, store: Store, log: EventLog, index: TaskIndex, *, epoch: int) -> None:
        self._store, self._log, self._index, self._epoch = store, log, index, epoch
        self._children: dict[str, Popen[bytes]] = {}
        self.provider = "offline"

    def child_ended(self) -> bool:
        """Whether one of our own workers has ended and was not looked at yet."""
        return any(child.poll() is not None for child in self._children.values())

    def reap(self) -> None:
        """Forget the workers of ours that have ended."""
        self._children = {name: child for name, child in self._children.items() if child.poll() is None}

    def start_next(self, config: Config, now: float) -> list[str]:
        """Start what may start; returns the ids. Queued tasks may have been edited: the next few are read again."""
        alive = [view for view in self._index.begun() if view.status.alive]
        free = config.workers.limit - len(alive)
        started: list[str] = []
        if free <= 0 or not self._index.queued():
            return started
        self._index.refresh(now, {}, only={view.id for view in self._index.queued()[: config.workers.limit]})
        by_role = [view.spec.role for view in alive]
        for view in self._index.queued():
            if len(started) >= free:
                break
            if self._start(view, by_role, now):
                started.append(view.id)
                by_role.append(view.spec.role)
        return started

    def _start(self, view: TaskView, by_role: list[str], now: float) -> bool:
        if self._store.layout.retired_role(view.spec.role).exists():
            return False  # fired: its tasks wait until it is hired again, or until they are cancelled
        role = role_or_why(self._store.layout, view.spec.role)
        if isinstance(role, str):
            self.give_up(view, "failed", role, now)
            return False
        if dead := self._dead_dependency(view):
            self.give_up(view, "failed", dead, now)
            return False
        if view.waits_for or 0 < role.limits.at_once <= by_role.count(view.spec.role):
            return False
        return self._launch(view, now)

    def _launch(self, view: TaskView, now: float) -> bool:
        folder = self._store.layout.task(view.id)
        child = workers.start(folder, provider=self.provider, epoch=self._epoch, now=now)
        if child is None:
            return False
        self._children[view.id] = child
        self._index.expect(view.id)
        self._log.add("task_started", f"{view.spec.role}: {view.spec.objective}", now, task_id=view.id, pid=child.pid)
        return True

    def give_up(self, view: TaskView, status: str, reason: str, now: float) -> None:
        """End a task that never had a worker."""
        folder = self._store.layout.task(view.id)
        workers.write_exit(folder, view.id, status, reason, attempt=view.attempt, now=now)
        self._index.expect(view.id)

    def _dead_dependency(self, view: TaskView) -> str:
        """Why a task can never start: something it depends on did not end well."""
        for name in view.spec.depends_on:
            found = self._index.find(name)
            if found is None:
                return f"it depends on {name}, which does not exist"
            if found.status in (Status.FAILED, Status.CANCELLED, Status.LOST) and found.finished:
                return f"it depends on {name}, which ended as {found.status}"
        return ""
