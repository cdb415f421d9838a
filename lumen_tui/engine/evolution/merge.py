"""Is it known, does it contradict, or is it new: by words, by subject, and by likeness (rapidfuzz)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lumen_tui.engine.evolution.found import Found
from lumen_tui.model import evolution
from lumen_tui.model.evolution import Observation, Status, Trust

_FORMER = frozenset({Status.SUPERSEDED, Status.WITHDRAWN, Status.REJECTED})


class Known:
    """Everything that was learnt before, found again by its words and its subject."""

    def __init__(self, found: Iterable[Observation], merge_at: int) -> None:
        self._merge_at = merge_at
        self.by_id: dict[str, Observation] = {}
        self._ids: list[str] = []
        self._words: list[str] = []
        self._exact: dict[str, str] = {}
        self._subjects: dict[str, list[str]] = {}
        for one in found:
            self.add(one)

    def add(self, one: Observation) -> None:
        """Take in a new one, or a new state of a known one."""
        if one.id not in self.by_id:
            words = evolution.normal(one.text)
            self._ids.append(one.id)
            self._words.append(words)
            self._exact.setdefault(_exact(one.text), one.id)
            if one.subject:
                self._subjects.setdefault(one.subject, []).append(one.id)
        self.by_id[one.id] = one

    def exactly(self, text: str) -> Observation | None:
        """The known one in the same words, fillers aside."""
        known = self._exact.get(_exact(text))
        return self.by_id[known] if known else None

    def same(self, found: Found) -> Observation | None:
        """The known one that says the same."""
        if known := self.exactly(found.text):
            return known
        if found.subject:
            return next((one for one in self._about(found.subject) if one.value == found.value), None)
        near = self._nearest(found.text)
        return near if near is not None and _agree(near.text, found.text) else None

    def contrary(self, found: Found) -> Observation | None:
        """The one in force, or waiting, that says otherwise."""
        if found.subject:
            others = [one for one in self._about(found.subject) if one.value != found.value]
        else:
            near = self._nearest(found.text)
            others = [near] if near is not None and _oppose(near.text, found.text) else []
        live = [one for one in others if one.status not in _FORMER]
        return min(live, key=lambda one: one.status is not Status.ACCEPTED, default=None)

    def _about(self, subject: str) -> list[Observation]:
        return [self.by_id[known] for known in self._subjects.get(subject, ())]

    def _nearest(self, text: str) -> Observation | None:
        """The most alike one without a subject of its own; the figures in both must be the same."""
        from rapidfuzz import fuzz, process  # 4 MiB that an engine without sessions need not hold

        words = evolution.normal(text)
        found = process.extract(words, self._words, scorer=fuzz.ratio, score_cutoff=self._merge_at, limit=5)
        for _, _, place in found:
            one = self.by_id[self._ids[place]]
            if not one.subject and evolution.figures(one.text) == evolution.figures(text):
                return one
        return None


def _exact(text: str) -> str:
    return f"{evolution.negative(text):d} {evolution.normal(text)}"


def _agree(one: str, other: str) -> bool:
    return evolution.negative(one) == evolution.negative(other)


def _oppose(one: str, other: str) -> bool:
    return not _agree(one, other)


def joined(known: Observation, found: Found, now: str) -> Observation | None:
    """`known` with one more source; None where that changes nothing.

    A source of lower trust adds nothing, and one of higher trust takes the place of those before: so the trust of an
    observation stays the lowest among its sources, and nobody can lower what a person said by repeating it.
    """
    if found.trust.rank < known.trust.rank or any(source.key == found.source.key for source in known.sources):
        return None
    count = known.count + 1
    if found.trust.rank > known.trust.rank:
        return msgspec.structs.replace(
            known, trust=found.trust, sources=(found.source,), quote=found.quote, text=found.text, kind=found.kind,
            count=count, confidence=max(known.confidence, found.confidence), updated_at=now,
        )  # fmt: skip
    return msgspec.structs.replace(
        known, sources=evolution.with_sources(known, (found.source,)), count=count, updated_at=now,
        confidence=max(known.confidence, evolution.surer(found.confidence, count)),
    )  # fmt: skip


def rises(known: Observation, found: Found) -> bool:
    """Whether one that waits, or that a model turned away, now stands on the word of somebody more trusted.

    Then it has to be judged again.
    """
    open_still = known.status is Status.PROPOSED or evolution.objected(known)
    return open_still and found.trust.rank > known.trust.rank >= Trust.WEB.rank
