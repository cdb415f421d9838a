"""A briefing: what matters for a piece of work, from everything that can be searched, each entry with its age."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lumen_tui.actions import places
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.ids import BadId
from lumen_tui.model.searching import Hit, SearchQuery, parse
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.layout import Folder
from lumen_tui.store.work import work_units

_TITLE_WORDS = 400  # characters of a work unit's own text that are looked for elsewhere
_OWN = ("summary", "discovery", "note", "fact", "checkpoint", "archival")


class RecallSection(msgspec.Struct, frozen=True):
    """One part of a briefing."""

    name: str
    hits: tuple[Hit, ...]


class RecallBriefing(msgspec.Struct, frozen=True):
    """What there is to know, under a title."""

    work: str
    title: str
    sections: tuple[RecallSection, ...]


def briefing(store: Folder, *, by: str, now: float, work: str = "", limit: int = 6) -> RecallBriefing:
    """Brief on a work unit or on some words; without either, on the work unit of the caller's session.

    Nothing is listed twice: what belongs to the work, then how such things are done, then what is alike elsewhere.
    """
    wu_id, title, query = _about(store, by, work)
    seen: set[str] = set()
    sections = []
    with Searcher(store.layout) as searcher:
        for name, search_query in _wishes(wu_id, parse(query, now, limit=4 * limit)):
            hits = _new(searcher.search(search_query, now).hits, seen, limit)
            if hits:
                sections.append(RecallSection(name, hits))
    return RecallBriefing(work=wu_id or work, title=title, sections=tuple(sections))


def _about(store: Folder, by: str, work: str) -> tuple[str, str, str]:
    """Return (work unit id or "", title, words to search for)."""
    if work and not work.upper().startswith("WU-"):
        return "", one_line(work, 120), work
    try:
        wu_id = places.place(store, by=by, wu_id=work.upper()).wu_id
    except BadId as error:
        raise ActionError(str(error)) from error
    except ActionError as error:
        if not work:
            raise
        message = f"nothing is known of {work.upper()}: `recall` takes words as well"
        raise ActionError(message, candidates=error.candidates, missing=True) from error
    if not wu_id:
        raise ActionError("your session is on no work unit: name one, or some words")
    unit = work_units.read_unit(store.layout, wu_id)
    title = safe(unit.title) if unit else wu_id
    body = unit.body[:_TITLE_WORDS] if unit else ""
    return wu_id, title, _as_words(f"{title} {body}")


def _as_words(text: str) -> str:
    """Return text as plain words of a query, in which nothing acts as a filter."""
    return " ".join(part for part in text.replace('"', " ").replace(":", " ").replace("!", " ").split())


def _wishes(wu_id: str, words: SearchQuery) -> Iterable[tuple[str, SearchQuery]]:
    if wu_id:
        yield "Of this work", SearchQuery(wus=(wu_id,), types=_OWN, limit=words.limit)
        yield "What happened in it", SearchQuery(wus=(wu_id,), types=("task", "signal"), limit=words.limit)
    if words.terms:
        yield "How such things are done", msgspec.structs.replace(words, kinds=("procedural",))
        yield "Elsewhere about the same", msgspec.structs.replace(words, kinds=("semantic", "episodic"))


def _new(hits: Iterable[Hit], seen: set[str], limit: int) -> tuple[Hit, ...]:
    """Return the first hits that were not listed yet and are still in force."""
    chosen: list[Hit] = []
    for hit in hits:
        if hit.ref not in seen and hit.status not in ("archived", "superseded") and len(chosen) < limit:
            seen.add(hit.ref)
            chosen.append(hit)
    return tuple(chosen)
