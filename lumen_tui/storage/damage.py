"""Damaged lines: counted, shown, kept in quarantine, and never in the way of the others."""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.snapshot import Problem
from lumen_tui.storage import files
from lumen_tui.storage.journal import PIECE, Follower, Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

_CONFIRMATIONS = "memory/confirmations.jsonl"
_KEEP = 100  # damaged lines held in memory for one file


class Quarantined(msgspec.Struct, frozen=True):
    """One line of quarantine/quarantine.jsonl."""

    where: str
    offset: int
    reason: str
    sha256: str
    line: str  # its beginning, as text
    found_at: str


class Followed(Protocol):
    """What is asked of whoever follows a journal."""

    @property
    def generation(self) -> int: ...
    @property
    def overlong(self) -> list[int]: ...


class Damage:
    """What one journal's follower found unreadable."""

    def __init__(self, name: str, follower: Followed) -> None:
        self.name = name
        self.count = 0
        self.lines: dict[int, tuple[str, bytes]] = {}  # offset -> reason and line
        self._follower = follower
        self._generation = follower.generation

    def add(self, offset: int, line: bytes, reason: str) -> None:
        self._begin_again()
        self.count += 1
        if len(self.lines) < _KEEP:
            self.lines[offset] = (reason, line)

    def _begin_again(self) -> None:
        """Forget what was found in a file that another has taken the place of: the doctor mends them so."""
        if self._generation != self._follower.generation:
            self._generation, self.count = self._follower.generation, 0
            self.lines.clear()

    def problems(self) -> list[Problem]:
        """One problem for the file, naming where the first damage stands."""
        self._begin_again()
        found = []
        if self.count:
            first, (reason, _) = next(iter(self.lines.items()))
            what = f"{self.count} damaged line{'s' if self.count > 1 else ''}, the first at byte {first}: {reason}"
            found.append(Problem(where=self.name, what=what, hint="the other lines are in use"))
        if self._follower.overlong:
            what = f"a line over 1 MiB at byte {self._follower.overlong[0]} was passed over"
            found.append(Problem(where=self.name, what=what))
        return found


class _HasId(msgspec.Struct):
    """The least a record must have."""

    id: str


class _HasFactId(msgspec.Struct):
    """The same of a confirmation."""

    fact_id: str


class DamageScan:
    """Looks through the shared journals for damaged lines, each byte once, and keeps what it finds.

    How far it came is remembered in index/, which may be deleted: quarantine knows what it holds.
    """

    BUDGET = 16 * 1024 * 1024  # bytes of one journal looked through in one call

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._place = layout.index / "damage-scan.json"
        self._known = known_lines(layout)
        self._followers = {
            "memory/memory.jsonl": Follower(layout.memory),
            "memory/signals.jsonl": Follower(layout.signals),
            "memory/archival.jsonl": Follower(layout.archival),
            _CONFIRMATIONS: Follower(layout.confirmations),
        }
        self._decoders = dict.fromkeys(self._followers, msgspec.json.Decoder(_HasId).decode)
        self._decoders[_CONFIRMATIONS] = msgspec.json.Decoder(_HasFactId).decode  # type: ignore[assignment]
        self._resume()

    def _resume(self) -> None:
        try:
            places = msgspec.json.decode(files.read(self._place) or b"{}", type=dict[str, tuple[int, int, int]])
        except UNDECODABLE:
            return
        for name, follower in self._followers.items():
            if name in places:
                follower.resume(places[name])

    def scan(self, at: str) -> int:
        """Look through what is new; returns how many damaged lines went to quarantine."""
        if not any(follower.pending() for follower in self._followers.values()):
            return 0
        records = [record for name in self._followers for record in self._scan_one(name, at)]
        if records:
            Journal(self._layout.quarantine).append_all(records)
        places = {name: follower.place() for name, follower in self._followers.items()}
        files.replace(self._place, msgspec.json.encode(places))
        return len(records)

    def _scan_one(self, name: str, at: str) -> list[Quarantined]:
        found: list[Quarantined] = []
        left = self.BUDGET
        while left > 0:
            offset, data = self._followers[name].poll(min(PIECE, left))
            if not data:
                break
            left -= len(data)
            for start, line in split_lines(data, offset):
                try:
                    self._decoders[name](line)
                except UNDECODABLE as error:
                    if record := self._keep(name, start, line, str(error), at):
                        found.append(record)
        return found

    def _keep(self, name: str, offset: int, line: bytes, reason: str, at: str) -> Quarantined | None:
        digest = hashlib.sha256(line).hexdigest()
        if (name, offset, digest) in self._known:
            return None
        self._known.add((name, offset, digest))
        text = line[:4096].decode(errors="backslashreplace")
        return Quarantined(name, offset, reason, digest, text, at)


def known_lines(layout: Layout) -> set[tuple[str, int, str]]:
    """What is in quarantine already."""
    found = set()
    for line in Journal(layout.quarantine).lines():
        try:
            record = msgspec.json.decode(line, type=Quarantined)
        except UNDECODABLE:
            continue
        found.add((record.where, record.offset, record.sha256))
    return found
