"""A reader's unread signals, newest first, found from the end of two journals: cost does not grow with history.

On the path of the hot verbs, as `raw_json` is: no heavy imports.
"""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import decode, text_of
from lumen_tui.storage import backwards, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lumen_tui.model.jsontext import Raw

_EVERYONE = "*"  # the reader of a legacy receipt, which names none
_EVERYONE_TEXT = b'"*"'
_OVERLAP = 64 * 1024  # bytes


class SignalReceipts:
    """The receipts that count for one reader, from the end back to where an `upto` covers the rest.

    Receipts of signals after that one can be a little before it, where two read at the same moment.
    """

    def __init__(self, fd: int, signals: int, reader: str) -> None:
        self._signals = signals
        self._readers = ("", _EVERYONE, reader)
        self.read: set[str] = set()
        self.upto = -1  # every signal that begins at this offset or before is read
        self.upto_ids: set[str] = set()  # the same, where the offset is not known
        if fd >= 0:
            self._load(fd, reader)

    def _load(self, fd: int, reader: str) -> None:
        reader_bytes = reader.encode() if reader.isascii() else b""  # other letters may be escaped in the journal
        until = -1
        for offset, line in backwards.lines(fd):
            if offset < until:
                return
            if (b'"reader"' in line and reader_bytes not in line and b"\\" not in line) and _EVERYONE_TEXT not in line:
                continue  # somebody else's
            receipt = decode(line)
            if receipt and self._take(receipt) and until < 0:
                until = offset - _OVERLAP

    def _take(self, receipt: Raw) -> bool:
        """Note a receipt; return whether it covers everything before."""
        signal_id = text_of(receipt, "signal_id")
        if not signal_id or text_of(receipt, "reader") not in self._readers:
            return False
        if receipt.get("upto") is not True:
            self.read.add(signal_id)
            return False
        offset = receipt.get("offset")
        if isinstance(offset, int) and self._is_at(signal_id, offset):
            self.upto = max(self.upto, offset)
        else:
            self.upto_ids.add(signal_id)
        return True

    def _is_at(self, signal_id: str, offset: int) -> bool:
        """Return whether that signal's line really begins there: a rewrite moves lines."""
        signal = decode(backwards.line_at(self._signals, offset))
        return signal is not None and signal.get("id") == signal_id


class InboxPage:
    """A page of unread signals. `signals` holds (offset, signal), newest first."""

    def __init__(self) -> None:
        self.signals: list[tuple[int, Raw]] = []
        self.more = False  # older unread ones were left out
        self.damaged = 0
        self.newest: tuple[str, int] | None = None  # id and offset of the last signal there is


def _open(path: str) -> int:
    try:
        return files.open_plain(path)
    except FileNotFoundError:
        return -1


def unread(memory: str, reader: str, limit: int, is_wanted: Callable[[Raw], bool] | None = None) -> InboxPage:
    """Return the newest `limit` signals in the folder `memory` that `reader` has not read and `is_wanted` accepts."""
    signals = _open(f"{memory}/signals.jsonl")
    if signals < 0:
        return InboxPage()
    receipts = _open(f"{memory}/signal-receipts.jsonl")
    try:
        return _walk(signals, SignalReceipts(receipts, signals, reader), limit, is_wanted)
    finally:
        os.close(signals)
        if receipts >= 0:
            os.close(receipts)


def _walk(signals: int, receipts: SignalReceipts, limit: int, is_wanted: Callable[[Raw], bool] | None) -> InboxPage:
    page = InboxPage()
    seen = receipts.read  # each is shown once, even if it is there twice
    for offset, line in backwards.lines(signals):
        if offset <= receipts.upto:
            break
        signal = decode(line)
        signal_id = text_of(signal, "id") if signal else ""
        if signal is None or not signal_id:
            page.damaged += bool(line.strip())
            continue
        page.newest = page.newest or (signal_id, offset)
        if signal_id in receipts.upto_ids:
            break
        if signal.get("read") is True or signal_id in seen or (is_wanted and not is_wanted(signal)):
            continue
        if len(page.signals) >= limit:
            page.more = True
            break
        seen.add(signal_id)
        page.signals.append((offset, signal))
    return page


def newest(path: str) -> tuple[str, int] | None:
    """Return the id and offset of the last signal in the journal at `path`; None where there is none."""
    fd = _open(path)
    if fd < 0:
        return None
    try:
        for offset, line in backwards.lines(fd):
            signal = decode(line)
            if signal and text_of(signal, "id"):
                return signal["id"], offset
    finally:
        os.close(fd)
    return None
