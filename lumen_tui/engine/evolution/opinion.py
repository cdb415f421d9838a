"""Objections to candidates that the rules let pass."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from lumen_tui.model.evolution import Observation

Key = tuple[str, str, str]


class Reviewer(Protocol):
    """Reviews each candidate that would be accepted."""

    @property
    def by(self) -> str:
        """Who objects, for the record."""

    def objection(self, observation: Observation) -> str:
        """Return why it should not be accepted; empty if nothing speaks against it."""


def key_of(observation: Observation) -> Key:
    """Return a key that is the same when the same lines are read again."""
    return observation.sources[0].key, str(observation.kind), observation.text


class Opinion(Struct, frozen=True):
    """A model's objections; the empty one objects to nothing."""

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
