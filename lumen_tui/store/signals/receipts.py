"""Receipts: who has read which signal, and what becomes of them after signals were removed or withdrawn.

Those that cover earlier signals stay in force, orphaned ones are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from lumen_tui.model import jsontext, times
from lumen_tui.model.decoding import decoded
from lumen_tui.model.records import Receipt, decode_receipt
from lumen_tui.storage import backwards, files, locks, rewriting
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import holds
from lumen_tui.store.memory import nodes
from lumen_tui.store.work import open_sessions


def locate(fd: int, receipts: Iterable[Receipt]) -> dict[str, int]:
    """Return the offset of each receipt's signal; signals that are not in the journal are left out."""
    hints = {receipt.signal_id: receipt.offset for receipt in receipts}
    offsets = {name: offset for name, offset in hints.items() if holds(fd, offset, name)}
    others = nodes.newest(fd, hints.keys() - offsets.keys())
    return offsets | {name: offset for name, (offset, _) in others.items()}


def anchor(layout: Layout, anchors: dict[str, str]) -> None:
    """Before each receipt that covers a leaving signal and all before it, insert one for the signal that stays.

    In its place, not at the end: readers take what follows such a receipt for newer.
    """

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            receipt = decode_receipt(line)
            if receipt and receipt.upto and (stays := anchors.get(receipt.signal_id)):
                yield encode(Receipt(stays, receipt.read_at, receipt.reader, upto=True))[:-1]
            yield line

    rewriting.lines(layout.receipts, change)


class _SignalOffsets:
    """The offsets of signals now; missing ones have none."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.known: dict[str, int | None] = {}

    def resolve(self, receipts: list[Receipt]) -> None:
        """Look up the signals that were not looked up yet."""
        new = [receipt for receipt in receipts if receipt.signal_id not in self.known]
        offsets = _there(self._layout, new) if new else {}
        self.known.update({receipt.signal_id: offsets.get(receipt.signal_id) for receipt in new})


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
    """Count the receipts whose signal does not exist."""
    places = _SignalOffsets(layout)
    all_receipts = _all(layout)
    places.resolve(all_receipts)
    return sum(places.known[receipt.signal_id] is None for receipt in all_receipts)


def tidy(layout: Layout, *, moved: bool) -> int:
    """Drop orphaned receipts and, where signals `moved`, update each signal's offset. Return how many were dropped.

    What cannot be read stays as it is. A signal is looked up after its receipt was read, and was written before it:
    what is not found is gone.
    """
    if not layout.receipts.exists() or not (moved or orphans(layout)):
        return 0
    places = _SignalOffsets(layout)
    places.resolve(_all(layout))

    def change(lines: Iterator[bytes]) -> Iterator[bytes]:
        pairs = [(line, decode_receipt(line)) for line in lines]
        places.resolve([receipt for _, receipt in pairs if receipt])
        for line, receipt in pairs:
            place = places.known[receipt.signal_id] if receipt else None
            if receipt is None:
                yield line
            elif place is not None:
                yield line if receipt.offset == place else _placed(line, place)

    return rewriting.lines(layout.receipts, change)


def _placed(line: bytes, offset: int) -> bytes:
    """Return the receipt with its signal's current offset."""
    record = decoded(line)
    return encode({**record, "offset": offset})[:-1] if record else line


def read_before(layout: Layout, agent: str) -> str:
    """Return the signal up to which an agent, or an ended session of it, has read everything; empty for none.

    A new session begins to read there. A session that is still open is another reader.
    """
    try:
        fd = files.open_plain(layout.receipts)
    except FileNotFoundError:
        return ""
    over = set(open_sessions.names(f"{layout.root}/sessions/ended"))
    try:
        for _, line in backwards.lines(fd):
            receipt = decode_receipt(line) if b'"upto"' in line else None
            if receipt and receipt.upto and _is_earlier(layout, receipt.reader, agent, over):
                return receipt.signal_id
    finally:
        os.close(fd)
    return ""


def _is_earlier(layout: Layout, reader: str, agent: str, over: set[str]) -> bool:
    if reader == agent or reader not in over:
        return reader == agent
    session = open_sessions.load(open_sessions.path(layout.root, reader, ended=True))
    return session is not None and session.agent == agent


_MARKS = ("archived_at", "archive_reason")


def is_there(layout: Layout, signal_id: str) -> bool:
    """Return whether the signal is in the journal."""
    return bool(nodes.find(layout.signals, [signal_id]))


def readers(layout: Layout, signal_id: str) -> list[str]:
    """Return who has read a signal, in the order of receipts; its sender only where a receipt for all names it."""
    entry = nodes.find(layout.signals, [signal_id]).get(signal_id)
    if entry is None:
        return []
    offset, signal = entry
    receipts = [receipt for line in Journal(layout.receipts).lines() if (receipt := decode_receipt(line))]
    reach = _reach(layout, [receipt for receipt in receipts if receipt.upto])
    covered = [receipt for receipt in receipts if _covers(receipt, signal_id, offset, reach)]
    others = [
        receipt
        for receipt in covered
        if receipt.reader != signal.get("sender") or (receipt.upto and receipt.signal_id == signal_id)
    ]
    return list(dict.fromkeys(receipt.reader for receipt in others))


def _reach(layout: Layout, receipts: list[Receipt]) -> dict[str, int]:
    fd = files.open_plain(layout.signals)
    try:
        return locate(fd, receipts)
    finally:
        os.close(fd)


def _covers(receipt: Receipt, signal_id: str, offset: int, reach: dict[str, int]) -> bool:
    if receipt.signal_id == signal_id:
        return True
    return receipt.upto and reach.get(receipt.signal_id, -1) >= offset


def withdraw(layout: Layout, signal_id: str, *, by: str, now: float) -> None:
    """Move a signal to the archive. LookupError where it is not there."""
    with locks.waiting_lock(layout.lock("signal-cleanup")):
        records = nodes.find(layout.signals, [signal_id])
        if signal_id not in records:
            raise LookupError(signal_id)
        marks = {"archived_at": times.iso(now), "archive_reason": f"taken back by {by}"}
        files.append(layout.memory_archive, encode({**records[signal_id][1], **marks}))
        _drop(layout.signals, signal_id)


def bring_back(layout: Layout, signal_id: str) -> None:
    """Send a withdrawn signal again, after all that came since. LookupError where it is not in the archive."""
    with locks.waiting_lock(layout.lock("signal-cleanup")):
        records = nodes.find(layout.memory_archive, [signal_id])
        if signal_id not in records:
            raise LookupError(signal_id)
        record = {key: value for key, value in records[signal_id][1].items() if key not in _MARKS}
        files.append(layout.signals, encode(record))
        _drop(layout.memory_archive, signal_id)


def _drop(path: files.StrPath, signal_id: str) -> None:
    mark = f'"{signal_id}"'.encode()

    def without(lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if mark not in line or (jsontext.decode(line) or {}).get("id") != signal_id)

    rewriting.lines(path, without)
