"""Which transitions the journal lacks, by what it says already and by the queue as it is now.

So whoever was killed in between writes what is missing, and nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lumen_tui.model import ids, times
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import OpenItem, QueueHistory, Transition, TransitionKind

_TEXT = 300  # characters of an item
_NUMBER = lazy_re(r"\d+")


class Ages(NamedTuple):
    """When an item that waits is a transition again: after so many seconds, and so many before it expires."""

    after: tuple[float, ...] = ()
    closing: float = 0.0


def ages_of(config: NotifyConfig) -> Ages:
    """Return when an item that waits is a transition again, by the settings."""
    hours = tuple(hours * times.HOUR for hours in config.aged_hours)
    return Ages(hours, config.closing_minutes * times.MINUTE)


def item_of(need: Attention) -> str:
    """Return the name of an item: that of its row, where a count or a time in a problem's words makes no new one."""
    return _NUMBER.sub("#", need.key) if need.need is Need.PROBLEM else need.key


def due(history: QueueHistory, queue: Iterable[Attention], now: float, ages: Ages) -> list[Transition]:
    """Return the transitions that the journal lacks, of items that left first; how those left is not known here."""
    needs = {item_of(need): need for need in queue}
    gone = [_gone(known, now) for item, known in history.open.items() if item not in needs]
    return [*gone, *_risen(history, needs, now, ages)]


def _gone(known: OpenItem, now: float) -> Transition:
    first = known.transitions[0]
    return Transition(
        id=_id(first.item, TransitionKind.GONE, now),
        at=times.iso(now),
        kind=TransitionKind.GONE,
        item=first.item,
        need=first.need,
        target=first.target,
        text=first.text,
    )


def _risen(history: QueueHistory, needs: Mapping[str, Attention], now: float, ages: Ages) -> Iterator[Transition]:
    for item, need in needs.items():
        known = history.open.get(item)
        if known is None:
            yield _of(item, need, TransitionKind.APPEARED, now, back=item in history.snoozed)
            continue
        if (waited := _passed(known, now, ages.after)) > known.waited:
            yield _of(item, need, TransitionKind.AGED, now, waited=waited)
        if now >= _closing_from(known, need, ages):
            yield _of(item, need, TransitionKind.CLOSING, now)


def _closing_from(known: OpenItem, need: Attention, ages: Ages) -> float:
    """Return when it is a transition that an item expires soon; never where it did so when it appeared."""
    moment = need.closes - ages.closing
    late = not (need.closes and ages.closing) or moment <= known.since
    return float("inf") if late or known.closing else moment


def _passed(known: OpenItem, now: float, after: tuple[float, ...]) -> float:
    """Return the greatest of these ages that an item has passed."""
    return max((age for age in after if now - known.since >= age), default=0.0)


def next_due(history: QueueHistory, queue: Iterable[Attention], ages: Ages) -> float:
    """Return when time alone makes the next transition, in seconds since 1970."""
    moments = [float("inf")]
    for need in queue:
        if known := history.open.get(item_of(need)):
            moments += [known.since + age for age in ages.after if age > known.waited]
            moments.append(_closing_from(known, need, ages))
    return min(moments)


def _of(
    item: str, need: Attention, kind: TransitionKind, now: float, *, waited: float = 0.0, back: bool = False
) -> Transition:
    return Transition(
        id=_id(item, kind, now),
        at=times.iso(now),
        kind=kind,
        item=item,
        need=need.need.value,
        target=need.target,
        text=one_line(need.text, _TEXT),
        closes=times.iso(need.closes) if need.closes else "",
        waited=waited,
        back=back,
    )


def _id(item: str, kind: TransitionKind, now: float) -> str:
    return f"ntf-{ids.short_hash(f'{item} {kind} {now:.3f}')}"
