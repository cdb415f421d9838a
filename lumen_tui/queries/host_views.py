"""The hosts with what runs on each, as the room and the command line show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from lumen_tui import __version__
from lumen_tui.model.hosting import Host
from lumen_tui.model.tasks import ALIVE, TaskView
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks import homes
from lumen_tui.store.tasks.task_index import TaskIndex


class HostTask(Struct, frozen=True):
    """A task with a worker on a host. `behind`: frames that the host had at its last sighting and that are not here."""

    view: TaskView
    behind: int


class HostView(Struct, frozen=True):
    """A host as a person sees it. `closed` says why it takes no task."""

    host: Host
    closed: str
    tasks: tuple[HostTask, ...]

    @property
    def state(self) -> str:
        """The word of its state."""
        if self.host.entry.cordon:
            return "drains" if self.host.entry.leaves else "cordoned"
        return "closed" if self.closed else "open"


def host_views(layout: Layout, now: float) -> tuple[list[HostView], str]:
    """Return every registered host, and why none can be reached at all, where that is so."""
    book = hosts.book(layout)
    index = TaskIndex(layout)
    if book.hosts:
        index.refresh(now, {})
    alive = [view for view in index.of_status(ALIVE) if view.host]
    return [_view(layout, host, alive) for host in book.hosts], book.link


def _view(layout: Layout, host: Host, alive: Sequence[TaskView]) -> HostView:
    facts = host.sighting.facts
    sent = {(task, attempt): frames for task, attempt, frames in facts.workers} if facts else {}
    tasks = []
    for view in alive:
        if view.host == host.name:
            here = homes.last_seq(layout.task(view.id), view.attempt)
            tasks.append(HostTask(view, max(0, sent.get((view.id, view.attempt), 0) - here)))
    return HostView(host, host.closed(__version__), tuple(tasks))


def view_reader(layout: Layout, clock: Callable[[], float]) -> Callable[[], tuple[list[HostView], str]]:
    """Return a function that reads all hosts, for a screen."""
    return lambda: host_views(layout, clock())
