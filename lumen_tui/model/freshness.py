"""How fresh a fact is, and which probes a beat makes. Two clocks: written at, and last confirmed at from outside."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.facts import Confirmation, Fact, Outcome
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    import random  # whoever chooses has loaded it

_RECORDS = 72  # confirmations of an unchanged fact that are written down within its span: each hour of three days


class Phase(StrEnum):
    """Of a fact: by the age of its last confirmation from outside, in shares of what its class allows."""

    FRESH = "fresh"  # up to 1x
    SOFT = "soft-stale"  # up to 1.5x
    HARD = "hard-stale"  # up to 2x
    EXPIRED = "expired"  # beyond, or never confirmed
    DRIFTED = "drifted"  # a probe saw that it is not so


FILLS = {
    Phase.FRESH: "▮▮▮▮",
    Phase.SOFT: "▮▮▮▯",
    Phase.HARD: "▮▮▯▯",
    Phase.EXPIRED: "▯▯▯▯",
    Phase.DRIFTED: "↯",
}
ASCII_FILLS = {
    Phase.FRESH: "####",
    Phase.SOFT: "###-",
    Phase.HARD: "##--",
    Phase.EXPIRED: "----",
    Phase.DRIFTED: "!",
}
_SHORTEST = 12  # characters of a claim that is looked for in texts
_LIMITS = ((1.0, Phase.FRESH), (1.5, Phase.SOFT), (2.0, Phase.HARD))


def phase_of(age: float, span: float) -> Phase:
    """The phase of a confirmation `age` seconds old that holds for `span`; a clock that was moved makes none older."""
    share = max(0.0, age) / span
    return next((phase for limit, phase in _LIMITS if share <= limit), Phase.EXPIRED)


class FactState(Struct, frozen=True):
    """A fact and what is known of it. Times in seconds since 1970, 0 for never."""

    fact: Fact
    confirmed: float = 0.0  # from outside: by all its probes, or by a person
    confirmed_by: str = ""
    probed: float = 0.0  # the last look of any probe
    drifted: float = 0.0  # since when a probe says otherwise
    value: str = ""  # what it saw instead
    evidence: str = ""  # of the last look
    failing: str = ""  # why the last look of a probe gave nothing
    used_by: tuple[str, ...] = ()
    uses: int = 0
    settled: bool = False  # superseded, and a person has confirmed what came in its place

    @property
    def current(self) -> bool:
        """Whether the claim is one that anybody should go by."""
        return self.fact.status == "open"

    def phase(self, now: float) -> Phase:
        """Return the phase at a moment."""
        if self.drifted or self.fact.status == "superseded":
            return Phase.DRIFTED
        return phase_of(now - self.confirmed, self.fact.span) if self.confirmed else Phase.EXPIRED

    def confirmed_words(self, now: float) -> str:
        """Return `confirmed 5 min`, `never confirmed`, or `never held` where a probe denied it from the start."""
        if self.confirmed:
            return f"confirmed {times.age(now - self.confirmed)}"
        return "never held" if self.drifted else "never confirmed"

    @property
    def denial(self) -> str:
        """What a probe that says otherwise makes of the claim."""
        return "is not so any more" if self.confirmed else "never held"

    @property
    def alarming(self) -> bool:
        """Whether it drifted, something current relies on it, and nobody has dealt with it."""
        gone = self.fact.status not in ("open", "superseded")
        return bool(self.drifted and self.used_by) and not self.settled and not gone


def mark(state: FactState, now: float) -> str:
    """What goes beside a fact wherever it is used: empty while it is fresh, else its age from outside in words."""
    phase = state.phase(now)
    if phase is Phase.FRESH:
        return ""
    if phase is Phase.DRIFTED:
        seen = f", now {one_line(state.value, 80)}" if state.value else ""
        since = f" {times.ago(now - state.drifted)}" if state.drifted else ""
        return f"[↯ drifted{since}{seen}]"
    if not state.confirmed:
        return f"[never confirmed, written {times.ago(now - state.fact.written)}]"
    return f"[{phase}: last confirmed {times.ago(now - state.confirmed)}]"


_PLAIN = lazy_re(r"[\w.:/+@-]{1,40}")  # a value that can be no sentence


def dated_mark(state: FactState, now: float) -> str:
    """Return the mark for a file that is read for long: with dates, and no value that could be an instruction."""
    phase = state.phase(now)
    if phase is Phase.FRESH:
        return ""
    day = times.iso(state.drifted or state.confirmed)[:10]
    if phase is Phase.DRIFTED:
        seen = f", now {state.value}" if _PLAIN.fullmatch(state.value) else ""
        return f"[↯ drifted{f' {day}' if state.drifted else ''}{seen}]"
    return f"[{phase}: last confirmed {day}]" if state.confirmed else "[never confirmed]"


def stalest(states: Iterable[FactState]) -> FactState | None:
    """Return the current fact that was confirmed longest ago, one that never was before all others."""
    return min(
        (state for state in states if state.current),
        key=lambda state: (state.confirmed, state.fact.written),
        default=None,
    )


class FactsView(Struct, frozen=True):
    """What the room shows of all facts. `stalest` is when the stalest one was confirmed, 0 for never."""

    current: int = 0
    drifted: int = 0  # current or superseded, and not dealt with
    stalest_id: str = ""
    stalest: float = 0.0
    alarming: tuple[FactState, ...] = ()


def view(states: Sequence[FactState]) -> FactsView:
    """Return the summary of all facts."""
    oldest = stalest(states)
    known = [state for state in states if state.current]
    drifted = [
        state for state in states if state.fact.status in ("open", "superseded") and state.drifted and not state.settled
    ]
    alarming = tuple(state for state in drifted if state.alarming)
    if oldest is None:
        return FactsView(drifted=len(drifted), alarming=alarming)
    return FactsView(len(known), len(drifted), oldest.fact.id, oldest.confirmed, alarming)


class DueProbe(Struct, frozen=True):
    """One probe that may be made. `probed` orders the queue; `weight` grows with use and age."""

    fact_id: str
    probe_id: str
    probed: float = 0.0
    weight: float = 0.0


def weight(state: FactState, now: float) -> float:
    """Return how much it matters to look again: what is used, and has not been confirmed for long."""
    age = max(0.0, now - state.confirmed) / state.fact.span
    return (1 + state.uses + 4 * len(state.used_by)) * min(4.0, age)


def choose(turns: Sequence[DueProbe], most: int, rng: random.Random) -> list[DueProbe]:
    """Return the probes of one beat, in order: every second one the longest unprobed, the others by weight and by lot.

    Whatever part of the list is carried out, at least half of it came from the front of the queue.
    """
    # Of each no more than twice `most` is looked at: those of the beat, and those that another source named already.
    queue = heapq.nsmallest(2 * most, turns, key=lambda turn: (turn.probed, turn.fact_id, turn.probe_id))
    heavy = heapq.nlargest(2 * most, turns, key=lambda turn: turn.weight)
    lot = rng.sample(turns, min(len(turns), most))
    sources = [iter(source) for source in (queue, heavy, queue, lot)]
    sources[2] = sources[0]
    chosen: dict[tuple[str, str], DueProbe] = {}
    for number in range(2 * most):
        fresh = (turn for turn in sources[number % 4] if (turn.fact_id, turn.probe_id) not in chosen)
        turn = next(fresh, None)
        if turn is not None:
            chosen[(turn.fact_id, turn.probe_id)] = turn
        if len(chosen) >= most:
            break
    return list(chosen.values())


def per_beat(seconds: float, each: float, most: int) -> int:
    """Return how many probes a beat makes at least, were every one of them to take as long as it may."""
    return max(1, min(most, int(seconds / each + 1e-9)))


def worth_recording(before: Confirmation | None, new: Confirmation, span: float) -> bool:
    """Return whether a look is written down: something changed, or the last line that says the same has become old."""
    if before is None or (before.outcome, before.value, before.used_by) != (new.outcome, new.value, new.used_by):
        return True
    if new.outcome == Outcome.DRIFTED:
        return False
    return times.epoch(new.at) - times.epoch(before.at) >= span / _RECORDS


def plain(text: str) -> str:
    """Return a text as claims are looked for in it."""
    return " ".join(text.split()).casefold()


def claim_of(title: str) -> str:
    """Return the words of a fact as they are looked for in texts; empty where they are too few to mean it."""
    claim = plain(title).rstrip(". ")
    return claim if len(claim) >= _SHORTEST else ""
