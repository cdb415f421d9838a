"""Which signals are read for the purpose of keeping them: by whom they are for, or by everybody who reads here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from lumen_tui.model import times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.records import EVERYONE, Receipt
from lumen_tui.storage import raw_json
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_numbers import LineMap, holds
from lumen_tui.store.memory import nodes
from lumen_tui.store.work import open_sessions

_receipt = msgspec.json.Decoder(Receipt).decode
_NEVER = datetime.max.replace(tzinfo=UTC)


class Slim(msgspec.Struct, gc=False):
    """As much of a signal as retention needs. One without a date that can be read counts as new."""

    id: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)] = _NEVER
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


class _Loose(msgspec.Struct):
    id: str
    created_at: str = ""
    wu_id: str = ""
    lane: str = ""
    sender: str = ""
    target_agent: str = ""
    session_id: str = ""
    read: bool = False


_strict = msgspec.json.Decoder(Slim)
_loose = msgspec.json.Decoder(_Loose).decode


def slim(line: bytes) -> Slim | None:
    """The signal in `line`; None where there is none that can be judged."""
    try:
        found = _loose(line)
    except UNDECODABLE:
        return None
    try:
        created = datetime.fromtimestamp(times.parse_iso(found.created_at), UTC)
    except (ValueError, OverflowError, OSError):
        created = _NEVER
    signal = Slim(
        found.id, created, found.wu_id, found.lane, found.sender, found.target_agent, found.session_id, found.read
    )
    return signal if found.id else None


def slims(block: bytes) -> Sequence[Slim | None]:
    """One for each of the whole lines of `block`: in one go where all of them are as they should be."""
    try:
        found = _strict.decode_lines(block)
        if len(found) == block.count(b"\n") and all(signal.id for signal in found):
            return found
    except UNDECODABLE:
        pass
    return [slim(line) for line in block.split(b"\n")[:-1]]


def decode_receipt(line: bytes) -> Receipt | None:
    """The receipt in `line`, None where there is none."""
    try:
        return _receipt(line)
    except UNDECODABLE:
        return None


def locate(fd: int, receipts: Iterable[Receipt]) -> dict[str, int]:
    """Where the line of each receipt's signal begins; signals that are not there are left out."""
    hints = {receipt.signal_id: receipt.offset for receipt in receipts}
    found = {name: offset for name, offset in hints.items() if holds(fd, offset, name)}
    others = nodes.newest(fd, hints.keys() - found.keys())
    return found | {name: offset for name, (offset, _) in others.items()}


def _present(layout: Layout, since: float) -> set[str]:
    """Sessions that are open, and operators who have looked into the room, since that moment."""
    root = os.fspath(layout.root)
    found = {one.session_id for one in open_sessions.live(root) if times.epoch(one.started_at) >= since}
    for name in open_sessions.names(f"{root}/sessions/operators"):
        seen = raw_json.read(f"{root}/sessions/operators/{name}.json") or {}
        if isinstance(seen.get("operator"), str) and times.epoch(str(seen.get("last_seen"))) >= since:
            found.add(seen["operator"])
    return found


class ReadState:
    """What every reader has read of the signals in an open file.

    A signal to one agent is read when that agent read it. Any other is read when every known reader did: who has
    looked into the inbox or the room since `active_since`, and the sessions that are open. A legacy receipt without a
    reader counts for everybody. A session that is over is no reader any more, and what was sent to it is to all.
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

    def is_read(self, signal: Slim, ordinal: int) -> bool:
        """Whether nobody misses this signal any more; `ordinal` is its line's number from 0."""
        if signal.read or self._has_read(EVERYONE, signal, ordinal):
            return True
        to = self.addressee(signal)
        readers = [to] if to else self._readers
        return bool(readers) and all(
            reader in (signal.sender, signal.session_id) or self._has_read(reader, signal, ordinal)
            for reader in readers
        )

    def addressee(self, signal: Slim) -> str:
        """The one reader that a signal is for; nothing where it is for all. What is read inline was to that one."""
        if signal.read:
            return EVERYONE
        return "" if signal.target_agent in self._over else signal.target_agent

    def _has_read(self, reader: str, signal: Slim, ordinal: int) -> bool:
        return ordinal <= self._reach.get(reader, -1) or signal.id in self._single.get(reader, ())
