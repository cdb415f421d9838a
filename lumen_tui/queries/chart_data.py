"""What the charts draw, in bins of time: loops, spend and tokens of the past, what expires, roles, and the queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct

from lumen_tui.model import budget, times
from lumen_tui.model.analytics import Stats
from lumen_tui.model.loop import Packet
from lumen_tui.model.spendbook import NOTHING, SLOT, Amount, Book
from lumen_tui.model.tasks import Status, TaskView, live_ones
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import LedgerReader
from lumen_tui.store.memory.loop_records import recent_packets
from lumen_tui.store.settings.config import load_config

_PACKETS = 5_000  # of the newest: a longer past is cut there, and said to be
_SHORT = 0.001  # seconds that a loop has at least, so that its bin is not empty
QUEUED = 12  # tasks that are named


class Span(Struct, frozen=True):
    """A stretch of time in bins of `seconds` each."""

    name: str
    bins: int
    seconds: float

    @property
    def total(self) -> float:
        """Its length in seconds."""
        return self.bins * self.seconds

    @property
    def bin_name(self) -> str:
        """What one bin is."""
        return "hour" if self.seconds == times.HOUR else "day"


SPANS = (Span("24 h", 24, times.HOUR), Span("7 d", 7, times.DAY), Span("30 d", 30, times.DAY))


class LoopBins(Struct, frozen=True):
    """Loops by the bin in which they ended, the oldest bin first."""

    seconds: tuple[float, ...]  # the median duration; 0 without a loop
    failed: frozenset[int]  # bins in which a loop failed
    count: int = 0
    failures: int = 0
    typical: float = 0.0  # the median of all
    cut: bool = False  # older ones were not read


class QueuedTask(Struct, frozen=True):
    """A queued task and for how long it has waited."""

    task_id: str
    title: str
    seconds: float


class ChartData(Struct, frozen=True):
    """Everything that is drawn of one span. Bins of the past end now, those of decay begin now."""

    span: Span
    at: float
    loops: LoopBins
    usd: tuple[float, ...]
    tokens: tuple[float, ...]
    expiring: tuple[int, ...]
    roles: tuple[Stats, ...]
    queue: tuple[QueuedTask, ...]  # longest first
    queued: int = 0


def read_charts(
    layout: Layout,
    span: Span,
    now: float,
    tasks: Sequence[TaskView],
    roles: Sequence[Stats],
    due: Callable[[float], int],
) -> ChartData:
    """Read the journals. `due` tells how many nodes are below the threshold at a moment."""
    spent = spend_bins(_book(layout), span, now, load_config(layout)[0].budget.day_starts)
    queue = queue_ages(tasks, now)
    return ChartData(
        span=span,
        at=now,
        loops=loop_bins(recent_packets(layout, _PACKETS), span, now),
        usd=tuple(amount.usd for amount in spent),
        tokens=tuple(float(amount.tokens) for amount in spent),
        expiring=expiring_bins(due, span, now),
        roles=tuple(sorted((stats for stats in roles if stats.done + stats.failed), key=lambda stats: -stats.tasks)),
        queue=tuple(queue[:QUEUED]),
        queued=len(queue),
    )


def _book(layout: Layout) -> Book:
    ledger = LedgerReader(layout)
    try:
        ledger.refresh()
        return ledger.book
    finally:
        ledger.close()


def loop_bins(packets: Sequence[Packet], span: Span, now: float) -> LoopBins:
    """Return the loops of a span; `packets` are the newest, the oldest of them first."""
    durations: Mapping[int, list[float]] = defaultdict(list)
    failed: list[int] = []
    for packet in packets:
        place = _bin_of(times.epoch(packet.completed_at), span, now)
        if place is not None:
            durations[place].append(packet.seconds)
            failed += [place] if packet.failed else []
    every = [seconds for listed in durations.values() for seconds in listed]
    oldest = times.epoch(packets[0].completed_at) if packets else now
    return LoopBins(
        seconds=tuple(
            max(_SHORT, median(durations[place])) if place in durations else 0.0 for place in range(span.bins)
        ),
        failed=frozenset(failed),
        count=len(every),
        failures=len(failed),
        typical=median(every) if every else 0.0,
        cut=len(packets) == _PACKETS and oldest > now - span.total,
    )


def _bin_of(at: float, span: Span, now: float) -> int | None:
    """Return the bin of a moment, the last one being the present; None outside of the span."""
    elapsed = now - at
    return span.bins - 1 - int(elapsed // span.seconds) if 0 <= elapsed < span.total else None


def spend_bins(book: Book, span: Span, now: float, day_starts: str) -> list[Amount]:
    """Return what was spent in each bin: hours are added up from the ledger's slots, days are the budget's days."""
    if span.seconds == times.HOUR:
        return _hours(book.slots, span, now)
    days = [budget.day_of(now - place * times.DAY, day_starts) for place in range(span.bins)]
    return [book.days.get(day, NOTHING) for day in reversed(days)]


def _hours(slots: Mapping[int, Amount], span: Span, now: float) -> list[Amount]:
    totals = [NOTHING] * span.bins
    for slot, amount in slots.items():
        place = _bin_of(slot * SLOT, span, now)
        if place is not None:
            totals[place] = totals[place].plus(amount)
    return totals


def expiring_bins(due: Callable[[float], int], span: Span, now: float) -> tuple[int, ...]:
    """Return how many nodes reach the threshold in each bin from now on."""
    counts = [due(now + place * span.seconds) for place in range(span.bins + 1)]
    return tuple(max(0, after - before) for before, after in pairwise(counts))


def queue_ages(tasks: Iterable[TaskView], now: float) -> list[QueuedTask]:
    """Return the queued tasks, the one that waits longest first."""
    queued = [view for view in live_ones(tasks) if view.status is Status.QUEUED]
    waiting = [
        QueuedTask(view.id, view.spec.objective, max(0.0, now - times.epoch(view.spec.created_at, now)))
        for view in queued
    ]
    return sorted(waiting, key=lambda task: -task.seconds)
