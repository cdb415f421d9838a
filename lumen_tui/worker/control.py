"""What reaches a task while it runs: the operator's messages and changed limits, before each request to the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from lumen_tui.model.fences import words_of
from lumen_tui.model.steering import Steer, SteerState
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.store.tasks import steers, task_records
from lumen_tui.tools.agent import report
from lumen_tui.worker.engine_link import LinkSteers
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.surroundings import money
from lumen_tui.worker.world import World


class SteerDesk(Protocol):
    """Where the messages to a task are on file."""

    def take(self, *, again: bool) -> list[Steer]: ...

    def close(self, reason: str) -> list[Steer]: ...


class LocalSteers:
    """The messages to a task whose engine is on this machine."""

    def __init__(self, world: World, attempt: int) -> None:
        self._world, self._attempt = world, attempt

    def take(self, *, again: bool) -> list[Steer]:
        """Take what no request held yet; with `again` also what one of an earlier attempt did. StoreError."""
        with self._world.stopper.guard():
            return steers.take(self._world.folder, self._attempt, self._world.now(), again=again)

    def close(self, reason: str) -> list[Steer]:
        """Take nothing any more; return what nobody read. StoreError."""
        with self._world.stopper.guard():
            return steers.close(self._world.folder, self._attempt, reason, self._world.now())


class Control:
    """The news for one attempt.

    `known` returns all that was said to the model in the conversation from which it goes on: messages that an earlier
    attempt has read count again unless they are in there. `apply` puts the limits of a changed spec into force, and
    returns them in words.
    """

    def __init__(
        self,
        world: World,
        spec: Spec,
        events: Recorder,
        attempt: int,
        *,
        known: Callable[[], str],
        apply: Callable[[Spec], str],
    ) -> None:
        self._world = world
        self._spec = spec
        self._events = events
        self._desk: SteerDesk = LinkSteers(world.link) if world.link else LocalSteers(world, attempt)
        self._known = known
        self._first = True
        self._apply = apply
        self._size = 0
        self._stamp = self._spec_stamp()
        self._said: list[str] = []

    def hear(self, text: str) -> None:
        """Have the next request hold this text of ours."""
        self._said.append(text)

    def news(self) -> tuple[str, ...]:
        """Return what the next request is to hold, each once; what is returned counts as read."""
        pending, self._said = self._said, []
        return (*pending, *self._changed_limits(), *map(_steer_words, self._taken()))

    def keep_limits(self) -> None:
        """Put limits that were changed into force; the next news says so to a back end that takes any."""
        self._said += self._changed_limits()

    def waits(self, ends_with: str) -> bool:
        """Return whether there may be something that no request held, before the task ends with a call of this tool."""
        if ends_with != report.WRITE_RESULT.name:
            return False  # a session of the main agent gets signals
        folder = self._world.folder
        if self._said or self._spec_stamp() != self._stamp:
            return True
        return steers.size(folder) != self._size and any(
            steer.state is SteerState.TOLD for steer in steers.read(folder)
        )

    @property
    def was_told(self) -> bool:
        """Whether there is any message, read or not."""
        return steers.size(self._world.folder) > 0

    def close(self, reason: str) -> None:
        """Take no message from here on, and record those that no request held."""
        for steer in self._desk.close(reason):
            self._events.event("note", f"not seen by the worker, {reason}: {steer.text}", ok=False, steer=steer.id)

    def _taken(self) -> list[Steer]:
        folder = self._world.folder
        size = steers.size(folder)
        if size == self._size:
            return []
        taken = self._desk.take(again=self._first)
        self._first, self._size = False, steers.size(folder)
        taken = [steer for steer in taken if _about(steer) not in self._known()]
        for steer in taken:
            self._events.event("steered", f"{steer.by}: {steer.text}", steer=steer.id)
        return taken

    def _changed_limits(self) -> list[str]:
        stamp = self._spec_stamp()
        if stamp == self._stamp:
            return []
        self._stamp = stamp
        try:
            spec = task_records.read_spec(self._world.folder)
        except (task_records.DamagedTask, files.StoreError):
            return []  # what is in force stays so
        if (spec.steps, spec.timeout_seconds, spec.budget) == (
            self._spec.steps,
            self._spec.timeout_seconds,
            self._spec.budget,
        ):
            return []
        self._spec = spec
        words = self._apply(spec)
        spent = money(spec)
        text = f"The limits of this task were changed: {words}{f'; it may spend {spent}' if spent else ''}."
        self._events.event("note", text)
        return [text]

    def _spec_stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self._world.folder / "spec.json")
        except OSError:
            return (0, 0)
        return status.st_ino, status.st_mtime_ns


def _steer_words(steer: Steer) -> str:
    return words_of(steer.text, one_line(steer.by, 60), _about(steer), seen=steer.order)


def _about(steer: Steer) -> str:
    return f"{steer.id}, said at {steer.at} while you work"
