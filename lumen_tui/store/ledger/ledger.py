"""The ledger of model calls, spend.jsonl: a call's cost is reserved under the lock before it, and settled after it.

A reservation (a hold) reads what is new, decides and appends under one lock, so that any number of racing workers
cannot pass a cap. A hold that nobody settles counts in full. Each month has its own page (ledger_pages.py). Totals are
kept in index/spend.json, so that a start reads the newest lines only; the index is trusted where the page before its
offset is still the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import UNDECODABLE, lazy_decoder
from lumen_tui.model.problem import Problem
from lumen_tui.model.spendbook import GONE, LOST, RELEASE, SENT, SETTLE, SPENT, Book, LedgerEntry
from lumen_tui.model.tasks import Usage
from lumen_tui.storage import files, process
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.ledger import ledger_pages
from lumen_tui.store.ledger.ledger_pages import PageFollower

INDEX = "spend.json"
_SAVE_EVERY = 128 * 1024  # bytes of the ledger after which the index is saved
_GONE = "its worker is gone"
_LAST = 256  # bytes before the offset of the index that must be the same
_entry = lazy_decoder(LedgerEntry)

Decide = Callable[[Book], str]
Make = Callable[[Book], LedgerEntry | str]


class _Index(msgspec.Struct):
    """index/spend.json"""

    place: tuple[int, int, int]  # device, inode, offset
    last: str  # the bytes before it, as hex
    book: Book
    schema: int = 1


class Ledger:
    """Follows one ledger. `book` holds the totals of the last `refresh`. Not safe for use by two threads at once."""

    def __init__(self, layout: Layout) -> None:
        self.path = layout.spend
        self.book = Book()
        self.revision = 0
        self._index = layout.index / INDEX
        self._follower = PageFollower(self.path)
        self.damage = Damage("spend.jsonl", self._follower)
        self._generation = self._turned = 0
        self._unsaved = -1  # bytes read since the index was saved; -1 before the first read

    def close(self) -> None:
        """Close the current page."""
        self._follower.close()

    def changed(self) -> bool:
        """Return whether there may be something new. Costs one `stat`."""
        return self._unsaved < 0 or self._follower.changed()

    def refresh(self) -> Book:
        """Read what is new."""
        if self.changed():
            self._read()
            self._save()
        return self.book

    def _read(self) -> None:
        if self._unsaved < 0:
            self._load()
        while True:
            offset, data = self._follower.poll(PIECE)
            if self._follower.generation != self._generation:
                self._generation = self._follower.generation
                self._unsaved = 0
                self.book = Book()
            if not data:
                return
            self.revision += 1
            self._unsaved += len(data)
            for at, line in split_lines(data, offset):
                self._take(at, line)

    def _take(self, offset: int, line: bytes) -> None:
        """Take one line. A damaged one hides only itself: a torn hold was never acknowledged, its call never made."""
        try:
            self.book.take(_entry.decode(line))
        except (*UNDECODABLE, OverflowError) as error:
            self.damage.add(offset, str(error))

    def hold(self, entry: LedgerEntry, decide: Decide) -> str:
        """Reserve what a call can cost unless `decide`, given the newest totals, returns a reason not to; return it.

        Once this has returned the empty string the hold is durable. StoreError where it cannot be: make no call then.
        """
        drawn = self.draw(lambda book: decide(book) or entry)
        return drawn if isinstance(drawn, str) else ""

    def draw(self, make: Make) -> LedgerEntry | str:
        """Reserve the entry that `make` returns for the newest totals, or return its reason not to."""
        if isinstance(drawn := make(self.refresh()), str):
            return drawn  # no need for the lock
        ledger_pages.turn(self.path, drawn.at)
        with files.locked_log(self.path) as fd:
            self._read()
            result = make(self.book)
            if isinstance(result, LedgerEntry):
                files.append_locked(fd, encode(_sound(result)))
        return result

    def settle(self, call: str, day: str, now: float, usage: Usage, *, seconds: float = 0.0) -> None:
        """Record what a call did cost; nothing at all releases its hold. A second time changes nothing."""
        kind = SETTLE if usage.tokens or usage.usd else RELEASE
        settled = LedgerEntry(
            call,
            kind,
            times.iso(now),
            day=day,
            tokens=usage.weight,
            usd=usage.usd,
            seconds=seconds,
            prompt=usage.input_tokens,
            read=usage.read_tokens,
        )
        self.append(settled)

    def sent(self, call: str, day: str, now: float) -> None:
        """Record that a call is being sent. StoreError where that cannot be written: do not send it then."""
        self.append(LedgerEntry(call, SENT, times.iso(now), day=day))

    def append(self, *entries: LedgerEntry) -> None:
        """Append other entries durably."""
        if entries:
            files.append(self.path, b"".join([encode(_sound(entry)) for entry in entries]))

    def once(self, notice: LedgerEntry) -> bool:
        """Append a notice unless one of its id is there; return whether this call did."""
        return not self.hold(notice, lambda book: "given" if notice.id in book.notices else "")

    def give_up_dead(self, now: float) -> list[LedgerEntry]:
        """Close the holds of processes that are gone, and return them.

        A call that was never sent cost nothing. All others count in full, as nobody will settle them.
        """
        book = self.refresh()
        at = times.iso(now)
        dead = [hold for hold in book.open.values() if not process.is_same(owner(hold))]
        abandoned = [wait for wait in book.waits.values() if not process.is_same(owner(wait))]
        self.append(
            *[LedgerEntry(hold.id, RELEASE if hold.unsent else LOST, at, day=hold.day, text=_GONE) for hold in dead],
            *[LedgerEntry(wait.id, GONE, at, day=wait.day, task=wait.task) for wait in abandoned],
        )
        return dead

    def _load(self) -> None:
        self._unsaved = 0
        try:
            saved = msgspec.json.decode(files.read(self._index) or b"", type=_Index)
            page = self._follower.page_of(saved.place)
            if page is None or saved.last != _bytes_before(files.open_plain(page), saved.place[2]):
                return
        except (*UNDECODABLE, files.StoreError, OSError, ValueError):
            return  # none, or of no use: everything is read
        self.book = saved.book
        self._follower.resume(saved.place, page)

    def _save(self) -> None:
        """Save the totals where much was read since the last time, or a page was turned; failing costs only time."""
        if self._unsaved < _SAVE_EVERY and (self._follower.turned == self._turned or not self._follower.offset):
            return
        try:
            place = self._follower.place()
            last = _bytes_before(self._follower.open_copy(), place[2])
            files.replace(self._index, msgspec.json.encode(_Index(place, last, self.book)))
        except (files.StoreError, OSError):
            return
        self._unsaved = 0
        self._turned = self._follower.turned


def _bytes_before(fd: int, offset: int) -> str:
    """Return the last bytes before an offset, as hex. Closes `fd`."""
    try:
        start = max(0, offset - _LAST)
        return os.pread(fd, offset - start, start).hex()
    finally:
        os.close(fd)


class LedgerReader:
    """The totals for read-only use: a ledger that cannot be read is a problem to show, not an error."""

    def __init__(self, layout: Layout) -> None:
        self._ledger = Ledger(layout)
        self.problems: list[Problem] = []

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    @property
    def book(self) -> Book:
        """The totals of the last refresh."""
        return self._ledger.book

    @property
    def revision(self) -> int:
        """Grows with what is read."""
        return self._ledger.revision

    def refresh(self) -> None:
        """Read what is new."""
        try:
            self._ledger.refresh()
            self.problems = self._ledger.damage.problems()
        except (files.StoreError, OSError) as error:
            self.problems = [Problem(where="spend.jsonl", what=str(error), hint="no model call is made until then")]


def new_call() -> str:
    """Return a new id for a call."""
    return ids.new_id("spd")


def owner(entry: LedgerEntry) -> ProcessId:
    """Return the process that wrote a hold."""
    return ProcessId(pid=entry.pid, start_ticks=entry.start_ticks, boot_id=entry.boot_id)


def unreserved(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry of a call that nobody had reserved."""
    return msgspec.structs.replace(entry, kind=SPENT)


def _sound(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry with sound amounts: a server may report anything, such as negative or infinite ones."""
    numbers = (entry.usd, entry.seconds, entry.waited)
    if (
        all(math.isfinite(number) and number >= 0 for number in numbers)
        and min(entry.tokens, entry.prompt, entry.read) >= 0
    ):
        return entry
    usd, seconds, waited = (max(0.0, number) if math.isfinite(number) else 0.0 for number in numbers)
    whole = {name: max(0, getattr(entry, name)) for name in ("tokens", "prompt", "read")}
    return msgspec.structs.replace(entry, usd=usd, seconds=seconds, waited=waited, **whole)
