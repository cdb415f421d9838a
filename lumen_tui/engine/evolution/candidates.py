"""Candidates for learning, and how they match known observations: by words, by subject, by similarity (rapidfuzz)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from lumen_tui.model import evolution, wording
from lumen_tui.model.evolution import Observation, ObservationKind, ObservationStatus, Source, Trust


class LearningCandidate(Struct, frozen=True):
    """One candidate. `evidence` is the text of the line that it comes from."""

    kind: ObservationKind
    text: str
    target: str
    quote: str
    evidence: str
    source: Source
    trust: Trust
    confidence: float
    subject: str = ""
    value: str = ""
    doubt: str = ""  # why it is not sure: then a person is asked
    offered: bool = False  # the words are an agent's, and a person chose them


_FORMER = frozenset({ObservationStatus.SUPERSEDED, ObservationStatus.WITHDRAWN, ObservationStatus.REJECTED})


class KnownObservations:
    """Everything that was learnt before, found again by its words and its subject."""

    def __init__(self, observations: Iterable[Observation], merge_at: int) -> None:
        self._merge_at = merge_at
        self.by_id: dict[str, Observation] = {}
        self._ids: list[str] = []
        self._words: list[str] = []
        self._exact: dict[str, str] = {}
        self._subjects: dict[str, list[str]] = {}
        self._asked: dict[str, set[str]] = {}  # what waits for a person, by session
        for observation in observations:
            self.add(observation)

    def add(self, observation: Observation) -> None:
        """Add a new observation, or a new state of a known one."""
        if observation.id not in self.by_id:
            words = wording.normal(observation.text)
            self._ids.append(observation.id)
            self._words.append(words)
            self._exact.setdefault(_exact(observation.text), observation.id)
            if observation.subject:
                self._subjects.setdefault(observation.subject, []).append(observation.id)
        self.by_id[observation.id] = observation
        asked = self._asked.setdefault(observation.sources[0].session if observation.sources else "", set())
        if observation.status is ObservationStatus.PROPOSED:
            asked.add(observation.id)
        else:
            asked.discard(observation.id)

    def asked(self, session: str) -> int:
        """Return how many observations of a session wait for a person."""
        return len(self._asked.get(session, ()))

    def exactly(self, text: str) -> Observation | None:
        """Return the known observation in the same words, fillers aside."""
        known = self._exact.get(_exact(text))
        return self.by_id[known] if known else None

    def same(self, candidate: LearningCandidate) -> Observation | None:
        """Return the known observation that says the same."""
        if known := self.exactly(candidate.text):
            return known
        if candidate.subject:
            return next((other for other in self._about(candidate.subject) if other.value == candidate.value), None)
        near = self._nearest(candidate.text)
        return near if near is not None and _agree(near.text, candidate.text) else None

    def contrary(self, candidate: LearningCandidate) -> Observation | None:
        """Return the accepted or proposed observation that contradicts the candidate."""
        if candidate.subject:
            others = [other for other in self._about(candidate.subject) if other.value != candidate.value]
        else:
            near = self._nearest(candidate.text)
            others = [near] if near is not None and not _agree(near.text, candidate.text) else []
        live = [other for other in others if other.status not in _FORMER]
        return min(live, key=lambda other: other.status is not ObservationStatus.ACCEPTED, default=None)

    def _about(self, subject: str) -> list[Observation]:
        return [self.by_id[known] for known in self._subjects.get(subject, ())]

    def _nearest(self, text: str) -> Observation | None:
        """Return the most similar observation without a subject; the figures in both must be the same."""
        from rapidfuzz import fuzz, process  # 4 MiB that an engine without sessions need not hold

        words = wording.normal(text)
        matches = process.extract(words, self._words, scorer=fuzz.ratio, score_cutoff=self._merge_at, limit=5)
        for _, _, place in matches:
            observation = self.by_id[self._ids[place]]
            if not observation.subject and wording.figures(observation.text) == wording.figures(text):
                return observation
        return None


def _exact(text: str) -> str:
    return f"{wording.negative(text):d} {wording.normal(text)}"


def _agree(text: str, other: str) -> bool:
    return wording.negative(text) == wording.negative(other)


def joined(known: Observation, candidate: LearningCandidate, now: str) -> Observation | None:
    """Return `known` with one more source; None if that changes nothing.

    What is not sure and a source of lower trust add nothing, and one of higher trust takes the place of those before:
    so the trust of an observation stays the lowest among its sources, and nobody can lower what a person said by
    repeating it.
    """
    if (
        candidate.doubt
        or candidate.trust.rank < known.trust.rank
        or any(source.key == candidate.source.key for source in known.sources)
    ):
        return None
    count = known.count + 1
    if candidate.trust.rank > known.trust.rank:
        return msgspec.structs.replace(
            known,
            trust=candidate.trust,
            sources=(candidate.source,),
            quote=candidate.quote,
            text=candidate.text,
            kind=candidate.kind,
            count=count,
            confidence=max(known.confidence, candidate.confidence),
            updated_at=now,
        )
    return msgspec.structs.replace(
        known,
        sources=evolution.with_sources(known, (candidate.source,)),
        count=count,
        updated_at=now,
        confidence=max(known.confidence, evolution.surer(candidate.confidence, count)),
    )


def rises(known: Observation, candidate: LearningCandidate) -> bool:
    """Return whether a proposed or objected observation has to be judged again.

    So it is where a source of higher trust says the same, or a person says it again and so that it is sure.
    """
    waits = known.status is ObservationStatus.PROPOSED
    if candidate.doubt or not (waits or evolution.objected(known)):
        return False
    again = waits and candidate.trust is known.trust and not evolution.objections(known)
    return again or candidate.trust.rank > known.trust.rank
