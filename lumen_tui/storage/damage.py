"""Damaged lines of journals: counted, reported and quarantined, so that they spoil only themselves."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, must_be_text
from lumen_tui.model.problem import Problem
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


class JournalFollower(Protocol):
    """A follower of a journal, as far as damage needs one."""

    @property
    def generation(self) -> int: ...
    @property
    def overlong(self) -> list[int]: ...


class Damage:
    """The unreadable lines of one followed journal."""

    def __init__(self, name: str, follower: JournalFollower) -> None:
        self.name = name
        self.count = 0
        self._reasons: dict[int, str] = {}  # of the first ones, by offset
        self._follower = follower
        self._generation = follower.generation

    def add(self, offset: int, reason: str) -> None:
        self._begin_again()
        self.count += 1
        if len(self._reasons) < _KEEP:
            self._reasons[offset] = reason

    def _begin_again(self) -> None:
        """Forget the damage of a file that was replaced, which is how the doctor repairs one."""
        if self._generation != self._follower.generation:
            self._generation = self._follower.generation
            self.count = 0
            self._reasons.clear()

    def values(self) -> dict[str, object]:
        """Return what is known, as plain values for `restore`."""
        self._begin_again()
        return {"count": self.count, "reasons": list(self._reasons.items()), "overlong": self._follower.overlong}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over what an earlier process found in the part that the follower took up."""
        self.count = values["count"]
        self._reasons = dict(values["reasons"])
        self._follower.overlong[:] = values["overlong"]

    def problems(self) -> list[Problem]:
        """Return one problem for the file, which names the first damaged byte, and one for overlong lines."""
        self._begin_again()
        problems = []
        if self.count:
            first, reason = next(iter(self._reasons.items()))
            text = f"{self.count} damaged line{'s' if self.count > 1 else ''}, the first at byte {first}: {reason}"
            problems.append(Problem(where=self.name, what=text, hint="the other lines are in use"))
        if self._follower.overlong:
            text = f"a line over 1 MiB at byte {self._follower.overlong[0]} was passed over"
            problems.append(Problem(where=self.name, what=text))
        return problems


class _HasId(msgspec.Struct):
    """The least that a record must have."""

    id: str


class _HasFactId(msgspec.Struct):
    """The least that a confirmation must have."""

    fact_id: str


class DamageScan:
    """A scan of the shared journals that reads each byte once and quarantines damaged lines.

    Its position is kept in index/, which may be deleted: the quarantine knows its own lines.
    """

    BUDGET = 16 * 1024 * 1024  # bytes of one journal that one call reads

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
        """Scan what is new and return how many damaged lines went to quarantine."""
        if not any(follower.pending() for follower in self._followers.values()):
            return 0
        records = [record for name in self._followers for record in self._scan_one(name, at)]
        if records:
            Journal(self._layout.quarantine).append_all(records)
        places = {name: follower.place() for name, follower in self._followers.items()}
        files.replace(self._place, msgspec.json.encode(places))
        return len(records)

    def _scan_one(self, name: str, at: str) -> list[Quarantined]:
        damaged: list[Quarantined] = []
        budget = self.BUDGET
        while budget > 0:
            offset, data = self._followers[name].poll(min(PIECE, budget))
            if not data:
                break
            budget -= len(data)
            for start, line in split_lines(data, offset):
                try:
                    self._decoders[name](line)
                    must_be_text(line)
                except UNDECODABLE as error:
                    if record := self._keep(name, start, line, str(error), at):
                        damaged.append(record)
        return damaged

    def _keep(self, name: str, offset: int, line: bytes, reason: str, at: str) -> Quarantined | None:
        import hashlib  # only where a line is damaged

        digest = hashlib.sha256(line).hexdigest()
        if (name, offset, digest) in self._known:
            return None
        self._known.add((name, offset, digest))
        text = line[:4096].decode(errors="backslashreplace")
        return Quarantined(name, offset, reason, digest, text, at)


def known_lines(layout: Layout) -> set[tuple[str, int, str]]:
    """Return (journal, offset, SHA-256) of each line that is in quarantine."""
    known = set()
    for line in Journal(layout.quarantine).lines():
        try:
            record = msgspec.json.decode(line, type=Quarantined)
        except UNDECODABLE:
            continue
        known.add((record.where, record.offset, record.sha256))
    return known
