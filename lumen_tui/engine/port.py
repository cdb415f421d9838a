"""The one border between a front end and the engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

from lumen_tui.engine.outcome import Done
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import TaskEvent, TaskView


class TaskDetail(Struct, frozen=True):
    """All there is to read about one task. Texts are safe."""

    view: TaskView
    events: tuple[TaskEvent, ...]
    result: str
    more_events: int = 0  # earlier ones that were left out


class Port(Protocol):
    """What a front end may ask. Every call may touch the disk: call it from a thread, never from an event loop."""

    def snapshot(self) -> Snapshot:
        """The newest picture; cheap when nothing changed."""

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """A new picture whenever something changed, until `stop` is set. Blocks between them."""

    def submit(self, verb: str, **arguments: Any) -> Done:
        """Carry out one action by name (see engine.actions). Raises ActionError and StoreError."""

    def task_detail(self, task_id: str) -> TaskDetail:
        """Spec, events and result of one task, live or archived. Raises ActionError where there is none."""
