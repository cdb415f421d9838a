"""The chain of hashes, seals.jsonl: what the journals held at each beat, each seal with the hash of the one before.

The engine begins it. Where there is one, whatever rewrites a journal announces the new content before it takes its
place, after a look whether the old one is as it was sealed: so no rewrite hides a change, and a kill leaves no alarm.
What the chain proves and what not is in docs/security.md.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

import msgspec

from lumen_tui.model import digests
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.seals import Seal, SealedJournal, SealedPart, SealedState, SealHead, SealKind
from lumen_tui.model.times import iso
from lumen_tui.storage import directories, files
from lumen_tui.storage.clock import SystemClock

NAME = "seals.jsonl"
EARLIER = "seals.1.jsonl"  # the page of the chain before
_PART = 256 * 1024  # bytes of one hash: how closely a change of a new content is located
_MUCH = 64 * 1024  # bytes from which OpenSSL is worth its loading
_PARTS = 300  # in one line, which has to stay below files.MAX_LINE
_OPEN = 100  # journals that are open at a time
_DEEP = 3  # folders between a state folder and a journal, at most
_TAIL = 2 * files.MAX_LINE
decode = msgspec.json.Decoder(Seal).decode
line_of = msgspec.json.Encoder().encode
Drafts = list[Seal]  # whose number and hash `append` sets
Make = Callable[[int], Drafts]  # gets the number of the first
Digest = Callable[[bytes], str]  # in the form that seals have


class SealFault(msgspec.Struct, frozen=True):
    """A place at which something is not as it was sealed."""

    journal: str
    what: str
    sealed_at: str = ""
    begin: int = 0  # bytes
    end: int = 0

    def __str__(self) -> str:
        where = f"bytes {self.begin:,} to {self.end:,}, sealed at {self.sealed_at}, " if self.end else ""
        return where + self.what


def sha256(data: bytes) -> str:
    """Return the hash in the form that seals have; OpenSSL is loaded where there is as much as it is quicker for."""
    return digests.sha256(data) if len(data) < _MUCH else digests.openssl_sha256(data).hexdigest()


def append(root: files.StrPath, make: Make) -> Drafts:
    """Append the seals that `make` gives, durably; return them with their numbers and hashes. Raise StoreError."""
    with files.locked_log(os.path.join(root, NAME)) as fd:
        seals, data = linked(make, _head(fd))
        if data:
            files.append_locked(fd, data)
    return seals


def linked(make: Make, behind: SealHead) -> tuple[Drafts, bytes]:
    """Return the seals that come behind this one, and their lines."""
    seals, data = Drafts(), b""
    number, previous = behind.seals, behind.head
    for draft in make(number + 1):
        number += 1
        seals.append(msgspec.structs.replace(draft, number=number, previous=previous))
        line = line_of(seals[-1])
        previous = sha256(line)
        data += line + b"\n"
    return seals, data


def head(root: files.StrPath, name: str = NAME) -> SealHead:
    """Return the newest line of the chain, or of the page before it; an empty one without. Raise StoreError."""
    try:
        fd = files.open_plain(os.path.join(root, name))
    except FileNotFoundError:
        return SealHead()
    try:
        return _head(fd)
    finally:
        os.close(fd)


def _head(fd: int) -> SealHead:
    return head_in(os.pread(fd, _TAIL, max(0, os.fstat(fd).st_size - _TAIL)))


def head_in(tail: bytes) -> SealHead:
    """Return the newest of these lines of a chain."""
    last = tail.removesuffix(b"\n").rpartition(b"\n")[2]
    return SealHead(_number(tail), sha256(last)) if last else SealHead()


def _number(tail: bytes) -> int:
    for line in reversed(tail.split(b"\n")):
        with contextlib.suppress(*UNDECODABLE):
            return decode(line).number
    return 0


def lines(root: files.StrPath, name: str = NAME) -> Iterator[bytes]:
    """Yield the lines that the chain has now, or the page before it, a torn one too.

    Never all at once: buffers of that size would leave an engine that runs for months with memory that it never gives
    back.
    """
    try:
        fd = files.open_plain(os.path.join(root, name))
    except (FileNotFoundError, NotADirectoryError):
        return
    with open(fd, "rb") as file:
        left = os.fstat(fd).st_size  # what somebody appends meanwhile may come in pieces
        while left > 0 and (line := file.readline(left)):
            left -= len(line)
            yield line.removesuffix(b"\n")


def lines_and_seals(root: files.StrPath, name: str = NAME) -> Iterator[tuple[bytes, Seal | None]]:
    """Yield each line of the chain, or of the page before it, with its seal; None where a kill tore the line."""
    for line in lines(root, name):
        try:
            seal = decode(line)
        except UNDECODABLE:
            seal = None
        yield line, seal


def read_chain(root: files.StrPath, see: Callable[[bytes, Seal | None], None] | None = None) -> SealedState:
    """Return what the chain says, without a look at the journals; `see` is called with each line and its seal."""
    state = SealedState()
    for line, seal in lines_and_seals(root):
        if see is not None:
            see(line, seal)
        if seal is not None:
            state.add(seal)
    return state


def hashed(fd: int, part: SealedPart, size: int, digest: Digest = sha256) -> Iterator[SealedPart]:
    """Yield the parts of an open file from where `part` begins up to `size`."""
    begin = part.begin
    while begin < size:
        data = os.pread(fd, min(_PART, size - begin), begin)
        if not data:
            return  # it was cut meanwhile
        yield msgspec.structs.replace(part, begin=begin, end=begin + len(data), sha256=digest(data))
        begin += len(data)


def whole_lines(fd: int) -> int:
    """Return the offset behind the last newline of an open file: what follows is torn, and may be closed off."""
    size = os.fstat(fd).st_size
    while size > 0:
        begin = max(0, size - _PART)
        at = os.pread(fd, size - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        size = begin
    return 0


def in_lines(draft: Seal, parts: list[SealedPart]) -> Drafts:
    """Return as many seals as the parts need."""
    cuts = range(0, max(len(parts), 1), _PARTS)
    return [msgspec.structs.replace(draft, parts=tuple(parts[at : at + _PARTS])) for at in cuts]


def whole(content: files.StrPath, draft: Seal, known: list[SealedPart] | None = None) -> Make:
    """Return what makes the seals of all of a file, as a new content of the journal that `draft` names.

    `known` are parts at its beginning that were hashed before.
    """

    def make(number: int) -> Drafts:
        nothing = SealedPart(draft.journal, 0, number, 0, 0, sha256(b""))
        try:
            fd = files.open_plain(content)
        except FileNotFoundError:
            return [msgspec.structs.replace(draft, base=number, parts=(nothing,))]
        try:
            part, size = msgspec.structs.replace(nothing, inode=os.fstat(fd).st_ino), whole_lines(fd)
            before = [msgspec.structs.replace(one, base=number) for one in known or ()]
            rest = hashed(fd, msgspec.structs.replace(part, begin=before[-1].end if before else 0), size)
            parts = [*before, *rest] or [part]
        finally:
            os.close(fd)
        return in_lines(msgspec.structs.replace(draft, base=number, size=size), parts)

    return make


class NewContent:
    """A content that is about to be at the path of a journal, sealed before and after it is.

    Where the chain knows the journal, the old content and the new one are read when this is made, which takes long;
    under the lock of the journal, only what was added since. Nothing is sealed without a chain.
    """

    def __init__(self, content: files.StrPath, path: files.StrPath, *, known_as: files.StrPath = "") -> None:
        """Look at both files; `known_as` is the journal whose content it was. Raise StoreError, OSError."""
        self._content, self._path, self._known_as = content, path, known_as or path
        self._root = self._journal = self._fault = self._at = ""
        self._parts: list[SealedPart] = []
        self._base = 0
        self._is_sealed = self._look()

    def _look(self) -> bool:
        """Return whether the chain knows the journal, with both files read."""
        self._root = chain_above(self._path)
        known = read_chain(self._root).journals if self._root else {}
        if not self._root or os.path.relpath(self._known_as, self._root) not in known:
            return False
        self._journal = os.path.relpath(self._path, self._root)
        if self._journal in known:
            faults = faults_of(self._root, {self._journal: known[self._journal]})
            self._fault = "".join(str(fault) for fault in faults)
        self._parts = self._hashed()
        return True

    def _hashed(self) -> list[SealedPart]:
        try:
            fd = files.open_plain(self._content)
        except FileNotFoundError:
            return []
        try:
            part = SealedPart(self._journal, os.fstat(fd).st_ino, 0, 0, 0, "")
            return list(hashed(fd, part, whole_lines(fd)))
        finally:
            os.close(fd)

    def take_place(self) -> None:
        """Rename it to the path, as `files.take_place`. Raise StoreError, with nothing left behind."""
        temporary = os.fspath(self._content)
        try:
            self.announce()
        except BaseException:
            files.discard(temporary)
            raise
        files.take_place(temporary, self._path)
        self.settle()

    def announce(self) -> None:
        """Seal that it is about to come. Whoever calls holds the lock of the journal. Raise StoreError."""
        self._is_sealed = self._is_sealed or self._look()  # an engine may have begun with the chain meanwhile
        if not self._is_sealed:
            return
        self._at = iso(SystemClock().now())
        draft = Seal(0, self._at, "", SealKind.REWRITTEN, journal=self._journal, why=self._fault)
        self._base = append(self._root, whole(self._content, draft, self._parts))[0].number

    def settle(self) -> None:
        """Seal that it has come. Raise StoreError."""
        if self._is_sealed:
            seal = Seal(0, self._at, "", SealKind.STANDS, journal=self._journal, base=self._base)
            append(self._root, lambda _: [seal])


def move(source: files.StrPath, target: files.StrPath) -> None:
    """Rename a journal, as `directories.move`, with seals for both names before and after. Raise StoreError."""
    both = (NewContent(source, target, known_as=source), NewContent(f"{source}.gone", source))
    for new in both:
        new.announce()
    directories.move(source, target)
    for new in both:
        new.settle()


def chain_above(path: files.StrPath) -> str:
    """Return the state folder with a chain that this path is in; empty without one."""
    folder = os.fspath(path)
    for _ in range(_DEEP):
        folder = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, NAME)):
            return folder
    return ""


class OpenJournal:
    """A journal that is open, held against the contents that it may have."""

    def __init__(self, fd: int, name: str, known: SealedJournal) -> None:
        """Begin with no fault in any of them."""
        self._fd, self._name, self._known = fd, name, known
        self._status = os.fstat(fd)
        self.faults: dict[int, SealFault | None] = dict.fromkeys(known.candidates())  # the first of each, by base

    def compare(self, part: SealedPart, at: str) -> None:
        """Hold one part of a content against it, which was sealed at that time."""
        if part.base not in self.faults or self.faults[part.base] is not None:
            return
        if not 0 <= part.begin <= part.end <= self._status.st_size:
            begin = min(part.begin, self._status.st_size)
            self.faults[part.base] = SealFault(self._name, "are not there any more", at, begin, part.end)
        elif sha256(os.pread(self._fd, part.end - part.begin, part.begin)) != part.sha256:
            self.faults[part.base] = SealFault(self._name, "are not what they were", at, part.begin, part.end)

    def fault(self) -> SealFault | None:
        """Return where it is none of the contents; None where it is one."""
        if not self.faults or None in self.faults.values():
            return None
        bases, stands = list(self.faults), self._known.stands
        same = [base for base in bases if self._known.contents[base].inode == self._status.st_ino]
        return self.faults[(same or [stands if stands in self.faults else bases[0]])[0]]


def compare(root: files.StrPath, journals: Mapping[str, OpenJournal]) -> None:
    """Hold each part of the chain against the journal that it is of. None is kept: a page has thousands."""
    for _, seal in lines_and_seals(root):
        if seal is None:
            continue
        for part in seal.parts:
            if part.journal in journals:
                journals[part.journal].compare(part, seal.at)


def faults_of(root: files.StrPath, known: Mapping[str, SealedJournal]) -> list[SealFault]:
    """Return where journals are none of the contents that they may have."""
    names = sorted(known)
    groups = [names[at : at + _OPEN] for at in range(0, len(names), _OPEN)]
    return [fault for group in groups for fault in _faults_of(root, {name: known[name] for name in group})]


def _faults_of(root: files.StrPath, known: Mapping[str, SealedJournal]) -> list[SealFault]:
    faults: list[SealFault] = []
    journals: dict[str, OpenJournal] = {}
    with contextlib.ExitStack() as opened:
        for name in known:
            try:
                fd = files.open_plain(os.path.join(root, name))
            except (FileNotFoundError, NotADirectoryError):
                faults += [] if _may_be_absent(known[name]) else [SealFault(name, "it is gone")]
            except (files.StoreError, OSError):
                continue  # what is in its place is reported elsewhere
            else:
                opened.callback(os.close, fd)
                journals[name] = OpenJournal(fd, name, known[name])
        compare(root, journals)
        faults += [fault for journal in journals.values() if (fault := journal.fault())]
    return sorted(faults, key=lambda fault: fault.journal)


def _may_be_absent(known: SealedJournal) -> bool:
    return known.stands not in known.contents or any(not known.contents[base].end for base in known.candidates())
