"""The ledger's pages: spend.jsonl, and earlier ones as spend-2026-10.jsonl, spend-2026-10.2.jsonl …

A page is turned by one rename, under the lock that appends take, when a month begins or the page is large. So a page
that has a month in its name never changes again, and its readers continue where they were.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from lumen_tui.model.patterns import lazy_re
from lumen_tui.storage import files
from lumen_tui.storage.journal import Follower

LARGEST = 16 * 1024 * 1024  # bytes of a page, about
_NAME = lazy_re(r"spend-(\d{4}-\d\d)(?:\.(\d{1,9}))?\.jsonl")
_MONTH = lazy_re(rb'"at":"(\d{4}-\d\d)-')
_HEAD = 4096  # bytes in which the month of a page is found
_MONTHS = 2  # read by those without an index: longer than totals are kept

Place = tuple[int, int, int]  # device, inode, offset


def pages(ledger: Path) -> list[Path]:
    """Return the turned pages, the oldest first."""
    numbered = [(match[1], int(match[2] or 1), name) for name in _names(ledger) if (match := _NAME.fullmatch(name))]
    return [ledger.parent / name for _, _, name in sorted(numbered)]


def _names(ledger: Path) -> list[str]:
    """List the folder. Raise StoreError where it cannot be: without its pages nothing would seem to be spent."""
    try:
        return os.listdir(ledger.parent)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise files.StoreError(f"{ledger.parent}: {error.strerror}") from error


def turn(ledger: Path, at: str) -> None:
    """Turn the page where that is due for a line of the time `at`. StoreError where it cannot be done."""
    if not _is_due(ledger, at):
        return
    from lumen_tui.storage import seals  # once a month

    with files.locked_log(ledger):
        if _is_due(ledger, at):  # and nobody did while we waited for the lock
            seals.move(ledger, ledger.parent / _next_name(ledger))


def _is_due(ledger: Path, at: str) -> bool:
    try:
        size = os.stat(ledger, follow_symlinks=False).st_size
    except OSError:
        return False
    return size > LARGEST or "" < _month_of(ledger) < at[:7]


def _month_of(page: Path) -> str:
    """Return the month of the page's first dated line; empty where there is none."""
    match = _MONTH.search(files.read(page, _HEAD) or b"")
    return match[1].decode() if match else ""


def _next_name(ledger: Path) -> str:
    """Return a name after all existing ones, even if the clock was moved back."""
    month = _month_of(ledger) or "0000-00"
    number = 1
    if turned := pages(ledger):
        last = _NAME.fullmatch(turned[-1].name)
        if last and last[1] >= month:
            month = last[1]
            number = int(last[2] or 1) + 1
    return f"spend-{month}.jsonl" if number == 1 else f"spend-{month}.{number}.jsonl"


class PageFollower:
    """Follows the ledger from page to page, as a Follower does one file. A torn tail is left behind with its page."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._at = Follower(ledger)
        self._begun = False
        self._restarts = self._passed = 0

    def close(self) -> None:
        """Close the page."""
        self._at.close()

    @property
    def generation(self) -> int:
        """A number that grows when everything read before is void."""
        return self._restarts

    @property
    def overlong(self) -> list[int]:
        return self._at.overlong

    @property
    def offset(self) -> int:
        """The offset of the next unread line, in its page."""
        return self._at.offset

    @property
    def turned(self) -> int:
        """How many pages were left behind."""
        return self._passed

    def changed(self) -> bool:
        """Return whether there may be something new. Costs one `stat`, and a listing where nothing was there."""
        if not self._begun:  # a kill behind the turn of a page leaves turned ones alone
            return _identity(self._ledger) is not None or bool(pages(self._ledger))
        return self._at.path != self._ledger or self._at.changed()

    def place(self) -> Place:
        """Return the current place, for `resume`."""
        return self._at.place()

    def open_copy(self) -> int:
        """Return a descriptor of the very page that was read last."""
        return self._at.open_copy()

    def resume(self, place: Place, page: Path) -> None:
        """Continue at a place of a page, as `page_of` finds it."""
        self._begun = True
        self._go_to(page, place)

    def page_of(self, place: Place) -> Path | None:
        """Return the page that a place is in; None where it is gone."""
        return next((page for page in (self._ledger, *pages(self._ledger)) if _identity(page) == place[:2]), None)

    def poll(self, limit: int) -> tuple[int, bytes]:
        """Return new whole lines as (offset, bytes); call again until it is empty."""
        while self._begun or self._begin():
            before = self._at.place()
            generation = self._at.generation
            offset, data = self._at.poll(limit)
            if self._at.generation != generation:
                self._find(before)
            elif data or self._at.path == self._ledger or not self._pass_on():
                return offset, data
        return 0, b""

    def _begin(self) -> bool:
        """Go to the first page that is needed; return False where there is none."""
        self._begun = self._enter(_needed)
        return self._begun

    def _pass_on(self) -> bool:
        """Go on after a turned page, which never changes any more; return False where nothing is there yet."""
        page = self._at.path
        moved = self._enter(lambda turned: turned[turned.index(page) + 1 :] if page in turned else [])
        self._passed += moved
        return moved

    def _enter(self, choose: Callable[[list[Path]], list[Path]]) -> bool:
        """Go to the first of the turned pages that are chosen, else to the newest page.

        Which file that is, is looked up before the others are listed: it may be turned at any moment.
        """
        newest = _identity(self._ledger)
        chosen = choose(pages(self._ledger))
        if chosen:
            self._go_to(chosen[0])
        elif newest:
            self._go_to(self._ledger, (*newest, 0))
        return bool(chosen or newest)

    def _find(self, before: Place) -> None:
        """Find the page again after the file was replaced: it was turned, or somebody put another ledger there."""
        page = self.page_of(before)
        if page is not None and page != self._ledger:
            self._go_to(page, before)
            return
        self._restarts += 1
        self._begun = False

    def _go_to(self, page: Path, place: Place | None = None) -> None:
        self._at.close()
        self._at = Follower(page)
        if place is not None:
            self._at.resume(place)


def _needed(turned: list[Path]) -> list[Path]:
    """Return the pages needed for the totals that are kept."""
    months = sorted({page.name[6:13] for page in turned})[-_MONTHS:]
    return [page for page in turned if page.name[6:13] in months]


def _identity(page: Path) -> tuple[int, int] | None:
    """Return (device, inode) of a page; None where it is missing. Refused for what is no file."""
    try:
        page_stat = os.stat(page, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(page_stat.st_mode):
        os.close(files.open_plain(page))  # which says what is wrong with it
    return page_stat.st_dev, page_stat.st_ino
