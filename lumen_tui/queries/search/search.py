"""The one way in to a search: notes and records, or what was said in conversations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lumen_tui.model.searching import Found, Wish
from lumen_tui.queries.search import query
from lumen_tui.queries.search.index import SearchIndex
from lumen_tui.queries.search.tables import NoFullText
from lumen_tui.storage import files

if TYPE_CHECKING:
    from lumen_tui.queries.search.conversations import ConversationIndex
    from lumen_tui.storage.layout import Layout

TALK_BYTES = 256 * 1024 * 1024  # of new conversations that one search reads
_AROUND = 4  # parts of a conversation on each side of the one that was found
IN_MEMORY = "the index cannot be kept in index/: it was made in memory, which each search does again"
Progress = Callable[[int, int], None]  # bytes of conversations that were read, and of all


class Searcher:
    """Answers one question after another; what it holds open is worth keeping between them."""

    def __init__(self, layout: Layout, *, talk_bytes: int = TALK_BYTES) -> None:
        self._layout, self._talk_bytes = layout, talk_bytes
        self._index: SearchIndex | None = None
        self._talk: ConversationIndex | None = None
        self.progress: Progress | None = None
        self._turn = threading.RLock()  # a room asks from several threads

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        with self._turn:
            for index in (self._index, self._talk):
                if index is not None:
                    index.close()
            self._index = self._talk = None

    def search(self, wish: Wish, now: float) -> Found:
        """The best hits. A wish that asks for nothing finds nothing."""
        if wish.empty or wish.problems:
            return Found(notes=wish.problems)
        units = self._lane_units(wish.lane)
        with self._turn:
            try:
                found = self._said(wish, now, units) if wish.conversations else self._noted(wish, now, units)
            except NoFullText:
                found = self._read(wish, now, units)
        unknown = () if found.hits else tuple(name for name in wish.wus if not self._knows(name))
        said = (f"no work unit {name} is known here: `wu list` names them" for name in unknown)
        return replace(found, unknown=unknown, notes=(*found.notes, *said)) if unknown else found

    def text(self, ref: str) -> str:
        """The whole text of a hit of the last search, as far as it is indexed."""
        with self._turn:
            if self._index is not None:
                return query.whole(self._index.db, ref)
        from lumen_tui.queries.search.scan import everything

        return next((doc.text for doc in everything(self._layout) if doc.ref == ref), "")

    def around(self, ref: str) -> list[tuple[str, str, str]]:
        """(id, by, text) of what was said around a hit in a conversation."""
        with self._turn:
            return query.around(self._talk.db, ref, _AROUND) if self._talk is not None else []

    def _noted(self, wish: Wish, now: float, units: Sequence[str]) -> Found:
        if self._index is None:
            self._index = SearchIndex(self._layout)
        found = _asked(self._index, wish, now, units)
        return replace(found, notes=(*found.notes, IN_MEMORY)) if self._index.in_memory else found

    def _said(self, wish: Wish, now: float, units: Sequence[str]) -> Found:
        from lumen_tui.queries.search.conversations import ConversationIndex

        if self._talk is None:
            self._talk = ConversationIndex(self._layout, most=self._talk_bytes)
        self._talk.progress = self.progress
        found = _asked(self._talk, wish, now, units)
        return replace(found, more=True, notes=(*found.notes, self._talk.behind)) if self._talk.behind else found

    def _read(self, wish: Wish, now: float, units: Sequence[str]) -> Found:
        from lumen_tui.queries.search.scan import scan

        if wish.conversations:
            return Found(notes=("this Python's sqlite3 has no FTS5: conversations cannot be searched with it",))
        return scan(self._layout, wish, now, units)

    def _knows(self, wu_id: str) -> bool:
        """Whether the work unit exists, or any record is about it."""
        if self._layout.work_unit(wu_id).exists():
            return True
        from lumen_tui.queries.trail.trail import Trail

        with Trail(self._layout) as trail:
            return trail.knows(wu_id)

    def _lane_units(self, lane: str) -> list[str]:
        if not lane:
            return []
        from lumen_tui.store.work.work_units import list_units

        return [unit.id for unit in list_units(self._layout)[0] if unit.lane == lane]


def _asked(index: SearchIndex, wish: Wish, now: float, units: Sequence[str]) -> Found:
    """The answer; of an index that is made anew, where this one turns out to be damaged."""
    import sqlite3

    try:
        index.refresh(now)
        return query.ask(index.db, wish, now, units)
    except sqlite3.DatabaseError:
        index.begin_again()
    try:
        index.refresh(now)
        return query.ask(index.db, wish, now, units)
    except sqlite3.DatabaseError as error:
        raise files.StoreError(f"index/{index.NAME}.db cannot be used ({error}): delete it, it is made anew") from error


def search(layout: Layout, wish: Wish, now: float) -> Found:
    """One question."""
    with Searcher(layout) as searcher:
        return searcher.search(wish, now)
