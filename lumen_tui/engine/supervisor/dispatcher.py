"""Which queued task gets a worker next, and which never can."""

from __future__ import annotations

import signal
from collections.abc import Callable, Set

from msgspec import structs

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.supervisor import workers
from lumen_tui.engine.supervisor.execution import BackendPlacement, HostBackend, LocalBackend, StartOrder
from lumen_tui.engine.wakeups import Wakeups
from lumen_tui.model import agent
from lumen_tui.model.config import Config, ModelsConfig
from lumen_tui.model.ids import BadId
from lumen_tui.model.loop import Pauses
from lumen_tui.model.queueing import in_lanes, lane_full
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import ALIVE, Run, Status, TaskView
from lumen_tui.providers.choose import endpoints_of, key_names, kind_of
from lumen_tui.providers.errors import KEY
from lumen_tui.storage import files
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.roles import load_role
from lumen_tui.store.tasks import claims, task_records
from lumen_tui.store.tasks.pauses import is_killed
from lumen_tui.store.tasks.task_index import TaskIndex

_MOST_CHECKS = 3  # processes of one engine that begin to check one task


def role_or_reason(layout: Layout, name: str) -> Role | str:
    """Return the role in force, or a sentence that says why there is none."""
    try:
        return load_role(layout, name)
    except FileNotFoundError:
        return f"role {name!r} is not active: hire it, or retry the task with another role"
    except BadFile as error:
        return f"role {name!r} cannot be read: roles/{name}.md line {error.line}: {error}"
    except (files.StoreError, BadId) as error:
        return f"role {name!r} cannot be used: {error}"


def death_words(code: int) -> str:
    """Describe the exit code (negative for a signal) of a worker that left no exit.json."""
    if code == -signal.SIGKILL:
        return "it was killed (SIGKILL), by hand or because memory ran out"
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    return f"its exit code was {code}" if code else ""


