"""Questions to a search index: the words as FTS5 takes them, candidates by bm25, neighbours, the reasons of each hit.

Terms are quoted before they reach FTS5, so that no word of a query is an operator, a column or an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lumen_tui.model.search_weights import SHIPPED, SearchWeights
from lumen_tui.model.searching import Found, Hit, SearchQuery, close_up, excerpt, score
from lumen_tui.model.text import one_line
from lumen_tui.queries.search import neighbours
from lumen_tui.queries.search.documents import IndexedDocument
from lumen_tui.queries.search.neighbours import Lift, RankedDocument, Value, marks, read_rows

if TYPE_CHECKING:
    import sqlite3

_CANDIDATES = 300  # by bm25, from which importance and recency choose
_COUNTED = 1000  # matches; beyond that there are "more"
_COMMON = 0.2  # of all documents: terms in more of them say little
_LARGE = 5000  # documents from which words that are too common are left out
_BM25 = "bm25(words, 1.0, 2.0)"  # of text and tags; less is better
_ON, _OFF = "\x01", "\x02"  # around matches; `safe` leaves neither in a text


def quote(term: str) -> str:
    """Return a term as FTS5 takes it: a string, whatever is in it."""
    return '"' + term.replace('"', '""') + '"'


def expression(terms: Sequence[str], wish: SearchQuery) -> str:
    """Return an expression for any of the terms, the one being typed as a prefix, and none of the excluded ones."""
    alternatives = [quote(term) + (f" OR {quote(term)} *" if term == wish.begun else "") for term in terms]
    either = f"({' OR '.join(alternatives)})"
    return f"{either} NOT ({' OR '.join(map(quote, wish.without))})" if wish.without else either


def ask(
    db: sqlite3.Connection,
    wish: SearchQuery,
    now: float,
    lane_units: Sequence[str] = (),
    weights: SearchWeights = SHIPPED,
) -> Found:
    """Search the index at one moment of it. `lane_units` are the work units of the lane that was asked for."""
    db.execute("BEGIN")  # else each statement takes the lock of the file, and may see another moment
    with db:
        return _ask(db, wish, now, lane_units, weights)


def _ask(
    db: sqlite3.Connection, wish: SearchQuery, now: float, lane_units: Sequence[str], weights: SearchWeights
) -> Found:
    where, values = _narrowing(wish, lane_units)
    terms, dropped = _selective_terms(db, wish)
    match = expression(terms, wish) if terms else ""
    candidates = _matching(db, match, where, values) if match else _newest(db, where, values)
    rows = read_rows(db, [number for number, _ in candidates])
    lifted = neighbours.lift(db, candidates, rows, weights) if match else {}
    rows |= read_rows(db, [number for number in lifted if number not in rows], where, values)
    own = dict(candidates)
    totals = {number: own.get(number, 0.0) + (lifted[number].total if number in lifted else 0.0) for number in rows}
    best = max(totals.values(), default=0.0)
    ranked = [
        _ranked((number, rows[number]), own.get(number, 0.0), lifted.get(number), best, now, weights) for number in rows
    ]
    ranked.sort(key=lambda entry: (-entry.score, -entry.doc.at))
    linked = neighbours.linked(db, ranked, where, values, weights) if wish.terms else []
    nearest = sorted(linked, key=lambda entry: -entry.score)[: max(1, wish.limit // 3)]
    chosen = sorted([*ranked, *nearest], key=lambda entry: -entry.score)[: wish.limit]
    hits = tuple(_hits(db, chosen, terms, match, wish))
    is_all = bool(where) or len(candidates) < _CANDIDATES
    matches = _count(db, match) if match and not is_all else len(candidates)
    return Found(hits=hits, matches=matches, dropped=dropped)


def _narrowing(wish: SearchQuery, lane_units: Sequence[str]) -> tuple[str, list[Value]]:
    """Return the filters as a condition on `docs`, with its values."""
    parts: list[str] = []
    values: list[Value] = []
    for column, allowed in (("type", wish.types), ("kind", wish.kinds), ("wu", wish.wus)):
        if allowed:
            parts.append(f"docs.{column} IN ({marks(allowed)})")
            values += allowed
    if wish.wus:
        parts.append("docs.wu != ''")  # as the index of work units has it
    for tag in wish.tags:
        parts.append("instr(docs.tags, ?) > 0")
        values.append(f"|{tag}|")
    if wish.lane:
        parts.append(f"(docs.lane = ? OR docs.wu IN ({marks(lane_units)}))")
        values += [wish.lane, *lane_units]
    if wish.since or wish.until:  # without a date, `at` is 0: in no stretch of time
        parts.append("docs.at > 0")
    for sign, moment in ((">=", wish.since), ("<", wish.until)):
        if moment:
            parts.append(f"docs.at {sign} ?")
            values.append(moment)
    return " AND ".join(parts), values


def _selective_terms(db: sqlite3.Connection, wish: SearchQuery) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms to look for, and those that nearly every document has; all terms where there are no others."""
    if len(wish.terms) < 2:
        return wish.terms, ()
    total = db.execute("SELECT max(id) FROM docs").fetchone()[0] or 0
    if total < _LARGE:
        return wish.terms, ()
    bound = int(total * _COMMON)
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    common = [term for term in wish.terms if db.execute(counted, (quote(term), bound)).fetchone()[0] >= bound]
    rare = tuple(term for term in wish.terms if term not in common)
    return (rare, tuple(common)) if rare else (wish.terms, ())


