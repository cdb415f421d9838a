"""A mouth: it takes from the journal of transitions what it is to tell now, with receipts first.

So of two mouths of one name (two rooms of one operator) one tells. Where no engine drives, whoever is there writes to
the journal that nobody does.
"""

from __future__ import annotations

import msgspec

from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.notifying import Message, Receipts, Telling, telling
from lumen_tui.model.schedules import ScheduleError
from lumen_tui.model.snapshot import Need, Snapshot
from lumen_tui.model.transition_rules import ages_of, due, item_of
from lumen_tui.model.transitions import OpenItem, QueueHistory, Transition, TransitionKind
from lumen_tui.storage.layout import Layout
from lumen_tui.store.attention.receipts import ReceiptBook
from lumen_tui.store.attention.transitions import TransitionBook

_UNLIMITED = 1_000_000


class Mouth:
    """One mouth by its name, such as `terminal ana`. Its calls touch the disk; not for use by two threads at once.

    One that `sends` calls `settle` with what came of each message, and is given again what failed.
    """

    def __init__(self, layout: Layout, name: str, *, sends: bool = False) -> None:
        self._book = ReceiptBook(layout, name)
        self._sends = sends

    def close(self) -> None:
        """Close the journal of receipts."""
        self._book.close()

    def take(self, items: tuple[OpenItem, ...], config: NotifyConfig, now: float, *, shown: bool = False) -> Telling:
        """Return what to tell of these items now; its receipts are written. Raise files.StoreError.

        What is `shown` to the person anyway gets its receipts, quiet hours or not, and is not to be told.
        """
        rules = msgspec.structs.replace(config, quiet="", most=_UNLIMITED) if shown else config
        offset = zone_offset(rules, now)

        def decide(receipts: Receipts) -> Telling:
            return telling(items, receipts, rules, now, offset)

        return self._book.tell(items, decide, now, shown=shown, sends=self._sends)

    def peek(self, items: tuple[OpenItem, ...], config: NotifyConfig, now: float) -> float:
        """Return when there is something to tell of these items next, in seconds since 1970; nothing is written."""
        told = telling(items, self._book.receipts, config, now, zone_offset(config, now))
        return now if told.transitions else told.again

    def settle(
        self, message: Message, items: tuple[OpenItem, ...], outcome: str, now: float, *, problem: str = ""
    ) -> None:
        """Record what came of sending a message. Raise files.StoreError."""
        told = Telling(message.transitions, digest=message.digest)
        self._book.settle(told, items, outcome, now, problem=problem)


def own_items(snapshot: Snapshot) -> tuple[OpenItem, ...]:
    """Return what waits by the journal and is on the queue of the snapshot's operator, too."""
    mine = {item_of(need) for need in snapshot.attention}
    return tuple(item for item in snapshot.waiting if item.transitions[0].item in mine)


def is_silent(snapshot: Snapshot) -> bool:
    """Return whether nobody drives, which the journal does not say yet."""
    needs = {item_of(need) for need in snapshot.attention if need.need is Need.ENGINE}
    known = {item.transitions[0].item for item in snapshot.waiting}
    return snapshot.engine.life is not EngineLife.ALIVE and not needs <= known


def record_silence(layout: Layout, snapshot: Snapshot, now: float) -> None:
    """Write to the journal that the engine is gone or hangs. That it is back it writes itself. Raise StoreError."""
    ages = ages_of(snapshot.config.notify)

    def missing(history: QueueHistory) -> list[Transition]:
        new = due(history, snapshot.attention, now, ages)
        return [each for each in new if each.need == Need.ENGINE and each.kind is TransitionKind.APPEARED]

    book = TransitionBook(layout)
    try:
        book.record(missing)
    finally:
        book.close()


def zone_offset(config: NotifyConfig, now: float) -> float:
    """Return by how many seconds the zone of the quiet hours is ahead of UTC; that of the machine for a wrong one."""
    if not config.quiet:
        return 0.0
    from datetime import datetime  # only where there are quiet hours

    from lumen_tui.store.schedules.timing import local_zone, zone_of

    try:
        zone = zone_of(config.zone or local_zone())
    except ScheduleError:
        zone = zone_of(local_zone())
    shift = datetime.fromtimestamp(now, zone).utcoffset()
    return shift.total_seconds() if shift else 0.0
