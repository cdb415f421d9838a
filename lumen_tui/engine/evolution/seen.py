"""Whether a person's sentence was in a tool's output, an attachment or an agent's words before: then it was copied.

The session is read once more up to that sentence; only lines that hold one of its longer words are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.model import evolution_words
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.evolution import Trust
from lumen_tui.model.patterns import lazy_re
from lumen_tui.store.sessions.transcripts import SessionParser, lines_from

_COPIED = "the same words were in the session before, and not from a person"
_SAID = frozenset({"user", "assistant", "attachment", "progress"})
_BEHIND = 30  # lines: the files that a message names come after it
_DECODED = 1024 * 1024  # bytes of a line; a longer one that holds all the words of a run holds the run
_DEEPEST = 12
_BACK = 256 * 1024 * 1024  # bytes
_ASCII = lazy_re(rb"[a-z]{4,}")
_decode = msgspec.json.Decoder().decode


class _Wanted(Struct):
    """A candidate and what would give it away."""

    name: int  # of the candidate, its id()
    line: int  # of its source
    runs: list[str]
    marks: list[list[bytes]]  # of each run its longer plain words, without which no line holds it


class SourcePosition(NamedTuple):
    """Where the lines begin that candidates come from: a file, the offset in it, and how many lines are before."""

    fd: int
    offset: int
    lines: int


def without_copies(
    candidates: Iterable[LearningCandidate], stretch: SourcePosition, parser: SessionParser
) -> list[LearningCandidate]:
    """Return the candidates; a person's words that were in the session before are the web's, and not asked about twice.

    Five words in a row give them away, up to 256 MiB back.
    """
    proposed = list(candidates)
    wanted = [_wanted(candidate) for candidate in proposed if candidate.trust is Trust.PERSON and not candidate.offered]
    copied = set(_copied(wanted, stretch, parser)) if wanted else set()
    undoubted = [candidate for candidate in proposed if id(candidate) not in copied or not candidate.doubt]
    return [
        msgspec.structs.replace(candidate, trust=Trust.WEB, doubt=_COPIED) if id(candidate) in copied else candidate
        for candidate in undoubted
    ]


def _wanted(candidate: LearningCandidate) -> _Wanted:
    runs = evolution_words.runs_of(candidate.quote)
    return _Wanted(id(candidate), candidate.source.line, runs, [_ASCII.findall(run.encode()) for run in runs])


def _copied(wanted: list[_Wanted], stretch: SourcePosition, parser: SessionParser) -> Iterator[int]:
    """Yield the ids of the candidates that an earlier line, or an attachment behind their own, gives away."""
    last = max(each.line for each in wanted) + _BEHIND
    number = 0  # of all lines before the stretch
    for behind, line in lines_from(stretch.fd, max(0, stretch.offset - _BACK)):
        if behind > stretch.offset:
            number = max(number, stretch.lines) + 1
        if number > last:
            return
        lower = (line or b"").lower()
        near = [each for each in wanted if any(all(mark in lower for mark in marks) for marks in each.marks)]
        if not line or not near or any(entry.person for entry in parser.entries(number, line)):
            continue
        kind, words = _words_of(line) if len(line) <= _DECODED else ("user", "")
        for each in near:
            ahead = each.line - number
            fits = ahead > 0 or (kind == "attachment" and ahead >= -_BEHIND)
            if fits and (not words or any(run in words for run in each.runs)):
                yield each.name


def _words_of(line: bytes) -> tuple[str, str]:
    """Return the type of a line and all words in it, with a space around each; none of a line that was not said."""
    try:
        record = _decode(line)
    except UNDECODABLE:
        return "", " "
    kind = record.get("type") if isinstance(record, dict) else None
    if kind not in _SAID:
        return "", " "
    attached = record.get("attachment")
    if isinstance(attached, dict) and attached.get("type") == "queued_command":
        return "", " "  # the same message of the person, on its way
    return kind, f" {' '.join(evolution_words.words_of(' '.join(_texts(record, _DEEPEST))))} "


def _texts(value: object, deep: int) -> Iterator[str]:
    """Yield every text in a decoded line."""
    if isinstance(value, str):
        yield value
    elif deep and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, deep - 1)
    elif deep and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, deep - 1)
