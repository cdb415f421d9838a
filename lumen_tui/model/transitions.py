"""The journal of the attention queue: what appeared on it, what waited long, what expires soon, and how it went."""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum

from msgspec import Struct

from lumen_tui.model import times


class TransitionKind(StrEnum):
    """What happened to an item of the queue."""

    APPEARED = "appeared"
    AGED = "aged"  # it waits for as long as the settings name
    CLOSING = "closing"  # it expires soon
    GONE = "gone"


class Ending(StrEnum):
    """How an item went."""

    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    DISMISSED = "dismissed"
    SNOOZED = "snoozed"
    SETTLED = "settled"  # its cause is gone


class Transition(Struct, frozen=True, omit_defaults=True):
    """attention.jsonl: one line for each transition. `item` names what it happened to, the same for all of its life."""

    id: str
    at: str
    kind: TransitionKind
    item: str
    need: str = ""
    target: str = ""
    text: str = ""
    closes: str = ""  # when it expires
    waited: float = 0.0  # seconds, of one that aged: the age that it passed
    back: bool = False  # of one that appeared: it had been snoozed
    ending: str = ""  # of one that is gone; see `Ending`
    by: str = ""  # who answered, dismissed or snoozed it
    note: str = ""  # with what words
    schema: int = 1

    @property
    def moment(self) -> float:
        """Seconds since 1970."""
        return times.epoch(self.at)

    @property
    def name(self) -> str:
        """The same for two transitions that tell the same of one item."""
        return f"{self.kind}{f' {self.waited:g}' if self.waited else ''} {self.item}"


class OpenItem(Struct, frozen=True):
    """An item that is on the queue by the journal, with its transitions, oldest first."""

    transitions: tuple[Transition, ...]

    @property
    def since(self) -> float:
        """When it appeared, in seconds since 1970."""
        return self.transitions[0].moment

    @property
    def waited(self) -> float:
        """The greatest age that was recorded, in seconds."""
        return max(transition.waited for transition in self.transitions)

    @property
    def closing(self) -> bool:
        """Whether it was recorded that it expires soon."""
        return any(transition.kind is TransitionKind.CLOSING for transition in self.transitions)


class QueueHistory:
    """What the journal says: the items that are on the queue, and which of those that left were snoozed."""

    def __init__(self) -> None:
        self.open: dict[str, OpenItem] = {}
        self.snoozed: set[str] = set()

    def take(self, transition: Transition) -> None:
        """Take in the next line."""
        item = transition.item
        if transition.kind is TransitionKind.APPEARED:
            self.open[item] = OpenItem((transition,))
            self.snoozed.discard(item)
        elif transition.kind is TransitionKind.GONE:
            self.open.pop(item, None)
            if transition.ending == Ending.SNOOZED:
                self.snoozed.add(item)
        elif known := self.open.get(item):
            self.open[item] = OpenItem((*known.transitions, transition))

    def among(self, names: Set[str]) -> tuple[OpenItem, ...]:
        """Return the items with these names."""
        return tuple(item for name, item in self.open.items() if name in names)


def words_of(transition: Transition) -> str:
    """Return what happened, without what it happened to: `answered by ana: not now`."""
    if transition.kind is TransitionKind.AGED:
        return f"waits for {times.span(transition.waited)}"
    if transition.kind is TransitionKind.CLOSING:
        return f"expires {times.time_of_day(times.epoch(transition.closes))}"
    if transition.kind is TransitionKind.APPEARED:
        return "back" if transition.back else "new"
    who = f" by {transition.by}" if transition.by else ""
    return f"{transition.ending or Ending.SETTLED}{who}{f': {transition.note}' if transition.note else ''}"
