"""The ledger of model calls, spend.jsonl: a call is set aside under the lock before it is made, and settled after it.

Whoever sets something aside reads what is new, decides and appends under one lock, so that any number of workers
racing cannot pass a cap. A hold that nobody settles counts in full. Each month has a page of its own (ledgerpages.py).
Totals are kept in index/spend.json, so that a start reads the newest lines only; the index is believed where the page
before its place is still the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import msgspec

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.spendbook import GONE, LOST, RELEASE, SENT, SETTLE, SPENT, Book, Entry
from lumen_tui.storage import files, process
from lumen_tui.storage.damage import Damage
from lumen_tui.storage.journal import PIECE, encode
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.ledger import ledger_pages
from lumen_tui.store.ledger.ledger_pages import PageFollower

INDEX = "spend.json"
_SAVE_EVERY = 128 * 1024  # bytes of the ledger between two savings of the index
_GONE = "its worker is gone"
_LAST = 256  # bytes before the place of the index that must be the same
_entry = msgspec.json.Decoder(Entry).decode

Decide = Callable[[Book], str]
Make = Callable[[Book], Entry | str]


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
        self._unsaved = -1  # bytes read since the index was saved; -1 before the first look

    def close(self) -> None:
        """Let go of the page that is followed."""
        self._follower.close()

    def changed(self) -> bool:
        """Whether there may be something new: one `stat`."""
        return self._unsaved < 0 or self._follower.changed()

    def refresh(self) -> Book:
        """Take in what is new."""
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
                self._generation, self._unsaved, self.book = self._follower.generation, 0, Book()
            if not data:
                return
            self.revision += 1
            self._unsaved += len(data)
            for at, line in split_lines(data, offset):
                self._take(at, line)

    def _take(self, offset: int, line: bytes) -> None:
        """A damaged line hides only itself: a hold that was torn was never acknowledged, its call never made."""
        try:
            self.book.take(_entry(line))
        except (*UNDECODABLE, OverflowError) as error:
            self.damage.add(offset, line, str(error))

    def hold(self, wanted: Entry, decide: Decide) -> str:
        """Set aside what a call can cost unless `decide`, given the newest totals, says why not; returns that.

        Once this has returned the empty string the hold is durable. StoreError where it cannot be: make no call then.
        """
        found = self.draw(lambda book: decide(book) or wanted)
        return found if isinstance(found, str) else ""

    def draw(self, make: Make) -> Entry | str:
        """As `hold`; `make` says from the newest totals what is set aside, or why nothing is. Returns the same."""
        if isinstance(wanted := make(self.refresh()), str):
            return wanted  # no need for the lock
        ledger_pages.turn(self.path, wanted.at)
        with files.locked_log(self.path) as fd:
            self._read()
            found = make(self.book)
            if isinstance(found, Entry):
                files.append_locked(fd, encode(_sound(found)))
        return found

    def settle(self, call: str, day: str, now: float, *, tokens: int, usd: float, seconds: float) -> None:
        """Say what a call did cost; nothing at all releases its hold. A second time changes nothing."""
        kind = SETTLE if tokens or usd else RELEASE
        self.append(Entry(call, kind, times.iso(now), day=day, tokens=tokens, usd=usd, seconds=seconds))

    def sent(self, call: str, day: str, now: float) -> None:
        """Say that the request of a call leaves now. StoreError where that cannot be: do not send it then."""
        self.append(Entry(call, SENT, times.iso(now), day=day))

    def append(self, *entries: Entry) -> None:
        """Append other lines durably."""
        if entries:
            files.append(self.path, b"".join([encode(_sound(entry)) for entry in entries]))

    def once(self, notice: Entry) -> bool:
        """Append a notice unless one of its id is there; True where this call did."""
        return not self.hold(notice, lambda book: "told" if notice.id in book.notices else "")

    def give_up_dead(self, now: float) -> list[Entry]:
        """Close the holds of processes that are gone, and return them.

        A call that was never sent cost nothing. All others count in full, as nobody will say what they cost.
        """
        book, at = self.refresh(), times.iso(now)
        dead = [hold for hold in book.open.values() if not process.is_same(owner(hold))]
        gone = [wait for wait in book.waits.values() if not process.is_same(owner(wait))]
        self.append(
            *[Entry(hold.id, RELEASE if hold.unsent else LOST, at, day=hold.day, text=_GONE) for hold in dead],
            *[Entry(wait.id, GONE, at, day=wait.day, task=wait.task) for wait in gone],
        )
        return dead

    def _load(self) -> None:
        self._unsaved = 0
        try:
            found = msgspec.json.decode(files.read(self._index) or b"", type=_Index)
            page = self._follower.page_of(found.place)
            if page is None or found.last != _bytes_before(files.open_plain(page), found.place[2]):
                return
        except (*UNDECODABLE, files.StoreError, OSError, ValueError):
            return  # none, or of no use: everything is read
        self.book = found.book
        self._follower.resume(found.place, page)

    def _save(self) -> None:
        """Keep the totals where much was read since the last time, or a page was turned; failing costs only time."""
        if self._unsaved < _SAVE_EVERY and (self._follower.turned == self._turned or not self._follower.offset):
            return
        try:
            place = self._follower.place()
            last = _bytes_before(self._follower.open_copy(), place[2])
            files.replace(self._index, msgspec.json.encode(_Index(place, last, self.book)))
        except (files.StoreError, OSError):
            return
        self._unsaved, self._turned = 0, self._follower.turned


def _bytes_before(fd: int, offset: int) -> str:
    """The last bytes before a place, as hex. Closes `fd`."""
    try:
        start = max(0, offset - _LAST)
        return os.pread(fd, offset - start, start).hex()
    finally:
        os.close(fd)


class LedgerReader:
    """The totals for somebody who only looks: a ledger that cannot be read is a problem to show, not an error."""

    def __init__(self, layout: Layout) -> None:
        self._ledger = Ledger(layout)
        self.problems: list[Problem] = []

    def close(self) -> None:
        """Let go of the ledger."""
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
        """Take in what is new."""
        try:
            self._ledger.refresh()
            self.problems = self._ledger.damage.problems()
        except (files.StoreError, OSError) as error:
            self.problems = [Problem(where="spend.jsonl", what=str(error), hint="no model call is made until then")]


def new_call() -> str:
    """The id of a call."""
    return ids.new_id("spd")


def owner(entry: Entry) -> ProcessId:
    """The process that wrote a hold."""
    return ProcessId(pid=entry.pid, start_ticks=entry.start_ticks, boot_id=entry.boot_id)


def unreserved(entry: Entry) -> Entry:
    """The line of a call that nobody had reserved."""
    return msgspec.structs.replace(entry, kind=SPENT)


def _sound(entry: Entry) -> Entry:
    """A server may say anything: no amount is negative or endless."""
    numbers = (entry.usd, entry.seconds, entry.waited)
    if all(math.isfinite(number) and number >= 0 for number in numbers) and entry.tokens >= 0:
        return entry
    usd, seconds, waited = (max(0.0, number) if math.isfinite(number) else 0.0 for number in numbers)
    return msgspec.structs.replace(entry, tokens=max(0, entry.tokens), usd=usd, seconds=seconds, waited=waited)
