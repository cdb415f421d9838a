"""Receipts after signals have left: those that cover earlier signals stay in force, orphaned ones go."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lumen_tui.model.decoding import decoded
from lumen_tui.model.records import Receipt
from lumen_tui.storage import files, rewriting
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.signals.read_state import decode_receipt, locate


def anchor(layout: Layout, anchors: dict[str, str]) -> None:
    """Before each receipt that covers a leaving signal and all before it, put one for the signal that stays.

    In its place, not at the end: readers take what stands behind such a receipt for newer.
    """

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            receipt = decode_receipt(line)
            if receipt and receipt.upto and (stays := anchors.get(receipt.signal_id)):
                yield encode(Receipt(stays, receipt.read_at, receipt.reader, upto=True))[:-1]
            yield line

    rewriting.lines(layout.receipts, change)


class _Places:
    """Where signals stand now; those that are not there have none."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.known: dict[str, int | None] = {}

    def resolve(self, receipts: list[Receipt]) -> None:
        """Look up what was not looked up yet."""
        new = [receipt for receipt in receipts if receipt.signal_id not in self.known]
        found = _there(self._layout, new) if new else {}
        self.known.update({receipt.signal_id: found.get(receipt.signal_id) for receipt in new})


def _there(layout: Layout, receipts: list[Receipt]) -> dict[str, int]:
    try:
        fd = files.open_plain(layout.signals)
    except FileNotFoundError:
        return {}
    try:
        return locate(fd, receipts)
    finally:
        os.close(fd)


def _all(layout: Layout) -> list[Receipt]:
    return [receipt for line in Journal(layout.receipts).lines() if (receipt := decode_receipt(line))]


def orphans(layout: Layout) -> int:
    """How many receipts belong to no signal there is."""
    there, found = _Places(layout), _all(layout)
    there.resolve(found)
    return sum(there.known[receipt.signal_id] is None for receipt in found)


def tidy(layout: Layout, *, moved: bool) -> int:
    """Drop orphaned receipts and, where signals `moved`, renew where each signal begins. Returns how many went.

    What cannot be read stays as it is. A signal is looked up after its receipt was seen, and it was written before
    that: what is not found is gone.
    """
    if not layout.receipts.exists() or not (moved or orphans(layout)):
        return 0
    there = _Places(layout)
    there.resolve(_all(layout))

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        every = [(line, decode_receipt(line)) for line in lines]
        there.resolve([receipt for _, receipt in every if receipt])
        for line, receipt in every:
            place = there.known[receipt.signal_id] if receipt else None
            if receipt is None:
                yield line
            elif place is not None:
                yield line if receipt.offset == place else _placed(line, place)

    return rewriting.lines(layout.receipts, change)


def _placed(line: bytes, offset: int) -> bytes:
    """The receipt with the place where its signal begins now."""
    record = decoded(line)
    return encode({**record, "offset": offset})[:-1] if record else line
