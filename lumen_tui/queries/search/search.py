"""The one way in to a search: notes and records, or what was said in conversations.

For systems whose sqlite3 has no FTS5, every text is read: that is slow, and without stemming.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lumen_tui.model.search_weights import SHIPPED, SearchWeights
from lumen_tui.model.searching import Found, Hit, SearchQuery, score
from lumen_tui.queries.search import documents as rows
from lumen_tui.queries.search import query
from lumen_tui.queries.search.documents import IndexedDocument
from lumen_tui.queries.search.index import NoFullText, SearchIndex
from lumen_tui.queries.search.neighbours import RankedDocument
from lumen_tui.queries.search.query import hit_of
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.tasks.task_records import archive_months, exit_stamp, task_names
from lumen_tui.store.work.work_units import list_units, unit_files

if TYPE_CHECKING:
    from lumen_tui.queries.search.conversations import ConversationIndex

CONVERSATION_BYTES = 256 * 1024 * 1024  # of new conversations that one search reads
_AROUND = 4  # parts of a conversation on each side of the one that was found
IN_MEMORY = "the index cannot be kept in index/: it was made in memory, which each search does again"
Progress = Callable[[int, int], None]  # bytes that were taken in, and all of them
NOTE = "this Python's sqlite3 has no FTS5: every text was read, word forms and neighbours were not looked at"


class Searcher:
    """Answers one question after another; what it holds open is worth keeping between them."""

    def __init__(
        self,
        layout: Layout,
        *,
        conversation_bytes: int = CONVERSATION_BYTES,
        with_units: bool = False,
        weights: SearchWeights | None = None,
    ) -> None:
        """`with_units`: work units are among the hits, for people; an agent has a tool of its own for them.

        Without `weights`: those in force.
        """
        self._weights = Stamped(lambda: [layout.champion], lambda: weights or weights_in_force(layout))
        self._layout, self._conversation_bytes, self._with_units = layout, conversation_bytes, with_units
        self._units = Stamped(lambda: unit_files(layout), lambda: _unit_documents(layout))
        self._index: SearchIndex | None = None
        self._conversation_index: ConversationIndex | None = None
        self.progress: Progress | None = None
        self._lock = threading.RLock()  # a room asks from several threads

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            for index in (self._index, self._conversation_index):
                if index is not None:
                    index.close()
            self._index = self._conversation_index = None

    def search(self, wish: SearchQuery, now: float, *, refresh: bool = True) -> Found:
        """Return the best hits. An empty query finds nothing.

        Without `refresh` notes and records are those of the last search, for who asks many times a second.
        """
        if wish.empty or wish.problems:
            return Found(notes=wish.problems)
        units = self._lane_units(wish.lane)
        with self._lock:
            try:
                answer = (
                    self._search_conversations(wish, now, units)
                    if wish.conversations
                    else self._search_documents(wish, now, units, refresh=refresh)
                )
            except NoFullText:
                answer = self._scan(wish, now, units)
            units_found = self._units_found(wish, now, refresh=refresh)
        if units_found is not None:
            answer = _joined(answer, units_found, wish)
        unknown = () if answer.hits else tuple(name for name in wish.wus if not self._knows(name))
        notes = (f"no work unit {name} is known here: `wu list` names them" for name in unknown)
        return replace(answer, unknown=unknown, notes=(*answer.notes, *notes)) if unknown else answer

    def text(self, ref: str) -> str:
        """Return the whole text of a hit of the last search, as far as it is indexed."""
        with self._lock:
            if self._index is not None:
                return query.document_text(self._index.db, ref)

        return next((doc.text for doc in all_documents(self._layout) if doc.ref == ref), "")

    def surroundings(self, ref: str) -> list[tuple[str, str, str]]:
        """Return (id, by, text) of what was said around a hit in a conversation."""
        with self._lock:
            return (
                query.surroundings(self._conversation_index.db, ref, _AROUND)
                if self._conversation_index is not None
                else []
            )

    def _weights_now(self) -> SearchWeights:
        self._weights.refresh()
        return self._weights.value

    def _search_documents(self, wish: SearchQuery, now: float, units: Sequence[str], *, refresh: bool) -> Found:
        if self._index is None:
            self._index, refresh = SearchIndex(self._layout), True
        self._index.progress = self.progress
        answer = _answer(self._index, wish, now, units, self._weights_now(), refresh=refresh)
        return replace(answer, notes=(*answer.notes, IN_MEMORY)) if self._index.in_memory else answer

    def _units_found(self, wish: SearchQuery, now: float, *, refresh: bool) -> Found | None:
        """Return the work units in which every word is; that which is named by its id stands first."""
        if not self._with_units or wish.conversations:
            return None
        if refresh:
            self._units.refresh()
        single = {term for term in wish.terms if " " not in term}
        likely = (doc for doc, lowered in self._units.value if not lowered or all(term in lowered for term in single))
        matches = [(doc, _counts(doc, wish)) for doc in likely if _is_wanted(doc, wish, ())]
        return _ranked([(doc, counts) for doc, counts in matches if single <= counts.keys()], wish, now)

    def _search_conversations(self, wish: SearchQuery, now: float, units: Sequence[str]) -> Found:
        from lumen_tui.queries.search.conversations import ConversationIndex

        if self._conversation_index is None:
            self._conversation_index = ConversationIndex(self._layout, most=self._conversation_bytes)
        self._conversation_index.progress = self.progress
        answer = _answer(self._conversation_index, wish, now, units, self._weights_now())
        return (
            replace(answer, more=True, notes=(*answer.notes, self._conversation_index.behind))
            if self._conversation_index.behind
            else answer
        )

    def _scan(self, wish: SearchQuery, now: float, units: Sequence[str]) -> Found:

        if wish.conversations:
            return Found(notes=("this Python's sqlite3 has no FTS5: conversations cannot be searched with it",))
        return scan(self._layout, wish, now, units)

    def _knows(self, wu_id: str) -> bool:
        """Return whether the work unit exists, or any record is about it."""
        if self._layout.work_unit(wu_id).exists():
            return True
        from lumen_tui.queries.trail import Trail

        with Trail(self._layout) as trail:
            return trail.knows(wu_id)

    def _lane_units(self, lane: str) -> list[str]:
        if not lane:
            return []
        return [unit.id for unit in list_units(self._layout)[0] if unit.lane == lane]


def weights_in_force(layout: Layout) -> SearchWeights:
    """Return what the version of evolved edits in force weighs hits by; the shipped ones where it cannot be read."""
    if not layout.champion.exists():
        return SHIPPED
    from lumen_tui.store.evolution import champions  # of few folders, and not of a search's start

    return champions.read_current(layout).weights()


def _answer(
    index: SearchIndex,
    wish: SearchQuery,
    now: float,
    units: Sequence[str],
    weights: SearchWeights,
    *,
    refresh: bool = True,
) -> Found:
    """Return the answer; the index is built again where it turns out to be damaged."""
    import sqlite3

    try:
        if refresh:
            index.refresh(now)
        return query.ask(index.db, wish, now, units, weights)
    except sqlite3.DatabaseError:
        index.begin_again()
    try:
        index.refresh(now)
        return query.ask(index.db, wish, now, units, weights)
    except sqlite3.DatabaseError as error:
        raise files.StoreError(
            f"index/{index.NAME}.db cannot be used ({error}): delete it, it is built again"
        ) from error


def search(layout: Layout, wish: SearchQuery, now: float) -> Found:
    """Answer one query."""
    with Searcher(layout) as searcher:
        return searcher.search(wish, now)


def scan(layout: Layout, wish: SearchQuery, now: float, lane_units: Sequence[str] = ()) -> Found:
    """Answer as `query.ask` does, from the files themselves."""
    matches = [(doc, _counts(doc, wish)) for doc in all_documents(layout) if _is_wanted(doc, wish, lane_units)]
    answer = _ranked([(doc, counts) for doc, counts in matches if not wish.terms or counts], wish, now)
    return replace(answer, notes=(NOTE,))


def _ranked(matches: Sequence[tuple[IndexedDocument, dict[str, int]]], wish: SearchQuery, now: float) -> Found:
    """Return what matched, the best first; `matches` have how often each term is in them."""
    rare = {
        term: math.log(1 + len(matches) / (1 + sum(term in counts for _, counts in matches))) for term in wish.terms
    }
    weights = [sum(rare[term] * (1 + math.log(count)) for term, count in counts.items()) for _, counts in matches]
    best = max(weights, default=0.0)
    ranked = [
        (*score(weight, best, doc.importance, now - doc.at), doc, counts)
        for weight, (doc, counts) in zip(weights, matches, strict=True)
    ]
    ranked.sort(key=lambda entry: (-entry[0], -entry[2].at))
    hits = [
        hit_of(RankedDocument(0, doc, total, parts), _highlighted(doc.text, counts), tuple(counts))
        for total, parts, doc, counts in ranked[: wish.limit]
    ]
    return Found(hits=tuple(hits), matches=len(matches))


def _unit_documents(layout: Layout) -> list[tuple[IndexedDocument, str]]:
    """Return each work unit, with its text in small letters; without that where case is more than small letters."""
    docs = [rows.unit(unit) for unit in list_units(layout)[0]]
    return [(doc, text.lower() if (text := f"{doc.text}\n{doc.tags}").isascii() else "") for doc in docs]


def _named(hit: Hit, wish: SearchQuery) -> bool:
    """Return whether a hit is the work unit that the query names."""
    return hit.type == "unit" and (hit.ref in wish.wus or hit.ref.casefold().replace("-", " ") in wish.terms)


def _joined(answer: Found, units: Found, wish: SearchQuery) -> Found:
    """Return both answers as one, the best first."""
    hits = sorted((*answer.hits, *units.hits), key=lambda hit: (not _named(hit, wish), -hit.score))
    return replace(answer, hits=tuple(hits[: wish.limit]), matches=answer.matches + units.matches)


def all_documents(layout: Layout) -> Iterator[IndexedDocument]:
    """Yield all documents."""
    yield from rows.journal_docs(layout)
    for folder in (layout.tasks, *(month for _, month, _ in archive_months(layout.archive))):
        for name in task_names(folder):
            if exit_stamp(folder / name):
                yield rows.task(folder / name)


def _pattern(terms: Sequence[str]) -> re.Pattern[str]:
    alternatives = [r"[\W_]+".join(map(re.escape, term.split())) for term in sorted(terms, key=len, reverse=True)]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(alternatives)})", re.I)


def _counts(doc: IndexedDocument, wish: SearchQuery) -> dict[str, int]:
    """Count how often each term is in a document, as the beginning of a word."""
    text = f"{doc.text}\n{doc.tags}"
    if wish.without and _pattern(wish.without).search(text):
        return {}
    counts = {term: len(_pattern((term,)).findall(text)) for term in wish.terms}
    return {term: count for term, count in counts.items() if count}


def _highlighted(text: str, counts: dict[str, int]) -> str:
    return _pattern(tuple(counts)).sub(lambda match: f"\x01{match.group()}\x02", text) if counts else text


def _is_wanted(doc: IndexedDocument, wish: SearchQuery, lane_units: Sequence[str]) -> bool:
    listed = ((doc.type, wish.types), (doc.kind, wish.kinds), (doc.wu, wish.wus))
    return (
        all(value in allowed for value, allowed in listed if allowed)
        and all(f"|{tag}|" in doc.tags for tag in wish.tags)
        and (not wish.lane or doc.lane == wish.lane or doc.wu in lane_units)
        and doc.at >= wish.since
        and not (wish.until and not 0 < doc.at < wish.until)
    )
