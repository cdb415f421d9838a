"""What a process that reads a session with a model is given, and what it says: nothing of it is believed unseen."""

from __future__ import annotations

from msgspec import Struct

MOST_FOUND = 40  # candidates of one answer that are looked at


class Passage(Struct, frozen=True):
    """What one line of a session says."""

    line: int
    who: str  # person | agent
    text: str


class Order(Struct, frozen=True):
    """One stretch of one session."""

    root: str
    session: str
    passages: tuple[Passage, ...]


class Candidate(Struct, frozen=True):
    """What a model takes for worth keeping."""

    line: int = 0
    kind: str = ""
    text: str = ""
    quote: str = ""


class Answer(Struct, frozen=True):
    """`problem` says why there is nothing; `brain` which model answered."""

    found: tuple[Candidate, ...] = ()
    problem: str = ""
    brain: str = ""
    usd: float = 0.0
    tokens: int = 0
