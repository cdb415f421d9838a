"""What becomes of a task whose model cannot be asked: its endpoint is closed for all, and the task waits or goes back.

The first task that is told of a refused key or a used-up account fails and says so; no other one does. A limit that
ends at a known time fails none: a task that has cost nothing goes back to the queue, another one waits where it is.
"""

from __future__ import annotations

import time

from lumen_tui.model import agent
from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.loop import Pause
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso, span
from lumen_tui.providers.base import EndpointClosed
from lumen_tui.providers.choose import endpoint_mark
from lumen_tui.providers.errors import LIMIT, ModelCallError
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.store.tasks.task_records import repeatable
from lumen_tui.tools.base import Stopped, ToolResult
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import TaskTally, World

_LOOK = 0.25  # seconds between two looks whether the endpoint is open again


class PutBack(Exception):
    """The task goes back to the queue; the text says why."""


class Closing:
    """What one attempt does where an endpoint is closed."""

    def __init__(
        self, world: World, spec: Spec, role: Role, config: ModelsConfig, events: Recorder, tally: TaskTally
    ) -> None:
        self._world, self._spec, self._role, self._config = world, spec, role, config
        self._events, self._tally = events, tally

    def take(self, error: Exception) -> None:
        """Close the endpoint of a call that had no answer. Raises PutBack where another task has told of it."""
        if not isinstance(error, ModelCallError) or not error.closed:
            return
        first = self._close(error.endpoint, error.closed, error.resets_at, error.brief)
        if (error.closed == LIMIT or not first) and self._may_go_back():
            self._events.event("waiting", f"goes back to the queue: {error.brief}")
            raise PutBack(error.brief)

    def wait(self, step: EndpointClosed) -> ToolResult | None:
        """Wait where the task is until the endpoint is open again; None where it need not, as nothing was paid yet."""
        if self._may_go_back() and not self._tally.usage.tokens:
            return None
        self._close(step.endpoint, step.kind, step.resets_at, step.reason)
        world, began = self._world, self._world.monotonic()
        words = f"waits for {step.endpoint}: {step.reason}"
        self._events.event("wait", words, until=step.resets_at)
        with world.stopper.untimed():
            while (pause := self._pause(step.endpoint)) and not pause.past(world.now()):
                time.sleep(_LOOK)
                if kill := read_kill(world.store.layout):
                    world.stopper.ask("cancelled", kill.words)
                    raise Stopped
        self._events.event("note", f"goes on after {span(world.monotonic() - began)}: {step.endpoint} is open again")
        return ToolResult("")

    def _close(self, endpoint: str, kind: str, resets_at: float, reason: str) -> bool:
        """Close an endpoint for all tasks; return whether it was open."""
        pause = Pause(
            at=iso(self._world.now()),
            by=pauses.ENGINE,
            reason=one_line(self._world.redact(reason), 200),
            until=iso(resets_at) if kind == LIMIT else "",
            kind=kind,
            mark=endpoint_mark(self._config, endpoint, self._world.environ) if kind != LIMIT else "",
        )
        with self._world.stopper.guard():
            return pauses.close(self._world.store.layout, endpoint, pause)

    def _pause(self, endpoint: str) -> Pause | None:
        return pauses.parts(self._world.store.layout).providers.get(endpoint)

    def _may_go_back(self) -> bool:
        """Return whether the task can begin once more: it changed nothing. A turn of the chat is never repeated."""
        return not agent.turn_of(self._spec.id) and repeatable(self._role, self._world.folder, self._tally.attempt)
