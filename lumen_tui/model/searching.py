"""A search as values: what was asked, what was found, and how hits are ranked. No files, no clock.

A query is words in any order, of which any may be missing; "words in quotes" stand together; !word leaves out;
tag: wu: lane: type: kind: since: until: and in:conversations narrow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from lumen_tui.model import ids, times
from lumen_tui.model.archive import KINDS
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.search_weights import SHIPPED, SearchWeights

TYPES = (
    "session",
    "discovery",
    "checkpoint",
    "note",
    "summary",
    "fact",
    "archival",
    "signal",
    "packet",
    "task",
    "unit",
    "conversation",
)
LIMIT, MOST = 10, 200  # hits, where nobody says how many, and at most
MOST_TERMS = 24
_COMMON = (
    "a about after all also am an and any are as at be because been before being but by can could did do does doing "
    "for from had has have having he her here him his how i if in into is it its just me more most my no nor not of "
    "on or other our out over she should so some such than that the their them then there these they this those to "
    "too up us was we were what when where which while who whom why will with would you your"
)
_STOP = frozenset(_COMMON.split())
_PART = lazy_re(r'(!?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))')
_TOKEN = lazy_re(r"[^\W_]+")
# compiled where a text needs it: its table takes 2 ms
_UNSPACED = "([\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
_DATE = lazy_re(r"\d{4}-\d\d-\d\d")


class SearchQuery(Struct, frozen=True):
    """A parsed query. Each term is one word, or several next to each other; times are in seconds since 1970."""

    terms: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    begun: str = ""  # the last word, where it is still being typed
    tags: tuple[str, ...] = ()
    wus: tuple[str, ...] = ()
    lane: str = ""
    types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: float = 0.0
    until: float = 0.0
    conversations: bool = False
    limit: int = LIMIT
    problems: tuple[str, ...] = ()  # what cannot be understood, in sentences

    @property
    def empty(self) -> bool:
        """Whether nothing at all is asked for."""
        return not (self.terms or self.narrowed)

    @property
    def narrowed(self) -> bool:
        """Whether more than the words decides."""
        return bool(self.tags or self.wus or self.lane or self.types or self.kinds or self.since or self.until)


class Parts(Struct, frozen=True):
    """What a score is made of, each from 0 to 1; and what relevance comes from: its bm25, and what is beside it."""

    bm25: float = 0.0
    relevance: float = 0.0
    importance: float = 0.0
    recency: float = 0.0
    beside: float = 0.0


class Hit(Struct, frozen=True):
    """One thing that was found. Texts are safe; `excerpt` is pieces of one line, each with whether it matched."""

    ref: str
    type: str
    kind: str
    at: float
    title: str
    excerpt: tuple[tuple[str, bool], ...]
    score: float
    parts: Parts
    matched: tuple[str, ...] = ()
    neighbour_of: str = ""
    link: str = ""  # how it is related to that
    status: str = ""
    tags: tuple[str, ...] = ()
    wu_id: str = ""
    lane: str = ""
    session: str = ""
    by: str = ""
    source: str = ""
    trust: str = ""
    place: str = ""  # of a conversation: file and line


class Found(Struct, frozen=True):
    """The answer: the best hits first. `notes` are sentences on how it was come by, where that was unusual."""

    hits: tuple[Hit, ...] = ()
    matches: int = 0  # things that have any of the words; counted up to a bound
    notes: tuple[str, ...] = ()
    more: bool = False  # conversations are still to be read: the same question later may find more
    dropped: tuple[str, ...] = ()  # words that are too common to tell anything
    unknown: tuple[str, ...] = ()  # work units that were asked for and that nothing is known of; told in `notes`


def spread(text: str) -> str:
    """Return `text` with blanks around the letters of scripts that have none between words, so that each is a token."""
    return text if text.isascii() else re.sub(_UNSPACED, r" \1 ", text)


def close_up(text: str) -> str:
    """Return what `spread` put apart as it was, near enough to be read."""
    return text if text.isascii() else re.sub(f" {_UNSPACED} ", r"\1", text)


def tokens(text: str) -> list[str]:
    """Return the words of a text as an index takes them, not stemmed."""
    return _TOKEN.findall(spread(text).casefold())


def parse(text: str, now: float, *, limit: int = LIMIT, typing: bool = False) -> SearchQuery:
    """Parse a query. `typing`: its last word may be the beginning of one."""
    query = SearchQuery(limit=max(1, min(limit, MOST)))
    for match in _PART.finditer(text[:2000]):
        bang, field, quoted, word = match.groups()
        value = quoted if quoted is not None else word
        if not field and value[-1:] == ":" and value[:-1] in _FIELDS:
            continue  # a filter that is being typed
        if field in _FIELDS and not bang and value:
            query = _FIELDS[field](query, value, now)
        elif bang:
            query = replace(query, without=(*query.without, *_phrases(f"{field or ''} {value}")))
        else:
            whole = quoted is not None and not field
            query = replace(query, terms=(*query.terms, *_terms(f"{field or ''} {value}", whole=whole)))
    terms = _telling(query.terms)[:MOST_TERMS]
    ends = text.casefold()
    begun = terms[-1] if typing and terms and len(terms[-1]) > 1 and ends.endswith(terms[-1]) else ""
    if 0 < query.until <= query.since:
        query = _wrong(query, "since: is not before until:, so nothing can lie between them: turn them round")
    return replace(query, terms=terms, begun=begun)


def _phrases(text: str) -> tuple[str, ...]:
    phrase = " ".join(tokens(text))
    return (phrase[:200],) if phrase else ()


def _terms(text: str, *, whole: bool) -> tuple[str, ...]:
    """Return one term for what was in quotes; else each word, and what was joined by signs as one as well."""
    if whole:
        return _phrases(text)
    words = [word[:64] for word in tokens(text)]
    return (*_phrases(text), *words) if len(words) > 1 and spread(text) == text else tuple(words)


def _telling(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the terms without those that every text has, unless there are no others."""
    known = tuple(dict.fromkeys(terms))
    return tuple(term for term in known if term not in _STOP) or known


