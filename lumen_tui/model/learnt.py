"""What the attention queue knows of what was learnt, without what evolution itself works with."""

from __future__ import annotations

from msgspec import Struct


class SessionQuestion(Struct, frozen=True):
    """What one session asks the operator about, as one question."""

    session: str
    entries: int
    newest: str  # the text of its newest entry
    since: float  # when the oldest one came, in seconds since 1970


class TakenBack(Struct, frozen=True):
    """A change of how the agent works that the engine took back by itself, while nothing else was done since."""

    id: str  # of the action
    reason: str
    since: float


class EvolutionView(Struct, frozen=True):
    """What the room's queue needs to know. Texts are safe."""

    questions: tuple[SessionQuestion, ...] = ()  # oldest first
    constitution: str = ""  # why nothing is learnt
    diff: str = ""  # how many lines were added and taken away
    taken_back: TakenBack | None = None

    @property
    def proposals(self) -> int:
        """How many observations wait for a person."""
        return sum(question.entries for question in self.questions)
