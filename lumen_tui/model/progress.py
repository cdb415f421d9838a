"""Progress signals: which were due and did not come. Counted from what the agent's hooks told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model import kinds, times
from lumen_tui.model.patterns import lazy_re

if TYPE_CHECKING:
    from lumen_tui.model.config import ProgressSignalsConfig

_PERCENT = lazy_re(r"(?<![\d.,])(\d{1,3}) ?%")


def named_percent(text: str) -> int | None:
    """Return how far the work is, as a signal or a checkpoint says it: `80 % done` is 80; None where it does not."""
    match = _PERCENT.search(text)
    return int(match[1]) if match and int(match[1]) <= 100 else None


def percents(remarks: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the first percentage that is named of each work unit: give (unit, text), the newest first."""
    named: dict[str, int] = {}
    for wu_id, text in remarks:
        if wu_id not in named and (percent := named_percent(text)) is not None:
            named[wu_id] = percent
    return named


class Stretch(Struct, frozen=True):
    """What one session of an agent did on a work unit since the last signal about it. Moments are 0 for never."""

    session: str
    wu_id: str
    calls: int = 0  # of tools
    since: float = 0.0  # the first of them
    tests_passed: float = 0.0
    milestone: float = 0.0


class UnitState(Struct, frozen=True):
    """As much of a work unit as the rule asks for; `signalled` is the newest signal about it."""

    wu_id: str
    status: str
    claimed: float = 0.0
    blocked: float = 0.0
    done: float = 0.0
    signalled: float = 0.0


class Missing(Struct, frozen=True):
    """A signal that did not come. `target` stays the same until one comes, or until it is due once more."""

    target: str
    text: str
    since: float


class HookView(Struct, frozen=True):
    """What is known of an agent's hooks. Moments in seconds since 1970, 0 for never."""

    events: int = 0
    last: float = 0.0
    last_event: str = ""
    outside: int = 0  # events from outside every open work session: no checkpoint is made for these
    checkpoints: int = 0
    last_checkpoint: float = 0.0
    last_node: str = ""
    failures: int = 0
    failing: str = ""  # why the newest try failed; empty where it did not
    waiting_since: float = 0.0  # the oldest request that nobody has answered


def missing(
    rule: ProgressSignalsConfig, stretches: Iterable[Stretch], units: Iterable[UnitState]
) -> tuple[Missing, ...]:
    """Return the signals that are due by the rule and did not come, oldest first."""
    if not rule.enabled:
        return ()
    known = {unit.wu_id: unit for unit in units}
    worked = list(stretches)
    overdue = [item for stretch in worked if _goes_on(known.get(stretch.wu_id)) for item in _of_stretch(rule, stretch)]
    for unit in known.values():
        if rule.on_blocked and unit.status == "blocked" and unit.signalled < unit.blocked:
            overdue.append(_item(unit.wu_id, "blocked", unit.blocked, kinds.UNSIGNALLED_BLOCKED))
    if rule.before_gates:
        overdue += [
            _finished(known[wu_id]) for wu_id in {stretch.wu_id for stretch in worked} if _silent(known.get(wu_id))
        ]
    return tuple(sorted(overdue, key=lambda item: (item.since, item.target)))


def _goes_on(unit: UnitState | None) -> bool:
    return unit is None or unit.status != "done"


def _silent(unit: UnitState | None) -> bool:
    """Return whether a work unit was finished without a word since it was claimed."""
    return unit is not None and unit.status == "done" and unit.done > 0 and unit.signalled < (unit.claimed or unit.done)


def _finished(unit: UnitState) -> Missing:
    return _item(unit.wu_id, "done", unit.done, kinds.UNSIGNALLED_DONE)


def _of_stretch(rule: ProgressSignalsConfig, stretch: Stretch) -> list[Missing]:
    overdue = []
    if 0 < rule.frequency <= stretch.calls:
        text = kinds.calls_unsignalled(stretch.calls, rule.frequency)
        key = f"{stretch.session[:12]} calls {stretch.calls // rule.frequency}"
        overdue.append(_item(stretch.wu_id, key, stretch.since, text))
    if rule.on_tests_pass and stretch.tests_passed:
        overdue.append(_item(stretch.wu_id, "tests", stretch.tests_passed, kinds.UNSIGNALLED_TESTS))
    if rule.on_milestone and stretch.milestone:
        overdue.append(_item(stretch.wu_id, "milestone", stretch.milestone, kinds.UNSIGNALLED_MILESTONE))
    return overdue


def _item(wu_id: str, key: str, since: float, text: str) -> Missing:
    return Missing(f"progress {wu_id} {key} {times.iso(since)}", f"{wu_id}: {text}", since)