def _tag(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return replace(query, tags=(*query.tags, value.casefold()))


def _wu(query: SearchQuery, value: str, now: float) -> SearchQuery:
    try:
        return replace(query, wus=(*query.wus, ids.check_wu(value.upper())))
    except ids.BadId:
        return _wrong(query, f"wu:{value[:40]} is no work unit: write it as wu:WU-042")


def _lane(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return replace(query, lane=value)


def _type(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return _words(query, "types", value, TYPES)


def _kind(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return _words(query, "kinds", value, KINDS)


def _words(query: SearchQuery, name: str, value: str, known: tuple[str, ...]) -> SearchQuery:
    values = [word for word in value.casefold().split(",") if word]
    if wrong := [word for word in values if word not in known]:
        return _wrong(query, f"{name[:-1]}:{wrong[0][:40]} is unknown: one of {', '.join(known)}")
    return replace(query, **{name: (*getattr(query, name), *values)})


def _since(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return _moment(query, "since", value, now)


def _until(query: SearchQuery, value: str, now: float) -> SearchQuery:
    return _moment(query, "until", value, now)


def _moment(query: SearchQuery, name: str, value: str, now: float) -> SearchQuery:
    """Set a time: an age counts back from now, a bare date means its beginning, after `until` its end."""
    moment = _read_moment(value, now)
    if moment is not None:
        end = times.DAY if name == "until" and _DATE.fullmatch(value) else 0.0
        return replace(query, **{name: max(moment + end, 0.001)})
    return _wrong(query, f"{name}:{value[:40]} is no age and no date: write 7d, or 2026-01-31")


def _read_moment(value: str, now: float) -> float | None:
    try:
        return times.parse_iso(value) if _DATE.match(value) else now - times.parse_duration(value)
    except (ValueError, OverflowError):
        return None


def _in(query: SearchQuery, value: str, now: float) -> SearchQuery:
    if value.casefold() not in ("conversations", "conversation", "transcripts"):
        return _wrong(query, f"in:{value[:40]} is unknown: in:conversations looks through what was said")
    return replace(query, conversations=True)


def _wrong(query: SearchQuery, text: str) -> SearchQuery:
    return replace(query, problems=(*query.problems, text))


_FIELDS = {
    "tag": _tag,
    "wu": _wu,
    "lane": _lane,
    "type": _type,
    "kind": _kind,
    "since": _since,
    "until": _until,
    "in": _in,
}


def score(
    bm25: float, best: float, importance: float, age: float, beside: float = 0.0, weights: SearchWeights = SHIPPED
) -> tuple[float, Parts]:
    """Return the rank of a hit; nothing of it is below 0.

    `beside` is what the hits around it add to its bm25, `best` the two together of the best one, `age` in seconds.
    """
    relevance = min(1.0, (bm25 + beside) / best) if best > 0 else 0.0
    recency = float(2.0 ** (-max(0.0, age) / times.DAY / weights.half_life))
    total = weights.relevance * relevance + weights.importance * importance + weights.recency * recency
    parts = (round(part, 3) for part in (bm25, relevance, importance, recency, beside))
    return round(total, 4), Parts(*parts)


def why(hit: Hit) -> str:
    """Return the reasons for a rank on one line."""
    parts = hit.parts
    if hit.neighbour_of:
        return f"beside {hit.neighbour_of} ({hit.link}) · score {hit.score:.2f}"
    words = f"{' '.join(hit.matched)} · " if hit.matched else ""
    bm25 = f"{parts.bm25:.1f}" if parts.bm25 >= 0.05 or not parts.relevance else "near 0"
    beside = f" · beside {parts.beside:.1f}" if parts.beside >= 0.05 else ""
    parts_in_words = f"bm25 {bm25}{beside} · importance {parts.importance:.2f} · recency {parts.recency:.2f}"
    return f"{words}{parts_in_words} · score {hit.score:.2f}"


Pieces = Sequence[tuple[str, bool]]  # text, and whether it matched


def excerpt(pieces: Pieces, width: int = 160) -> tuple[tuple[str, bool], ...]:
    """Return the part of a marked text with the most matches in it, on one line of about `width` characters."""
    flat = list(_flat(pieces))
    starts = [at for at, (_, marked, _) in enumerate(flat) if marked]
    begin = max(starts, key=lambda at: _worth(flat, at, width), default=0)
    begin = _back(flat, begin, width // 4)
    shown: list[tuple[str, bool]] = [("… ", False)] if begin else []
    room, end = width, begin
    while end < len(flat) and room > 0:
        word, marked, glued = flat[end]
        room -= len(word) + 1
        blank = "" if glued or not shown or (end == begin) else " "
        shown.append((f"{blank}{word[: width + 1]}", marked))
        end += 1
    if end < len(flat):
        shown.append((" …", False))
    return tuple(_joined(shown))


def _flat(pieces: Pieces) -> Iterator[tuple[str, bool, bool]]:
    """Yield (word, whether it matched, whether it follows the one before it without a blank)."""
    blank = True
    for text, marked in pieces:
        for place, word in enumerate(text.split()):
            yield word, marked, place == 0 and not blank and not text[0].isspace()
        blank = text[-1:].isspace() if text else blank


def _worth(flat: Sequence[tuple[str, bool, bool]], begin: int, width: int) -> float:
    """Return how many different words match within `width` characters; the first of equals wins."""
    seen: set[str] = set()
    room, many = width, 0
    for word, marked, _ in flat[begin:]:
        room -= len(word) + 1
        if room < 0:
            break
        if marked:
            seen.add(word.casefold())
            many += 1
    return len(seen) * 10 + min(many, 9) - begin / (len(flat) + 1)


def _back(flat: Sequence[tuple[str, bool, bool]], begin: int, room: int) -> int:
    """Return a few words before `begin`, all of them where the text begins within reach."""
    at = begin
    while at > 0 and (room := room - len(flat[at - 1][0]) - 1) > 0:
        at -= 1
    while 0 < at < begin and flat[at][2]:
        at += 1
    return at


def _joined(pieces: Pieces) -> Iterator[tuple[str, bool]]:
    """Yield the pieces with neighbours of one kind joined."""
    held, kind = "", False
    for text, marked in pieces:
        if marked != kind and held:
            yield held, kind
            held = ""
        held, kind = held + text, marked
    if held:
        yield held, kind


def filtered(query: str, filters: Mapping[str, str]) -> str:
    """Return the text of a query with filters by name, such as `tag`, behind it; empty ones say nothing."""
    return " ".join([query, *(f'{name}:"{value.replace(chr(34), " ")}"' for name, value in filters.items() if value)])


def document(query: str, results: Found) -> dict[str, object]:
    """Return what a search answers as JSON."""
    return {
        "query": query,
        "matches": results.matches,
        "dropped": results.dropped,
        "notes": results.notes,
        "more": results.more,
        "hits": [described(hit) for hit in results.hits],
    }


def described(hit: Hit) -> dict[str, object]:
    """Return one hit as JSON, with every part of its rank."""
    parts = {name: getattr(hit.parts, name) for name in hit.parts.__struct_fields__}
    fields = {name: getattr(hit, name) for name in hit.__struct_fields__ if name not in ("excerpt", "parts", "at")}
    text = "".join(text for text, _ in hit.excerpt)
    marked = [text.strip() for text, matched in hit.excerpt if matched]
    return {**fields, "at": times.iso(hit.at) if hit.at else "", "excerpt": text, "marked": marked, "parts": parts}
