"""One state folder as servers have it: followed reads, and verbs in the name of whoever asks."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.requests.base import Request
from lumen_tui.model.searching import Found, SearchQuery
from lumen_tui.queries import documents
from lumen_tui.queries.documents import Document
from lumen_tui.storage import origin, schema
from lumen_tui.storage.clock import Clock, SystemClock
from lumen_tui.storage.layout import distrust
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.engine.port import RemotePort, TaskDetail
    from lumen_tui.model.snapshot import Snapshot
    from lumen_tui.queries.search.search import Searcher

T = TypeVar("T")
ANSWERS = frozenset({"approval.allow", "approval.deny", "question.answer"})  # which need the scope approve


class Desk:
    """Every method may touch the disk. Safe for use by several threads."""

    def __init__(self, root: Path, *, clock: Clock | None = None) -> None:
        self.root = root
        self.clock = clock or SystemClock()
        self.store = Store(root)
        self.layout = self.store.layout

    @property
    def now(self) -> float:
        """Seconds since 1970."""
        return self.clock.now()

    @functools.cached_property
    def _port(self) -> RemotePort:
        from lumen_tui.engine.port import RemotePort  # with all that a snapshot is made of

        return RemotePort(self.root, origin.operator_name(os.environ), clock=self.clock, client="server")

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot; cheap when nothing changed."""
        return self._port.snapshot()

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """Yield a new snapshot whenever something changed, until `stop` is set. Blocks between them."""
        return self._port.changes(stop)

    def settled(self, about: Hashable, paths: Callable[[], Sequence[Path]], make: Callable[[], T]) -> T:
        """Return what `make` returns; a desk that follows the state keeps it while what it is made of stays as it is.

        It is made of the snapshot, the second of the clock, and the files at `paths`.
        """
        del about, paths
        return make()

    def status(self) -> Document:
        """Return how the agent is, as `status` answers."""
        return documents.status_document(self.layout, self.snapshot(), self.now)

    def task(self, task_id: str) -> TaskDetail:
        """Return one task by its full id, live or archived. ActionError where there is none."""
        return self._port.task_detail(task_id)

    def search(self, query: SearchQuery) -> Found:
        """Return the best hits of a search."""
        return self._searcher.search(query, self.now)

    @functools.cached_property
    def _searcher(self) -> Searcher:
        from lumen_tui.queries.search.search import Searcher

        return Searcher(self.layout, with_units=True)

    def perform(self, who: Principal, request: Request) -> Done:
        """Carry out a verb in a program's name, which is never an order of the operator.

        ActionError and StoreError as from `actions.registry.perform`. What only the operator may do is refused, but for
        an answer by a program with the scope approve, and only to the very call whose hash it names.
        """
        from lumen_tui.actions.registry import perform

        if reason := distrust(self.root) or schema.heed(self.store.layout.schema):
            raise ActionError(reason)
        if request.verb in ANSWERS:
            _must_be_bound(who, request)
        else:
            acting.must_not_be_agent(request.verb, f"{who.by} is connected")
        return perform(self.store, request, by=who.by, now=self.now, client=f"{acting.PROGRAM}{who.by}")


def _must_be_bound(who: Principal, request: Request) -> None:
    if not who.may(Scope.APPROVE):
        raise ActionError(f"{who.by} may not answer for the operator: it lacks the scope approve")
    if not getattr(request, "hash", ""):
        raise ActionError("an answer needs the hash of the call as it was shown")
