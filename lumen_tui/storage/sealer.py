"""The engine's hand on the chain of hashes: it seals what journals grow by, and keeps the chain short.

A page of the chain is turned in a process of its own, which is this module run as a program.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lumen_tui.model import digests
from lumen_tui.model.seals import Seal, SealedJournal, SealedPart, SealedState, SealHead, SealKind
from lumen_tui.model.times import iso
from lumen_tui.storage import files, locks, noted_heads, seals
from lumen_tui.storage.chain_check import look_through
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.seals import SealFault

_LARGEST = 4 * 1024 * 1024  # bytes of the chain before it begins a new page
_LATER = 1024 * 1024  # by which it grows before a page that could not be turned is tried again


class Sealer:
    """At each beat it seals what the journals have grown by, and says which were found changed."""

    def __init__(self, layout: Layout, noted: Iterable[SealHead] = ()) -> None:
        """Take over from an engine that noted these heads."""
        self._layout, self._root = layout, layout.root
        self._noted = tuple(noted)  # what the chain must have
        pages = (layout.seals, layout.earlier_seals)
        self._named = [path for path in layout.files() if path.suffix == ".jsonl" and path not in pages]
        self._state = SealedState()
        self._read = -1  # bytes of the chain that it knows
        self._turned_at = 0  # of them, when the last page was to be turned
        self._sealed: dict[str, tuple[int, int]] = {}  # inode and size of each journal that is sealed to its end

    def seal(self, now: float) -> list[SealFault]:
        """Seal what is new, and write nothing where nothing is; return what was changed. Raise StoreError, OSError."""
        faults = self._refresh(iso(now))
        news = [path for path in self._journals() if self._is_new(path)]
        if not news:
            return faults
        grown = [part for path in news for part in self._look(path, iso(now), faults)]
        if grown:
            self._append(lambda _: seals.in_lines(Seal(0, iso(now), "", SealKind.GROWN), grown))
        self._note()
        return faults

    def is_page_full(self) -> bool:
        """Return whether the page is to be turned: once, and again where that did not succeed, when it has grown."""
        if self._read < self._turned_at:
            self._turned_at = 0
        if self._read <= max(_LARGEST, self._turned_at + _LATER):
            return False
        self._turned_at = self._read
        return True

    def _journals(self) -> Iterator[str]:
        yield from map(str, self._named)
        for folder in (self._layout.root / "relay", *sorted(self._layout.evals.glob("*/"))):
            try:
                yield from (entry.path for entry in os.scandir(folder) if entry.name.endswith(".jsonl"))
            except OSError:
                continue

    def _is_new(self, path: str) -> bool:
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            return path in self._sealed
        return self._sealed.get(path) != (status.st_ino, status.st_size)

    @property
    def head(self) -> SealHead:
        """The newest seal that it knows of."""
        return self._noted[0] if self._noted else SealHead()

    def _refresh(self, at: str) -> list[SealFault]:
        """Read the chain again where somebody else has written into it; return what shows that it is another one."""
        try:
            size = os.stat(self._layout.seals).st_size
        except OSError:
            size = 0
        if size == self._read:
            return []
        search = noted_heads.HeadSearch(self._noted)
        self._state, self._read = seals.read_chain(self._root, search.add), size
        lost = search.lost(self._root)
        if lost:
            heads, why = tuple(one.head for one in lost), str(noted_heads.fault_of(lost))
            self._append(lambda _: [Seal(0, at, "", SealKind.CHANGED, journal=seals.NAME, why=why, instead=heads)])
            self._sealed.clear()  # all that is there is new to this chain
        self._note()
        return [noted_heads.fault_of(lost)] if lost else []

    def _note(self) -> None:
        head = seals.head(self._root)
        self._noted = (head,) if head.head else ()

    def _append(self, make: seals.Make) -> None:
        added = seals.append(self._root, make)
        self._state.add_all(added)
        self._read += sum(len(seals.line_of(seal)) + 1 for seal in added)

    def _look(self, path: str, at: str, faults: list[SealFault]) -> list[SealedPart]:
        """Return what a journal has grown by; one with a content that no seal knows is sealed anew and a fault."""
        journal = os.path.relpath(path, self._root)
        known = self._state.journals.get(journal)
        if known and (fault := self._fault(path, journal, known)):
            faults.append(fault)
            self._append(seals.whole(path, Seal(0, at, "", SealKind.CHANGED, journal=journal, why=str(fault))))
            return []
        return self._grown(path, journal, known)

    def _fault(self, path: str, journal: str, known: SealedJournal) -> SealFault | None:
        """Return why the file is none of the known contents; one of the same inode is not read again."""
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            self._sealed.pop(path, None)
        else:
            contents = [known.contents[base] for base in known.candidates()]
            if any(content.inode == status.st_ino and content.end <= status.st_size for content in contents):
                return None
        return next(iter(seals.faults_of(self._root, {journal: known})), None)

    def _grown(self, path: str, journal: str, known: SealedJournal | None) -> list[SealedPart]:
        """Return the parts that a journal has and no seal yet; none while somebody writes to it."""
        try:
            fd = locks.try_lock(path) if os.path.isfile(path) else None
        except files.StoreError:
            return []  # a link or a closed file: reported elsewhere
        if fd is None:
            return []
        try:
            size, status = seals.whole_lines(fd), os.fstat(fd)
            fcntl.flock(fd, fcntl.LOCK_UN)  # what stands before its last newline does not change any more
            os.fdatasync(fd)
            base = self._base_of(fd, journal, known) if known else 0
            end = known.contents[base].end if known else 0
            part = SealedPart(journal, status.st_ino, base, end, end, "")
            # Not by OpenSSL, which would take 3 MiB of the engine for good: 280 MB once take 0.8 s instead of 0.15.
            parts = list(seals.hashed(fd, part, size, digests.sha256))
        finally:
            os.close(fd)
        self._sealed[path] = (status.st_ino, status.st_size)
        return parts

    def _base_of(self, fd: int, journal: str, known: SealedJournal) -> int:
        """Return the base of the content that an open file has; by its inode where that is of one alone."""
        bases, inode = known.candidates(), os.fstat(fd).st_ino
        same = [base for base in bases if known.contents[base].inode == inode]
        if len(same) == 1:
            return same[0]
        opened = seals.OpenJournal(fd, journal, known)
        seals.compare(self._root, {journal: opened})
        return next((base for base in bases if opened.faults[base] is None), bases[0])


def turn(layout: Layout, at: str) -> bool:
    """Begin a new page of the chain with all journals as they are; the one before is kept as seals.1.jsonl.

    Not while anything is wrong, or somebody is about to rewrite a journal. Return whether it was done.
    """
    root = layout.root
    with files.locked_log(layout.seals):
        state, report = seals.read_chain(root), look_through(root)
        if report.faults or report.unsound or _is_rewritten(layout, state):
            return False
        head, data = seals.head(root), b""
        for journal in sorted(state.journals):
            draft = Seal(0, at, "", SealKind.CARRIED, journal=journal)
            lines = seals.linked(seals.whole(root / journal, draft), head)[1]
            data += lines
            head = seals.head_in(lines)
        page = files.read(layout.seals, 1 << 40) or b""
        files.replace(layout.earlier_seals, page)
        files.replace(layout.seals, data)
    return True


def main(root: Path) -> int:
    """Turn the page; return the exit code."""
    try:
        return not turn(Layout(root), iso(time.time()))
    except (files.StoreError, OSError):
        return 1  # it stays as it is, and is tried again later


def _is_rewritten(layout: Layout, state: SealedState) -> bool:
    """Return whether a journal is locked whose new content was announced: it may come at any moment."""
    announced = (journal for journal, known in state.journals.items() if len(known.candidates()) > 1)
    return any(locks.is_locked(layout.root / journal) for journal in announced)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
