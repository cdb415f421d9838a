"""What is held against candidates that the rules let pass."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from lumen_tui.model.evolution import Observation

Key = tuple[str, str, str]


class Reviewer(Protocol):
    """Asked of each candidate that would get in."""

    @property
    def by(self) -> str:
        """Who objects, for the record."""

    def objection(self, observation: Observation) -> str:
        """Why it should not get in; empty where nothing speaks against it."""


def key_of(observation: Observation) -> Key:
    """The same candidate in a second look at the same lines."""
    return observation.sources[0].key, str(observation.kind), observation.text


class Opinion(Struct, frozen=True):
    """What a model said; one of nobody objects to nothing."""

    against: dict[Key, str] = {}
    brain: str = ""

    @property
    def by(self) -> str:
        return f"model {self.brain}".strip()

    def objection(self, observation: Observation) -> str:
        return self.against.get(key_of(observation), "")


class Passed(Struct, frozen=True):
    """Objects to nothing, and notes what the rules let pass."""

    seen: list[Observation]
    by: str = ""

    def objection(self, observation: Observation) -> str:
        self.seen.append(observation)
        return ""


NOBODY = Opinion()
