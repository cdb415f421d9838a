"""Signals withdrawn by their sender before anybody read them: they move to archive.jsonl, and back from there."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lumen_tui.model import jsontext, times
from lumen_tui.model.records import Receipt, decode_receipt
from lumen_tui.storage import files, locks, rewriting
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import nodes
from lumen_tui.store.signals.receipts import locate

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
