"""Whether a person's sentence was in a tool's output, an attachment or an agent's words before: then it was copied.

The session is read once more up to that sentence; only lines that hold one of its longer words are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

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
_ESCAPED = lazy_re(rb"\\(?:u[0-9a-f]{4}|.)")
_decode = msgspec.json.Decoder().decode


class _Wanted(NamedTuple):
    """A candidate and what would give it away."""

    name: int  # of the candidate, its id()
    line: int  # of its source


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
    doubted = [candidate for candidate in proposed if candidate.trust is Trust.PERSON and not candidate.offered]
    copied = set(_copied(doubted, stretch, parser)) if doubted else set()
    undoubted = [candidate for candidate in proposed if id(candidate) not in copied or not candidate.doubt]
    return [
        msgspec.structs.replace(candidate, trust=Trust.WEB, doubt=_COPIED) if id(candidate) in copied else candidate
        for candidate in undoubted
    ]


class _RunIndex:
    """The runs of words of all candidates: what a line costs does not grow with how many there are."""

    def __init__(self, candidates: Iterable[LearningCandidate]) -> None:
        self._by_run: dict[tuple[str, ...], list[_Wanted]] = {}
        for candidate in candidates:
            wanted = _Wanted(id(candidate), candidate.source.line)
            for run in evolution_words.runs_of(candidate.quote):
                self._by_run.setdefault(run, []).append(wanted)
        self._lengths = {len(run) for run in self._by_run}
        self._marks = {run: frozenset(_ASCII.findall(" ".join(run).encode())) for run in self._by_run}
        # The marks of runs by their longest one; under b"" those of runs that have none.
        self._by_mark: dict[bytes, set[frozenset[bytes]]] = {}
        for marks in self._marks.values():
            self._by_mark.setdefault(max(marks, key=len, default=b""), set()).add(marks)

    def may_match(self, plain: set[bytes]) -> bool:
        """Return whether a line with these plain words may hold one of the runs."""
        if b"" in self._by_mark:
            return True
        return any(marks <= plain for mark in self._by_mark.keys() & plain for marks in self._by_mark[mark])

    def with_marks(self, plain: set[bytes]) -> list[_Wanted]:
        """Return the candidates of which a line has all plain words of a run."""
        return [each for run, marks in self._marks.items() if marks <= plain for each in self._by_run[run]]

    def in_words(self, words: list[str]) -> list[_Wanted]:
        """Return the candidates of which a run is among these words."""
        found: list[_Wanted] = []
        for length in self._lengths:
            runs = set(zip(*(words[at:] for at in range(length)), strict=False))
            found += [each for run in self._by_run.keys() & runs for each in self._by_run[run]]
        return found


def _copied(candidates: list[LearningCandidate], stretch: SourcePosition, parser: SessionParser) -> Iterator[int]:
    """Yield the ids of the candidates that an earlier line, or an attachment behind their own, gives away."""
    index = _RunIndex(candidates)
    last = max(candidate.source.line for candidate in candidates) + _BEHIND
    number = 0  # of all lines before the stretch
    for behind, line in lines_from(stretch.fd, max(0, stretch.offset - _BACK)):
        if behind > stretch.offset:
            number = max(number, stretch.lines) + 1
        if number > last:
            return
        plain = _plain_words(line) if line else set()
        if not line or not index.may_match(plain):
            continue
        if len(line) <= _DECODED:
            kind, words = _words_of(line)
            near = index.in_words(words)
        else:
            kind, near = "user", index.with_marks(plain)
        if near and not any(entry.person for entry in parser.entries(number, line)):
            yield from (each.name for each in near if _is_before(number, kind, each.line))


def _is_before(number: int, kind: str, line: int) -> bool:
    """Return whether what stands in a line of this number and kind was there before a person's words in another."""
    return number < line or (kind == "attachment" and number <= line + _BEHIND)


def _plain_words(line: bytes) -> set[bytes]:
    """Return the longer plain words of a line as it is in the file."""
    lower = line.lower()
    return set(_ASCII.findall(_ESCAPED.sub(b" ", lower) if b"\\" in lower else lower))


def _words_of(line: bytes) -> tuple[str, list[str]]:
    """Return the type of a line and all words in it; none of a line that was not said."""
    try:
        record = _decode(line)
    except UNDECODABLE:
        return "", []
    kind = record.get("type") if isinstance(record, dict) else None
    if kind not in _SAID:
        return "", []
    attached = record.get("attachment")
    if isinstance(attached, dict) and attached.get("type") == "queued_command":
        return "", []  # the same message of the person, on its way
    return kind, evolution_words.words_of(" ".join(_texts(record, _DEEPEST)))


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
