"""Receipts of the mouths that tell of transitions: written before anything is told, under the journal's lock.

So of two mouths of one name (two rooms of one operator) one tells. A terminal that dies in between has told nothing,
and nothing tells it again: a bell that did not ring is better than one that rings for ever. A mouth that sends writes a
second one with what came of it; without that, whoever has its name next sends again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.notifying import (
    REPEAT,
    SENDING,
    Receipts,
    Telling,
    ToldReceipt,
    receipts_for,
    with_outcome,
)
from lumen_tui.model.transitions import OpenItem
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower, Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

_LONG = 1024 * 1024  # bytes from which the journal is shortened
_receipt = lazy_decoder(ToldReceipt)


class ReceiptBook:
    """What one mouth has told, followed: another of its name may tell, too."""

    def __init__(self, layout: Layout, mouth: str) -> None:
        self._layout = layout
        self._mouth = mouth
        self._follower = Follower(layout.told)
        self._generation = self._follower.generation
        self.receipts = Receipts()

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> None:
        """Read what is new; what cannot be read is no receipt."""
        for offset, data in self._follower.pieces():
            self._begin_again()
            for _, line in split_lines(data, offset):
                self._take(line)
        self._begin_again()

    def _begin_again(self) -> None:
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self.receipts = Receipts()

    def _take(self, line: bytes) -> None:
        try:
            receipt = _receipt.decode(line)
        except UNDECODABLE:
            return
        if receipt.mouth == self._mouth:
            self.receipts.take(receipt)

    def tell(
        self,
        items: Iterable[OpenItem],
        decide: Callable[[Receipts], Telling],
        now: float,
        *,
        shown: bool = False,
        sends: bool = False,
    ) -> Telling:
        """Return what to tell now, once its receipts are durable. Raise files.StoreError, and nothing is to be told.

        A mouth that `sends` calls `settle` with what came of each message.
        """
        self.refresh()
        told = decide(self.receipts)
        if not told.transitions:
            return told
        with files.locked_log(self._layout.told) as fd:
            self.refresh()
            told = decide(self.receipts)
            written = receipts_for(self._mouth, told, items, now, shown=shown)
            if sends:
                written = with_outcome(written, self.receipts, SENDING)
            if written:
                files.append_locked(fd, b"".join([encode(receipt) for receipt in written]))
        return told

    def settle(self, told: Telling, items: Iterable[OpenItem], outcome: str, now: float, *, problem: str = "") -> None:
        """Write what came of sending; where the disk takes nothing, this process knows it all the same."""
        self.refresh()
        written = with_outcome(receipts_for(self._mouth, told, items, now), self.receipts, outcome, problem)
        for receipt in written:
            self.receipts.take(receipt)
        Journal(self._layout.told).append_all(written)


def newest_receipts(layout: Layout) -> dict[str, dict[str, ToldReceipt]]:
    """Return by transition and mouth the last receipt, for what was told for a person to hear."""
    receipts: dict[str, dict[str, ToldReceipt]] = {}
    for receipt in Journal(layout.told).records(ToldReceipt):
        if not receipt.shown:
            receipts.setdefault(receipt.transition, {})[receipt.mouth] = receipt
    return receipts


def shorten(layout: Layout, open_ids: set[str], now: float) -> None:
    """Drop receipts of what left the queue, once they are too old to keep the same from being told again."""
    try:
        if os.stat(layout.told).st_size <= _LONG:
            return
    except OSError:
        return

    def change(lines: Iterator[bytes]) -> list[bytes]:
        return [line for line in lines if _still_counts(line, open_ids, now)]

    Journal(layout.told).rewrite(change)


def _still_counts(line: bytes, open_ids: set[str], now: float) -> bool:
    try:
        receipt = _receipt.decode(line)
    except UNDECODABLE:
        return False
    return receipt.transition in open_ids or now - times.epoch(receipt.at) < REPEAT
