"""Which signals count as read for retention: read by their addressee, or by everybody who reads here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import EVERYONE, Receipt
from lumen_tui.storage import backwards, files, raw_json
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import LineMap, holds
from lumen_tui.store.memory import nodes
from lumen_tui.store.work import open_sessions

_receipt = msgspec.json.Decoder(Receipt).decode
_NEVER = datetime.max.replace(tzinfo=UTC)


class RetainedSignal(msgspec.Struct, gc=False):
    """The fields of a signal that retention needs. One without a readable date counts as new."""

    id: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)] = _NEVER
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


class _UndatedSignal(msgspec.Struct):
    id: str
    created_at: str = ""
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


_strict = msgspec.json.Decoder(RetainedSignal)
_loose = msgspec.json.Decoder(_UndatedSignal).decode


def read_signal(line: bytes) -> RetainedSignal | None:
    """Return the signal in `line`; None where there is none that can be judged."""
    try:
        loose = _loose(line)
    except UNDECODABLE:
        return None
    try:
        created = datetime.fromtimestamp(times.parse_iso(loose.created_at), UTC)
    except (ValueError, OverflowError, OSError):
        created = _NEVER
    signal = RetainedSignal(
        loose.id, created, loose.wu_id, loose.lane, loose.sender, loose.target_agent, loose.session_id, loose.read
    )
    return signal if loose.id else None


def read_signals(block: bytes) -> Sequence[RetainedSignal | None]:
    """Return the signal of each whole line of `block`: decoded at once where all of them are valid."""
    try:
        parsed = _strict.decode_lines(block)
        if len(parsed) == block.count(b"\n") and all(signal.id for signal in parsed):
            return parsed
    except UNDECODABLE:
        pass
    return [read_signal(line) for line in block.split(b"\n")[:-1]]


def decode_receipt(line: bytes) -> Receipt | None:
    """Return the receipt in `line`; None where there is none."""
    try:
        return _receipt(line)
    except UNDECODABLE:
        return None


def locate(fd: int, receipts: Iterable[Receipt]) -> dict[str, int]:
    """Return the offset of each receipt's signal; signals that are not in the journal are left out."""
    hints = {receipt.signal_id: receipt.offset for receipt in receipts}
    offsets = {name: offset for name, offset in hints.items() if holds(fd, offset, name)}
    others = nodes.newest(fd, hints.keys() - offsets.keys())
    return offsets | {name: offset for name, (offset, _) in others.items()}


def _present(layout: Layout, since: float) -> set[str]:
    """Return the sessions that are open, and the operators seen in the room, since that moment."""
    root = os.fspath(layout.root)
    readers = {session.session_id for session in open_sessions.live(root) if times.epoch(session.started_at) >= since}
    for name in open_sessions.names(f"{root}/sessions/operators"):
        record = raw_json.read(f"{root}/sessions/operators/{name}.json") or {}
        if isinstance(record.get("operator"), str) and times.epoch(str(record.get("last_seen"))) >= since:
            readers.add(record["operator"])
    return readers


class ReadState:
    """What every reader has read of the signals in an open file.

    A signal to one agent is read when that agent read it. Any other is read when every known reader did: those who
    opened the inbox or the room since `active_since`, and the open sessions. A legacy receipt without a reader counts
    for everybody. A session that is over is no longer a reader, and what was sent to it counts as sent to all.
    """

    def __init__(self, layout: Layout, fd: int, lines: LineMap, active_since: float) -> None:
        self._single: dict[str, set[str]] = {}  # reader -> ids
        self._reach: dict[str, int] = {}  # reader -> number of the line up to which all is read
        upto: list[Receipt] = []
        last: dict[str, float] = {}
        for line in Journal(layout.receipts).lines():
            receipt = decode_receipt(line)
            if receipt is None:
                continue
            if receipt.upto:
                upto.append(receipt)
            else:
                self._single.setdefault(receipt.reader, set()).add(receipt.signal_id)
            last[receipt.reader] = max(last.get(receipt.reader, 0.0), times.epoch(receipt.read_at))
        self._cover(fd, lines, upto)
        self._over = frozenset(open_sessions.names(f"{layout.root}/sessions/ended"))
        known = [reader for reader in last if reader != EVERYONE and reader not in self._over]
        recent = {reader for reader in known if last[reader] >= active_since} | _present(layout, active_since)
        self._readers = list(recent or known)
        by_all = min((self._reach.get(reader, -1) for reader in self._readers), default=-1)
        self.floor = max(by_all, self._reach.get(EVERYONE, -1))  # up to this line everybody has read what is for all

    def _cover(self, fd: int, lines: LineMap, upto: list[Receipt]) -> None:
        where = locate(fd, upto)
        for receipt in upto:
            offset = where.get(receipt.signal_id, lines.end)
            if offset < lines.end:
                self._reach[receipt.reader] = max(self._reach.get(receipt.reader, -1), lines.ordinal(offset))

    def is_read(self, signal: RetainedSignal, ordinal: int) -> bool:
        """Return whether all who should read this signal have; `ordinal` is its line's number from 0."""
        if signal.read or self._has_read(EVERYONE, signal, ordinal):
            return True
        to = self.addressee(signal)
        readers = [to] if to else self._readers
        return bool(readers) and all(
            reader in (signal.sender, signal.session_id) or self._has_read(reader, signal, ordinal)
            for reader in readers
        )

    def addressee(self, signal: RetainedSignal) -> str:
        """Return the one reader that a signal is for; empty where it is for all. One marked as read is for everyone."""
        if signal.read:
            return EVERYONE
        return "" if signal.target_agent in self._over else signal.target_agent

    def _has_read(self, reader: str, signal: RetainedSignal, ordinal: int) -> bool:
        return ordinal <= self._reach.get(reader, -1) or signal.id in self._single.get(reader, ())


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
