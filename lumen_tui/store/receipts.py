"""Receipts after signals have left: those that cover earlier signals stay in force, orphaned ones go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from lumen_tui.store import files
from lumen_tui.store.journal import Journal, encode, whole_lines
from lumen_tui.store.layout import Layout
from lumen_tui.store.readstate import decode_receipt, slim


def covering(layout: Layout) -> set[str]:
    """The signals that some receipt names as "that one and all before"."""
    receipts = [decode_receipt(line) for line in Journal(layout.receipts).lines()]
    return {receipt.signal_id for receipt in receipts if receipt and receipt.upto}


def anchor(layout: Layout, anchors: dict[str, str]) -> None:
    """Before each receipt that covers a leaving signal and all before it, put one for the signal that stays.

    In its place, not at the end: readers take what stands behind such a receipt for newer.
    """

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            receipt = decode_receipt(line)
            if receipt and receipt.upto and (stays := anchors.get(receipt.signal_id)):
                record = {**msgspec.json.decode(line), "signal_id": stays}
                record.pop("offset", None)
                yield encode(record)[:-1]
            yield line

    Journal(layout.receipts).rewrite(change)


def orphans(layout: Layout) -> int:
    """How many receipts belong to no signal there is."""
    names = _names(Journal(layout.receipts).lines())
    there = _offsets(layout, set(names))
    return sum(name not in there for name in names)


def tidy(layout: Layout, *, moved: bool) -> int:
    """Drop orphaned receipts and, where signals `moved`, renew where each signal begins. Returns how many went.

    What cannot be read stays as it is. Signals are looked up after the receipts were locked: whatever a receipt
    in the file is about was written before it.
    """
    if not layout.receipts.exists() or not (moved or orphans(layout)):
        return 0
    gone = 0

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal gone
        every = list(lines)
        there = _offsets(layout, set(_names(every)))
        for line in every:
            receipt = decode_receipt(line)
            if receipt is None:
                yield line
            elif receipt.signal_id in there:
                yield _placed(line, there[receipt.signal_id])
            else:
                gone += 1

    Journal(layout.receipts).rewrite(change)
    return gone


def _placed(line: bytes, offset: int) -> bytes:
    """The receipt with the place where its signal begins now."""
    record = msgspec.json.decode(line)
    if record.get("offset") == offset:
        return line
    return encode({**record, "offset": offset})[:-1]


def _names(lines: Iterable[bytes]) -> list[str]:
    return [receipt.signal_id for line in lines if (receipt := decode_receipt(line))]


def _offsets(layout: Layout, wanted: set[str]) -> dict[str, int]:
    """Where the line of each wanted signal begins; those that are not there are left out."""
    found: dict[str, int] = {}
    try:
        fd = files.open_plain(layout.signals)
    except FileNotFoundError:
        return found
    try:
        offset = 0
        for line in whole_lines(fd):
            signal = slim(line)
            if signal and signal.id in wanted:
                found[signal.id] = offset
            offset += len(line) + 1
    finally:
        os.close(fd)
    return found
