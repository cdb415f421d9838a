"""A candidate for learning: a statement with its evidence, before the gate has seen it."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.evolution import Kind, Source, Trust


class LearningCandidate(Struct, frozen=True):
    """One candidate. `evidence` is the text of the line that it comes from."""

    kind: Kind
    text: str
    target: str
    quote: str
    evidence: str
    source: Source
    trust: Trust
    confidence: float
    subject: str = ""
    value: str = ""
