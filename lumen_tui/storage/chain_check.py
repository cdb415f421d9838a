"""A look through the chain of hashes and all that it seals, and the operator's word on what was found."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from lumen_tui.model.seals import Seal, SealedState, SealHead, SealKind
from lumen_tui.storage import files, noted_heads, seals
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.seals import EARLIER, SealFault


class ChainReport(msgspec.Struct, frozen=True):
    """What a look through the whole chain gave."""

    seals: int = 0  # the number of the newest
    head: str = ""  # its hash: kept elsewhere, it proves that nothing up to here was taken out
    at: str = ""
    faults: tuple[SealFault, ...] = ()
    unsound: tuple[Seal, ...] = ()  # contents that nobody had sealed, found or replaced, and not accepted
    accepted: tuple[Seal, ...] = ()
    hashes: frozenset[str] = frozenset()  # of all seals that are there
    lost: tuple[SealHead, ...] = ()  # heads that an engine noted, and that are not there


def look_through(root: Path, *, journals: bool = True) -> ChainReport:
    """Look through the chain and, for its `journals`, at every byte that it seals. Raise StoreError, OSError."""
    walk, search = _ChainWalk(), noted_heads.HeadSearch(noted_heads.noted(Layout(root)))
    for line, seal in seals.lines_and_seals(root):
        walk.add(line, seal)
        search.add(line, seal)
    earlier = {seals.sha256(line) for line in seals.lines(root, EARLIER)}
    if walk.begins_behind in earlier:
        walk.hashes |= earlier
    found = seals.faults_of(root, walk.state.journals) if journals else []
    lost = search.lost(root)
    return ChainReport(
        walk.number,
        walk.before,
        walk.at,
        (*walk.faults, *([noted_heads.fault_of(lost)] if lost else []), *found),
        tuple(walk.state.unsound),
        tuple(walk.accepted),
        frozenset(walk.hashes),
        tuple(lost),
    )


class _ChainWalk:
    """The lines of the chain, one after the other."""

    def __init__(self) -> None:
        self.state = SealedState()
        self.faults: list[SealFault] = []
        self.accepted: list[Seal] = []
        self.hashes: set[str] = set()
        self.number, self.before, self.at = 0, "", ""
        self.begins_behind = ""  # the hash of the last line of the page before
        self._lines = 0

    def add(self, line: bytes, seal: Seal | None) -> None:
        """Take in the next line. One that a kill tore is no seal, and the next has its hash all the same."""
        self._lines += 1
        if seal is not None:
            self._add(seal)
        self.before = seals.sha256(line)
        self.hashes.add(self.before)

    def _add(self, seal: Seal) -> None:
        first_of_page = self._lines == 1 and seal.kind is SealKind.CARRIED
        if first_of_page:
            self.begins_behind = seal.previous
        elif seal.previous != self.before or seal.number <= self.number:
            where = f"line {self._lines}, sealed at {seal.at}, does not follow the one before it"
            between = f" of {self.at}" if self.at else ""
            self.faults.append(SealFault(seals.NAME, f"{where}{between}: lines were changed, put in or taken out"))
        if seal.kind is SealKind.ACCEPTED:
            self.faults.clear()
            self.accepted.append(seal)
        self.number, self.at = seal.number, seal.at
        self.state.add(seal)


def accept(root: Path, at: str, why: str) -> tuple[SealFault, ...]:
    """Seal everything as it is now, on the operator's word; return what was not as it had been sealed. StoreError."""
    report = look_through(root)
    for fault in report.faults:
        if fault.journal != seals.NAME:
            draft = Seal(0, at, "", SealKind.CHANGED, journal=fault.journal, why=str(fault))
            seals.append(root, seals.whole(os.path.join(root, fault.journal), draft))
    heads = tuple(one.head for one in report.lost)
    seals.append(root, lambda _: [Seal(0, at, "", SealKind.ACCEPTED, why=why, instead=heads)])
    return report.faults


def note_restore(root: files.StrPath, at: str, head: str) -> None:
    """Seal that the folder came out of a backup, and which chain it takes the place of. Raise StoreError."""
    if os.path.exists(os.path.join(root, seals.NAME)):
        why = f"in the place of a chain whose head is {head}" if head else ""
        seals.append(root, lambda _: [Seal(0, at, "", SealKind.RESTORED, why=why)])
