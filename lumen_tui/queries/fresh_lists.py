"""Lists that a front end reads again at each change: facts, relays; and the answer to one request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lumen_tui.model.approvals import Decision
from lumen_tui.model.freshness import FactState
from lumen_tui.model.relay import Box
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.relays import RelayIndex


def fact_reader(layout: Layout) -> Callable[[], Sequence[FactState]]:
    """Return a function that reads all facts; the second time only what is new. Not for two threads at once."""
    index = FactIndex(layout)

    def read() -> Sequence[FactState]:
        index.refresh()
        return index.states()

    return read


def relay_reader(layout: Layout) -> Callable[[], Sequence[Box]]:
    """Return a function that reads all relays; the second time only what is new. Not for two threads at once."""
    index = RelayIndex(layout)

    def read() -> Sequence[Box]:
        index.refresh()
        return index.boxes

    return read


def decision(layout: Layout, approval_id: str) -> Decision | None:
    """Return the answer to a request, open or done; one that cannot be read is a refusal."""
    return approvals.decision(layout, approval_id)
