"""What a playbook understands: the words it needs, the words it knows, the parameters it takes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from lumen_tui.providers.offline.objective_parser import ParsedObjective
from lumen_tui.providers.offline.periods import Period
from lumen_tui.providers.offline.report import Play

DEFAULT_TOP = 10


class PlaybookPlan(Struct, frozen=True):
    """A playbook and its parameters."""

    playbook: str
    path: str
    number: int = DEFAULT_TOP
    pattern: str = ""
    name: str = ""  # pattern for file names
    days: float = 0.0
    subject: str = ""
    ignore_case: bool = False
    view: str = ""  # which of the answers that a playbook can give
    second: str = ""  # the other path of a comparison
    regex: str = ""  # yes, no; empty where only the pattern itself can tell
    invert: bool = False  # lines without the pattern
    patterns: tuple[str, ...] = ()  # each of them has to be in the line
    period: Period = Period()
    least: int = 0  # bytes
    most: int = 0
    terms: tuple[str, ...] = ()  # words that the data itself has to explain; who plays it fails where it doesn't


class NoMatch(Struct, frozen=True):
    """No playbook can answer; `reason` is a clause that completes `the offline provider …`."""

    reason: str


Fields = dict[str, object]
Asked = ParsedObjective


def no_fields(ask: Asked) -> Fields:
    """Return no more than what each plan has."""
    return {}


class PlaybookKind(Struct, frozen=True):
    """One playbook. `fields` returns what is its own of a plan, or None where the objective doesn't fit after all."""

    name: str
    can: str  # what it can answer, for the help
    needs: tuple[frozenset[str], ...]  # one word of each group has to be there
    knows: frozenset[str]
    play: Callable[[PlaybookPlan], Play]
    fields: Callable[[Asked], Fields | None] = no_fields
    takes: frozenset[str] = frozenset()  # of quoted, slashed, number, extension, period, size, terms, second
    anywhere: bool = False  # it needs no path
    which: str = ""  # what has to be named where it needs a path of its own, and the folder at hand won't do
    default: Callable[[Asked], int] = lambda ask: DEFAULT_TOP
