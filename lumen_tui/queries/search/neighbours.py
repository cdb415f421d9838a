"""What stands beside the hits of a search: turns of the same session, which the hits lift, and what they are linked to.

An answer often has none of the words of the question that it answers: it comes a turn or two after them. So each of the
best hits gives a part of its bm25 to the turns around it, and a session with many hits a little to all of these.
docs/memory.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lumen_tui.model.search_weights import SearchWeights
from lumen_tui.model.searching import Parts
from lumen_tui.model.text import one_line
from lumen_tui.queries.search.documents import COLUMNS, IndexedDocument

if TYPE_CHECKING:
    import sqlite3

_BEST = 100  # hits by bm25 that lift what is beside them
_STEPS = (1.0, 0.5, 0.5)  # of what is given to what is one, two and three turns away
_FROM = 5  # best hits whose links are followed
_EDGES = 8  # links of one hit that are followed
_ROW = ", ".join(f"docs.{name}" for name in ("id", *COLUMNS[:-1]))  # all but the text
Value = str | float | int  # of a condition


class RankedDocument(NamedTuple):
    """A candidate, and of neighbours which hit it is beside, and how."""

    number: int  # its id in the index
    doc: IndexedDocument  # without its text
    score: float
    parts: Parts
    neighbour_of: str = ""
    link: str = ""


class Lift(NamedTuple):
    """What the hits beside a document add to its bm25; the most of it from `ref`, to which it is as `link` says."""

    total: float
    ref: str
    link: str


def marks(values: Sequence[Value]) -> str:
    """Return the place-holders of so many values."""
    return ", ".join("?" * len(values))


def read_rows(
    db: sqlite3.Connection, numbers: Sequence[int], where: str = "", values: Sequence[Value] = ()
) -> dict[int, IndexedDocument]:
    """Return the documents with these numbers that the filters let through."""
    if not numbers:
        return {}
    narrow = f" AND {where}" if where else ""
    sql = f"SELECT {_ROW} FROM docs WHERE id IN ({marks(numbers)}){narrow}"  # noqa: S608 - made of constants
    return {number: IndexedDocument(*columns) for number, *columns in db.execute(sql, (*numbers, *values))}


def lift(
    db: sqlite3.Connection,
    candidates: Sequence[tuple[int, float]],
    rows: dict[int, IndexedDocument],
    weights: SearchWeights,
) -> dict[int, Lift]:
    """Return what the best candidates, (number, bm25), add to the turns of their sessions."""
    given: dict[int, list[tuple[float, str, str]]] = {}
    sums: dict[str, float] = {}
    session_of: dict[int, str] = {}
    for number, bm25 in candidates[:_BEST]:
        doc = rows.get(number)
        if doc is None or not doc.session:
            continue
        sums[doc.session] = sums.get(doc.session, 0.0) + bm25
        session_of[number] = doc.session
        for other, steps, link in _turns(db, number, doc):
            session_of[other] = doc.session
            given.setdefault(other, []).append((bm25 * weights.beside * _STEPS[steps - 1], doc.ref, link))
    most = max(sums.values(), default=0.0)
    best = weights.session * max((bm25 for _, bm25 in candidates), default=0.0)
    lifted = {}
    for number, session in session_of.items():
        gifts = given.get(number, [])
        share = best * sums[session] / most if most and len(sums) > 1 else 0.0
        lifted[number] = Lift(sum(gift for gift, _, _ in gifts) + share, *max(gifts, default=(0.0, "", ""))[1:])
    return lifted


def _turns(db: sqlite3.Connection, number: int, doc: IndexedDocument) -> Iterator[tuple[int, int, str]]:
    """Yield (id, steps, how) of what came right before and after a document in its session."""
    for sign, order, words in (("<", "DESC", "before it in the session"), (">", "ASC", "after it in the session")):
        sql = (
            f"SELECT id FROM docs WHERE session = ? AND session != '' AND (at, id) {sign} (?, ?) "  # noqa: S608
            f"ORDER BY at {order}, id {order} LIMIT {len(_STEPS)}"
        )
        for steps, (other,) in enumerate(db.execute(sql, (doc.session, doc.at, number)).fetchall(), start=1):
            yield other, steps, words if steps == 1 else f"{steps} {words}"


def linked(
    db: sqlite3.Connection, ranked: Sequence[RankedDocument], where: str, values: list[Value], weights: SearchWeights
) -> list[RankedDocument]:
    """Return what relationships link the best hits to, with a part of their score."""
    known = {entry.number for entry in ranked}
    linked_documents: dict[int, RankedDocument] = {}
    for hit in [entry for entry in ranked if not entry.neighbour_of][:_FROM]:
        links = [(number, link) for number, link in _edges(db, hit) if number not in known]
        allowed = read_rows(db, [number for number, _ in links], where, values)
        for number, link in links:
            if number in allowed:
                doc = allowed[number]
                near = round(hit.score * weights.linked, 4), Parts(importance=doc.importance), hit.doc.ref, link
                linked_documents.setdefault(number, RankedDocument(number, doc, *near))
    return list(linked_documents.values())


def _edges(db: sqlite3.Connection, hit: RankedDocument) -> Iterator[tuple[int, str]]:
    """Yield (id, how) of what a document is linked to."""
    for start, finish, words in (("start", "finish", "{}"), ("finish", "start", "{} of this")):
        sql = (
            f"SELECT docs.id, edges.kind FROM edges JOIN docs ON docs.ref = edges.{finish} "  # noqa: S608 - constants
            f"WHERE edges.{start} = ? LIMIT {_EDGES}"
        )
        for number, kind in db.execute(sql, (hit.doc.ref,)):
            yield number, words.format(one_line(kind, 40).replace("_", " ") or "linked")