def _matching(db: sqlite3.Connection, match: str, where: str, values: list[Value]) -> list[tuple[int, float]]:
    """Return (id, bm25) of the best candidates."""
    if not where:
        sql = f"SELECT rowid, -{_BM25} AS found FROM words WHERE words MATCH ? ORDER BY found DESC LIMIT ?"  # noqa: S608
        return db.execute(sql, (match, _CANDIDATES)).fetchall()
    sql = (
        f"SELECT words.rowid, -{_BM25} AS found FROM words CROSS JOIN docs ON docs.id = words.rowid "  # noqa: S608
        f"WHERE words MATCH ? AND {where} ORDER BY found DESC LIMIT ?"
    )
    return db.execute(sql, (match, *values, _CANDIDATES)).fetchall()


def _newest(db: sqlite3.Connection, where: str, values: list[Value]) -> list[tuple[int, float]]:
    if not where:
        return []
    sql = f"SELECT id, 0.0 FROM docs WHERE {where} ORDER BY at DESC LIMIT ?"  # noqa: S608 - made of constants
    return db.execute(sql, (*values, _CANDIDATES)).fetchall()


def _count(db: sqlite3.Connection, match: str) -> int:
    sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(db.execute(sql, (match, _COUNTED + 1)).fetchone()[0])


def _ranked(
    place: tuple[int, IndexedDocument], bm25: float, lift: Lift | None, best: float, now: float, weights: SearchWeights
) -> RankedDocument:
    number, doc = place
    total, parts = score(bm25, best, doc.importance, now - doc.at, lift.total if lift else 0.0, weights)
    if lift is None or bm25 > 0:
        return RankedDocument(number, doc, total, parts)
    return RankedDocument(number, doc, total, parts, lift.ref, lift.link)


def _hits(
    db: sqlite3.Connection, chosen: Sequence[RankedDocument], terms: Sequence[str], match: str, wish: SearchQuery
) -> Iterator[Hit]:
    numbers = [entry.number for entry in chosen]
    marked = dict(_marked(db, numbers, match)) if match else {}
    if len(terms) == 1 and not wish.without:  # what matches has this one
        matched = dict.fromkeys(marked, tuple(terms))
    else:
        matched = _matched(db, numbers, terms, wish.begun)
    texts = _texts(db, [number for number in numbers if number not in marked])
    for entry in chosen:
        text = marked.get(entry.number, texts.get(entry.number, ""))
        yield hit_of(entry, text, matched.get(entry.number, ()))


