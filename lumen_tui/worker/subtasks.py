"""A task that waits for those that it ordered: without a process, but where its back end can go on in no other."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumen_tui.model import times
from lumen_tui.model.asks import OpenTasks, TasksAsk
from lumen_tui.model.ids import short_hash
from lumen_tui.model.liveness import WAIT
from lumen_tui.model.tasks import Spec, TaskWait
from lumen_tui.store.tasks import family, task_records
from lumen_tui.tools.base import Stopped, TaskParked
from lumen_tui.worker.handover import Handover
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import World

_LOOK, _LOOK_FAR = 0.25, 2.0  # seconds between two looks whether they have ended; far: the engine has to be asked


class TaskWaiter:
    """Waits on behalf of one task. Where `stays` holds, the process has to stay."""

    def __init__(
        self, world: World, spec: Spec, events: Recorder, stays: Callable[[], bool], handover: Handover
    ) -> None:
        self._world, self._spec, self._events = world, spec, events
        self._stays, self._handover = stays, handover
        self._layout = world.store.layout

    def wait(self, tasks: tuple[str, ...], seconds: float) -> None:
        """Return when these tasks have ended, or after so many seconds. Raises TaskParked, Stopped.

        An attempt that goes on from this wait keeps its end.
        """
        wait = self._open(tasks, seconds)
        still = self._still(wait)
        if not still:
            return
        text = f"waits for {len(still)} of the tasks that it ordered: {', '.join(still[:5])}"
        if self._stays():
            self._wait_here(wait, text)
            return
        with self._world.stopper.guard():
            task_records.write_wait(self._world.folder, wait)
            self._handover.park(wait.id)
            self._record(text, wait)
        raise TaskParked

    def _open(self, tasks: tuple[str, ...], seconds: float) -> TaskWait:
        name = f"wait-{short_hash(' '.join((self._spec.id, *tasks, str(seconds))))}"
        parked = self._handover.steps.parked
        known = task_records.read_wait(self._world.folder, name)
        if known is not None and parked is not None and parked.question == name:
            return known
        return TaskWait(name, tasks, times.iso(self._world.now() + seconds))

    def _still(self, wait: TaskWait) -> list[str]:
        """Return which have not ended; none once the time is over."""
        over = wait.over or times.epoch(wait.until) <= self._world.now()
        if over:
            return []
        link = self._world.link
        if link is None:
            return family.not_over(self._layout, wait.tasks)
        return list(link.call(TasksAsk(wait.tasks), OpenTasks).tasks)

    def _record(self, text: str, wait: TaskWait) -> None:
        self._events.event(WAIT, text, until=wait.until, tasks=list(wait.tasks))

    def _wait_here(self, wait: TaskWait, text: str) -> None:
        self._record(text, wait)
        with self._world.stopper.untimed():
            while self._still(wait):
                if self._world.stopper.stopped():
                    raise Stopped
                time.sleep(_LOOK if self._world.link is None else _LOOK_FAR)
        self._events.event("note", "goes on: the tasks that it ordered have ended, or the time is over")
