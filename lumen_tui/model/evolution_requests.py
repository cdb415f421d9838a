"""What a process that reads a session with a model is given, and what it says: nothing of it is believed unseen."""

from __future__ import annotations

from typing import Literal

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


MOST_CASES = 40  # candidates that one call is shown
MOST_STANDING = 3000  # characters of a file of evolved/: the newest lines
MOST_CONSTITUTION = 20_000  # characters: as much as can be approved
MOST_ANSWER = 20_000  # characters; a longer answer is none
MOST_REASON = 240


class Case(Struct, frozen=True):
    """One candidate that the rules let pass."""

    kind: str
    text: str
    quote: str
    said_by: str  # person | agent | worker | tool | web
    file: str


class Trial(Struct, frozen=True):
    """What one call is about. The number of a candidate is its place in `cases`, from 1."""

    root: str
    cases: tuple[Case, ...]
    standing: dict[str, str]  # file -> what was learnt before and stands there
    constitution: str


class Word(Struct, frozen=True):
    """What the model says of one candidate."""

    candidate: int
    verdict: Literal["keep", "object"]
    reason: str = ""


class Judgement(Struct, frozen=True):
    """The number of each candidate that is objected to, with the reason. `problem` says why there is no answer."""

    against: dict[int, str] = {}
    problem: str = ""
    brain: str = ""
    usd: float = 0.0
    tokens: int = 0