class Dispatcher:
    """Starts queued tasks up to the limits, each on the backend that its placement names."""

    def __init__(
        self,
        store: Store,
        log: EventLog,
        index: TaskIndex,
        *,
        epoch: int,
        refusal: Callable[[str], str],
        clock: Clock,
    ) -> None:
        """Start no task of a role for which `refusal` gives a reason."""
        self._store = store
        self._log = log
        self._index = index
        self._epoch = epoch
        self._codes: dict[str, int] = {}  # exit codes of workers that ended, negative for a signal
        self._checks: dict[str, int] = {}  # of tasks that are checked: how often that began under this engine
        self.paused = Pauses()  # no task of these roles starts, and none that needs these providers
        self.wakeups = Wakeups(store.layout)
        self.local = LocalBackend(store.layout.engine_log, self.wakeups.watch_fd)
        self.placement = BackendPlacement(self.local, HostBackend(store.layout, clock, self.local))
        self.provider = "offline"
        self.models = ModelsConfig()
        self.held_back = refusal

    def configure(self, models: ModelsConfig, provider: str) -> None:
        """Have tasks that start from now on use these models; `provider` serves those that name none."""
        self.models = models
        self.provider = provider
        self.local.configure(kind_of(models, provider))

    def closed(self, role: Role, model: str = "") -> str:
        """Return why no task of a role can be given a model now, with `model` as its own; empty where one can."""
        providers = self.paused.providers
        names = endpoints_of(self.models, self.provider, role, model) if providers else []
        if not names or names[0] not in providers:
            return ""
        pause = providers[names[0]]
        stands_by = pause.kind != KEY and any(name not in providers for name in names)
        return "" if stands_by else f"provider {names[0]} is {pause.words}"

    def warm_up(self, config: Config) -> None:
        """Have the next worker start quickly."""
        self.local.warm_up(config.workers.warm_minutes)

    def child_ended(self) -> bool:
        """Return whether a worker has ended and was not looked at yet."""
        return any(backend.has_ended() for backend in self.placement.all())

    def reap(self) -> None:
        """Take in which workers have ended, and how; see that hosts can be reached where there are some."""
        self.placement.hosts.keep_link()
        for backend in self.placement.all():
            self._codes |= backend.reap()

    def ended_how(self, task_id: str) -> str:
        """Describe how the process of a task ended; empty if that is not known."""
        return death_words(self._codes.get(task_id, 0))

    def forget_others(self, begun: Set[str]) -> None:
        """Keep no exit codes but of these tasks, and no workers of which nobody will tell any more."""
        claimed = {view.id for view in self._index.queued() if view.claimed}
        self._codes = {name: code for name, code in self._codes.items() if name in begun or name in claimed}
        for backend in self.placement.all():
            backend.keep_only(begun)
        self._checks = {name: count for name, count in self._checks.items() if name in begun or name in claimed}

    def watch(self, alive: dict[str, Run]) -> None:
        """Be woken when one of these workers ends, whoever started it."""
        self.wakeups.keep_processes(set(alive))
        for task_id, run in alive.items():
            self.wakeups.watch_process(task_id, task_records.identity(run))

    def watch_fd(self, fd: int) -> None:
        """Wake the engine up when `fd` is readable; whoever owns it reads it."""
        self.wakeups.watch_fd(fd)

    def close(self) -> None:
        """Let go of every backend and every descriptor; workers go on."""
        for backend in self.placement.all():
            backend.close()
        self.wakeups.close()

    def start_next(self, config: Config, now: float) -> list[str]:
        """Start what may start; returns the ids. Queued tasks may have been edited: the next few are read again."""
        alive = [view for view in self._index.of_status(ALIVE) if view.spec.role != agent.ROLE]
        free = config.workers.limit - sum(not view.spec.host for view in alive)
        started: list[str] = []
        if not self._index.queued():
            return started
        self._index.refresh(now, {}, only={view.id for view in self._index.queued()[: config.workers.limit]})
        by_role = [view.spec.role for view in alive]
        nowhere: set[tuple[object, ...]] = set()  # what no host has free, and less so once one more has started
        for view in self._index.queued():
            wanted = view.host, view.spec.host, view.spec.role, view.spec.resources
            if wanted in nowhere or (free <= 0 and not view.spec.host):
                continue
            if not view.claimed and lane_full(view, in_lanes(alive), config.lanes):
                continue
            where = self.placement.where(view, alive)
            if where is None:
                nowhere.add(wanted)
            if where is None or not self._start(view, by_role, where, now):
                continue
            free -= not where
            started.append(view.id)
            by_role.append(view.spec.role)
            alive.append(structs.replace(view, host=where))
        return started

    def start_loop(self, task_id: str, now: float) -> bool:
        """Start the main agent's session, which takes no worker's place."""
        view = self._index.find(task_id)
        if view is None or view.status is not Status.QUEUED or self.held_back(view.spec.role):
            return False
        role = role_or_reason(self._store.layout, view.spec.role)
        if isinstance(role, Role) and self.closed(role, view.spec.model):
            return False
        return view.spec.role not in self.paused.roles and self.launch(view, "", now)

    def _start(self, view: TaskView, by_role: list[str], where: str, now: float) -> bool:
        if view.spec.role == agent.ROLE:
            return False  # the loop starts it
        if self._store.layout.retired_role(view.spec.role).exists():
            return False  # fired: its tasks wait until it is hired again, or until they are cancelled
        if view.claimed:
            return view.spec.role not in self.paused.roles and self._check(view, where, now)
        if self.held_back(view.spec.role) or view.spec.role in self.paused.roles:
            return False
        role = role_or_reason(self._store.layout, view.spec.role)
        if isinstance(role, str):
            self.give_up(view, "failed", role, now)
            return False
        if dead := self._dead_dependency(view):
            self.give_up(view, "failed", dead, now)
            return False
        if self.closed(role, view.spec.model):
            return False
        if view.waits_for or 0 < role.limits.at_once <= by_role.count(view.spec.role):
            return False
        return self.launch(view, where, now)

    def _check(self, view: TaskView, where: str, now: float) -> bool:
        """Start the process that checks what a worker claims; one that keeps dying proves nothing, and is given up."""
        began = self._checks.get(view.id, 0)
        if began < _MOST_CHECKS:
            started = self.launch(view, where, now)
            self._checks[view.id] = began + started
            return started
        how = self.ended_how(view.id)
        reason = f"the process that checks it crashed {began} times" + (f": {how}" if how else "")
        claims.give_up(self._store.layout.task(view.id), reason, now)
        self._log.add("not_checked", reason, now, task_id=view.id)
        self._index.expect(view.id)
        return False

    def _keys(self, view: TaskView) -> tuple[str, ...]:
        """Return the key names of every endpoint that the task may use."""
        role, spec = role_or_reason(self._store.layout, view.spec.role), view.spec
        tier = role.tier if isinstance(role, Role) else ""
        return key_names(self.provider, self.models, role=spec.role, tier=tier, model=spec.model)

    def launch(self, view: TaskView, where: str, now: float, kind: str = "") -> bool:
        """Start the worker of a task here, or on the host `where`; `kind` is the event, where it is not a first start.

        Return whether it was started.
        """
        if is_killed(self._store.layout):
            return False  # since the beat began: an engine may be held up at any point of one
        keys = () if where else self._keys(view)
        order = StartOrder(view.id, self._store.layout.task(view.id), keys, self._epoch, now, where)
        try:
            started = self.placement.backend_of(view.spec).start(order)
        except workers.NoProcess as error:
            self._log.add("not_started", f"no process for a worker: {error}; it is tried again", now, task_id=view.id)
            return False
        if started is None:
            return False
        self._codes.pop(view.id, None)
        self.wakeups.watch_process(view.id, started.leader)
        self._index.expect(view.id)
        self.placement.hosts.note_unit(view.spec.wu_id, where)
        kind = kind or ("check_started" if view.claimed else "task_started")
        at = {"host": where} if where else {}
        self._log.add(kind, f"{view.spec.role}: {view.spec.objective}", now, task_id=view.id, pid=started.pid, **at)
        return True

    def give_up(self, view: TaskView, status: str, reason: str, now: float) -> None:
        """End a task that never had a worker."""
        folder = self._store.layout.task(view.id)
        task_records.write_exit(folder, view.id, status, reason, attempt=view.attempt, now=now)
        self._index.expect(view.id)

    def _dead_dependency(self, view: TaskView) -> str:
        """Return why a task can never start: something it depends on did not end well."""
        for name in view.spec.depends_on:
            dependency = self._index.find(name)
            if dependency is None:
                return f"it depends on {name}, which does not exist"
            if dependency.status in (Status.FAILED, Status.CANCELLED, Status.LOST) and dependency.finished:
                return f"it depends on {name}, which ended as {dependency.status}"
        return ""
