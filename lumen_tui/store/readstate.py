"""Which signals are read for the purpose of keeping them: by whom they are for, or by everybody who reads here."""

from __future__ import annotations

import msgspec

from lumen_tui.model import times
from lumen_tui.model.records import EVERYONE, Receipt
from lumen_tui.store.journal import Journal
from lumen_tui.store.layout import Layout

_receipt = msgspec.json.Decoder(Receipt).decode


class Slim(msgspec.Struct, gc=False):
    """As much of a signal as retention needs."""

    id: str
    created_at: str = ""
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    read: bool = False


_slim = msgspec.json.Decoder(Slim).decode


def slim(line: bytes) -> Slim | None:
    """The signal in `line`; None where there is none that can be judged."""
    try:
        found = _slim(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if found.id else None


def decode_receipt(line: bytes) -> Receipt | None:
    """The receipt in `line`, None where there is none."""
    try:
        return _receipt(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class ReadState:
    """What every reader has read.

    A signal to one agent is read when that agent read it. Any other is read when each reader did who has
    looked into the inbox since `active_since`; a legacy receipt without a reader counts for everybody.
    """

    def __init__(self, layout: Layout, active_since: float) -> None:
        self._single: dict[str, set[str]] = {}  # reader -> ids
        self._upto: dict[str, set[str]] = {}  # reader -> ids of "that one and all before"
        last: dict[str, float] = {}
        for line in Journal(layout.receipts).lines():
            receipt = decode_receipt(line)
            if receipt is None:
                continue
            kind = self._upto if receipt.upto else self._single
            kind.setdefault(receipt.reader, set()).add(receipt.signal_id)
            last[receipt.reader] = max(last.get(receipt.reader, 0.0), times.epoch(receipt.read_at))
        known = [reader for reader in last if reader != EVERYONE]
        self._readers = [reader for reader in known if last[reader] >= active_since] or known
        self._cover(layout)

    def _cover(self, layout: Layout) -> None:
        """Where each reader's furthest `upto` stands, as an ordinal among the signals."""
        self._reach: dict[str, int] = {}
        wanted = {name for names in self._upto.values() for name in names}
        for ordinal, line in enumerate(Journal(layout.signals).lines() if wanted else ()):
            signal = slim(line)
            if signal is None or signal.id not in wanted:
                continue
            for reader, names in self._upto.items():
                if signal.id in names:
                    self._reach[reader] = ordinal

    def is_read(self, signal: Slim, ordinal: int) -> bool:
        """Whether nobody misses this signal any more; `ordinal` is its line's number from 0."""
        if signal.read or self._has_read(EVERYONE, signal, ordinal):
            return True
        readers = [signal.target_agent] if signal.target_agent else self._readers
        return bool(readers) and all(
            reader == signal.sender or self._has_read(reader, signal, ordinal) for reader in readers
        )

    def _has_read(self, reader: str, signal: Slim, ordinal: int) -> bool:
        return ordinal <= self._reach.get(reader, -1) or signal.id in self._single.get(reader, ())
