"""Recorded searches made again under other weights: whether an agent is shown what was looked for.

Nothing is asked or run. Both versions search the memory of now, at the same moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType

from lumen_tui import __version__
from lumen_tui.model.digests import sha256
from lumen_tui.model.evals import EvalCase
from lumen_tui.model.evolved_edits import EvolvedVersion
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp
from lumen_tui.tools.agent.memory import SearchArguments, query_of, searched

_DAY = 86_400


def memory_digest(layout: Layout, now: float) -> str:
    """Return a hash of what a search depends on besides its weights: what there is to find, and its age in days."""
    there = (layout.memory, layout.archival, layout.packets, layout.signals)
    parts = (__version__, int(now // _DAY), *map(stamp, there))
    return sha256(repr(parts).encode())[:16]


class RecallRuns:
    """The search under several versions, for the time of a trial."""

    def __init__(self, layout: Layout, versions: Iterable[EvolvedVersion], now: float) -> None:
        self._now, self._open = now, ExitStack()
        self._searchers = [self._open.enter_context(Searcher(layout, weights=each.weights())) for each in versions]

    def __enter__(self) -> RecallRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def shown(self, case: EvalCase, side: int) -> bool | None:
        """Return whether a version shows what was looked for; None where the query is none."""
        query = query_of(SearchArguments(case.query), self._now)
        if query.problems or not query.terms:
            return None
        return any(hit.ref == case.answer for hit in searched(self._searchers[side], query, self._now).hits)
