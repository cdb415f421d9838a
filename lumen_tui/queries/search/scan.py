"""A search without an index, for systems whose sqlite3 has no FTS5: every text is read. Slow, and without stemming."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from lumen_tui.model.searching import Found, SearchQuery, score
from lumen_tui.queries.search import documents as rows
from lumen_tui.queries.search.documents import IndexedDocument
from lumen_tui.queries.search.query import hit_of
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import archive_months, exit_stamp, task_names

NOTE = "this Python's sqlite3 has no FTS5: every text was read, word forms and neighbours were not looked at"


def scan(layout: Layout, wish: SearchQuery, now: float, lane_units: Sequence[str] = ()) -> Found:
    """Answer as `query.ask` does, from the files themselves."""
    matches = [(doc, _counts(doc, wish)) for doc in everything(layout) if _allowed(doc, wish, lane_units)]
    matches = [(doc, counts) for doc, counts in matches if not wish.terms or counts]
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
        hit_of(doc._asdict(), _highlighted(doc.text, counts), total, parts, tuple(counts))
        for total, parts, doc, counts in ranked[: wish.limit]
    ]
    return Found(hits=tuple(hits), matches=len(matches), notes=(NOTE,))


def everything(layout: Layout) -> Iterator[IndexedDocument]:
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


def _allowed(doc: IndexedDocument, wish: SearchQuery, lane_units: Sequence[str]) -> bool:
    listed = ((doc.type, wish.types), (doc.kind, wish.kinds), (doc.wu, wish.wus))
    return (
        all(value in allowed for value, allowed in listed if allowed)
        and all(f"|{tag}|" in doc.tags for tag in wish.tags)
        and (not wish.lane or doc.lane == wish.lane or doc.wu in lane_units)
        and doc.at >= wish.since
        and not (wish.until and not 0 < doc.at < wish.until)
    )
