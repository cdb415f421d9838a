"""The chain of hashes over the journals: its records, and what a journal has to hold after them.

A journal has a content that only grows. A rewrite (a cleanup, a repair, a restore) puts another in its place, which is
told before it is done: a kill in between leaves either of the two. Each content has the number of the seal with which
it began as its `base`; 0 is the one with which the chain first saw it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from msgspec import Struct

from lumen_tui.model.backups import is_inside


class SealKind(enum.StrEnum):
    """What a seal says."""

    GROWN = "grown"  # journals have these bytes more
    REWRITTEN = "rewritten"  # another content takes the place of a journal's; `why` where the old one was not sound
    STANDS = "stands"  # it has done so
    CHANGED = "changed"  # a journal was found with a content that no seal knows; `why` says where it differs
    ACCEPTED = "accepted"  # the operator has looked at what was found up to here
    CARRIED = "carried"  # a journal as it was at the end of the page of the chain before this one
    RESTORED = "restored"  # the folder came out of a backup


class SealedPart(Struct, frozen=True, array_like=True):
    """A stretch of a journal that does not change any more."""

    journal: str  # its path below the state folder
    inode: int
    base: int
    begin: int  # bytes
    end: int
    sha256: str


class Seal(Struct, frozen=True, omit_defaults=True):
    """One line of seals.jsonl."""

    number: int
    at: str
    previous: str  # the SHA-256 of the line before, as it is written there; empty in the first
    kind: SealKind
    parts: tuple[SealedPart, ...] = ()
    journal: str = ""
    base: int = 0
    size: int = 0  # bytes of a whole new content, whose parts may need several lines
    why: str = ""
    instead: tuple[str, ...] = ()  # noted heads that this chain does not have: it says so here, and is asked no more


class SealHead(Struct, frozen=True):
    """The newest line of the chain, as the engine noted it in another file."""

    seals: int = 0  # its number
    head: str = ""  # its hash
    at: str = ""  # when it was noted


class SealedContent(Struct):
    """One content of a journal: how far it is sealed."""

    last: SealedPart
    size: int = 0  # bytes with which it began

    @property
    def end(self) -> int:
        """The offset up to which it is sealed."""
        return self.last.end

    @property
    def inode(self) -> int:
        """The inode that it had when it was last sealed."""
        return self.last.inode


class SealedJournal:
    """What the chain knows of one journal."""

    def __init__(self) -> None:
        self.contents: dict[int, SealedContent] = {}
        self.stands = 0  # the base of the newest content of which it is known that it took its place

    def candidates(self) -> list[int]:
        """Return the contents that may be there, the newest first: one that was announced may not have come."""
        whole = (base for base, content in self.contents.items() if content.end >= content.size)
        return sorted((base for base in whole if base >= self.stands), reverse=True)


class SealedState:
    """All journals as the seals so far say they are; without their parts, as an engine keeps it for months."""

    def __init__(self) -> None:
        self.journals: dict[str, SealedJournal] = {}
        self.unsound: list[Seal] = []  # found or replaced with a content that was not sealed, and not accepted yet

    def add_all(self, seals: Iterable[Seal]) -> None:
        """Take in the next seals of the chain."""
        for seal in seals:
            self.add(seal)

    def add(self, seal: Seal) -> None:
        """Take in the next seal of the chain."""
        if seal.kind is SealKind.ACCEPTED:
            self.unsound.clear()
        elif seal.why and seal.kind in (SealKind.REWRITTEN, SealKind.CHANGED):
            self.unsound.append(seal)
        for part in seal.parts:
            if not is_inside(part.journal):
                continue  # whoever wrote that is seen by the seal behind it
            journal = self.journals.setdefault(part.journal, SealedJournal())
            journal.contents.setdefault(part.base, SealedContent(part, seal.size)).last = part
            if seal.kind in (SealKind.GROWN, SealKind.CHANGED, SealKind.CARRIED):
                journal.stands = max(journal.stands, part.base)
        if seal.kind is SealKind.STANDS and seal.journal in self.journals:
            known = self.journals[seal.journal]
            known.stands = max(known.stands, seal.base)