def _texts(db: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, str]:
    sql = f"SELECT id, text FROM docs WHERE id IN ({marks(numbers)})"  # noqa: S608
    return dict(db.execute(sql, numbers)) if numbers else {}


def _matched(
    db: sqlite3.Connection, numbers: Sequence[int], terms: Sequence[str], begun: str
) -> dict[int, tuple[str, ...]]:
    """Return which of the terms are in which documents."""
    matched: dict[int, tuple[str, ...]] = {}
    sql = f"SELECT rowid FROM words WHERE words MATCH ? AND rowid IN ({marks(numbers)})"  # noqa: S608
    for term in terms if numbers else ():
        for (number,) in db.execute(sql, (quote(term) + (" *" if term == begun else ""), *numbers)):
            matched[number] = (*matched.get(number, ()), term)
    return matched


def _marked(db: sqlite3.Connection, numbers: Sequence[int], match: str) -> Iterable[tuple[int, str]]:
    """Return the texts with marks around what matched; of the tags nothing is shown."""
    sql = (
        f"SELECT rowid, highlight(words, 0, ?, ?) FROM words WHERE words MATCH ? "  # noqa: S608
        f"AND rowid IN ({marks(numbers)})"
    )
    return db.execute(sql, (_ON, _OFF, match, *numbers)).fetchall() if numbers else ()


def pieces(marked: str) -> list[tuple[str, bool]]:
    """Split a marked text into pieces, each with whether it matched."""
    segments: list[tuple[str, bool]] = []
    for part in marked.split(_ON):
        inside, off, outside = part.partition(_OFF)
        segments += [(inside, True), (outside, False)] if off else [(part, False)]
    return [(close_up(text), hit) for text, hit in segments if text]


def hit_of(entry: RankedDocument, marked: str, matched: tuple[str, ...]) -> Hit:
    """Return a hit from a document and its marked text."""
    doc = entry.doc
    first = close_up(marked.partition("\n")[0].replace(_ON, "").replace(_OFF, ""))
    return Hit(
        ref=doc.ref,
        type=doc.type,
        kind=doc.kind,
        at=doc.at,
        title=one_line(first, 120),
        excerpt=excerpt(pieces(marked)),
        score=entry.score,
        parts=entry.parts,
        matched=matched,
        neighbour_of=entry.neighbour_of,
        link=entry.link,
        status=doc.status,
        tags=tuple(tag for tag in doc.tags.split("|") if tag),
        wu_id=doc.wu,
        lane=doc.lane,
        session=doc.session,
        by=doc.by,
        source=doc.source,
        trust=doc.trust,
        place=doc.place,
    )


def document_text(db: sqlite3.Connection, ref: str) -> str:
    """Return the text of one document; empty where there is none."""
    row = db.execute("SELECT text FROM docs WHERE ref = ?", (ref,)).fetchone()
    return close_up(row[0]) if row else ""


def surroundings(db: sqlite3.Connection, ref: str, count: int) -> list[tuple[str, str, str]]:
    """Return (id, by, text) of one part of a conversation, with what was said right before and after it."""
    row = db.execute("SELECT id, session, at FROM docs WHERE ref = ?", (ref,)).fetchone()
    if row is None:
        return []
    number, session, at = row
    parts: list[tuple[str, str, str]] = []
    for sign, order in (("<=", "DESC"), (">", "ASC")):
        sql = (
            f"SELECT ref, by, text FROM docs WHERE session = ? AND session != '' AND (at, id) {sign} (?, ?) "  # noqa: S608
            f"ORDER BY at {order}, id {order} LIMIT ?"
        )
        rows = db.execute(sql, (session, at, number, count + (sign == "<="))).fetchall()
        parts += rows[::-1] if sign == "<=" else rows
    return [(name, by, close_up(text)) for name, by, text in parts]
