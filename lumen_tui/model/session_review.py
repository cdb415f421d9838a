"""Sessions read and candidates reviewed by a model: what such a process is given, and what it answers.

Nothing that it says is believed unseen: it proposes, and a review can only take away.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

MOST_FOUND = 40  # candidates of one answer that are looked at


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """How a model was asked: `problem` says why there is no answer, `brain` which model gave it."""

    problem: str = ""
    brain: str = ""
    usd: float = 0.0
    tokens: int = 0


class SessionPassage(Struct, frozen=True):
    """What one line of a session says."""

    line: int
    who: str  # person | agent
    text: str


class ReadingRequest(Struct, frozen=True):
    """One stretch of one session."""

    root: str
    session: str
    passages: tuple[SessionPassage, ...]


class ReadCandidate(Struct, frozen=True):
    """What a model takes for worth keeping."""

    line: int = 0
    kind: str = ""
    text: str = ""
    quote: str = ""


class ReadingResult(ModelAnswer, frozen=True):
    """What it found."""

    found: tuple[ReadCandidate, ...] = ()


class ShorteningRequest(Struct, frozen=True):
    """A text of memory that is to be told in fewer words."""

    root: str
    kind: str  # block | summary
    name: str
    text: str


class ShorteningResult(ModelAnswer, frozen=True):
    """The shorter text."""

    text: str = ""


class ProposingRequest(Struct, frozen=True):
    """What a role is told, and how its tasks went: in fixed words, none of them a worker's."""

    root: str
    role: str
    prompt: str
    moments: tuple[str, ...]


class ProposedParagraph(Struct, frozen=True):
    """One paragraph for the end of the prompt, and why it should help."""

    text: str
    why: str


class ProposingResult(ModelAnswer, frozen=True):
    """What it would add."""

    proposed: tuple[ProposedParagraph, ...] = ()


MOST_CASES = 40  # candidates that one call is shown
MOST_STANDING = 3000  # characters of a file of evolved/: the newest lines
MOST_CONSTITUTION = 20_000  # characters: as much as can be approved
MOST_ANSWER = 20_000  # characters; a longer answer is none
MOST_REASON = 240


class ReviewCase(Struct, frozen=True):
    """One candidate that the rules let pass."""

    kind: str
    text: str
    quote: str
    said_by: str  # person | agent | worker | tool | web
    file: str


class ReviewRequest(Struct, frozen=True):
    """What one call is about. The number of a candidate is its place in `cases`, from 1."""

    root: str
    cases: tuple[ReviewCase, ...]
    standing: dict[str, str]  # file -> what was learnt before and is there
    constitution: str


class CaseVerdict(Struct, frozen=True):
    """What the model says of one candidate."""

    candidate: int
    verdict: Literal["keep", "object"]
    reason: str = ""


class ReviewResult(ModelAnswer, frozen=True):
    """The number of each candidate that is objected to, with the reason."""

    against: dict[int, str] = {}
