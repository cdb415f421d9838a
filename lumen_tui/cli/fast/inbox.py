"""`inbox`: the unread signals of a reader, newest first; what was shown is marked as read."""

from __future__ import annotations

import os
import sys

from lumen_tui import hot
from lumen_tui.model import fields, lanes, times
from lumen_tui.storage import files
from lumen_tui.store.signals import inbox
from lumen_tui.store.signals.inbox import InboxPage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LIMIT = 100
EVERYTHING = 1 << 60
_FEW = 5_000  # unread signals up to which counting them one by one is quicker than the index
_POLL_SECONDS = 0.2


class InboxOptions:
    """The options of one `inbox`. `since` is in seconds since 1970."""

    def __init__(self) -> None:
        self.reader = ""
        self.limit = LIMIT
        self.wu_id = self.lane = ""
        self.since = 0.0
        self.as_json = self.count = self.no_mark = False

    def filter(self) -> Callable[[dict[str, object]], bool] | None:
        """Return the test that a signal must pass; None where all do."""
        if not (self.wu_id or self.lane or self.since):
            return None
        return self._passes

    def _passes(self, signal: dict[str, object]) -> bool:
        if self.wu_id and signal.get("wu_id") != self.wu_id:
            return False
        if self.lane and lanes.key(str(signal.get("lane", ""))) != lanes.key(self.lane):
            return False
        return not self.since or epoch(str(signal.get("created_at"))) >= self.since


def show(root: str, options: InboxOptions, now: float) -> int:
    """Print unread signals, then mark them as read; return how many."""
    if options.count:
        number = _count(root, options)
        print(number)
        return number
    memory = os.path.join(root, "memory")
    page = inbox.unread(memory, options.reader, options.limit, options.filter())
    if options.as_json:
        _print_json(page)
    else:
        for _, signal in page.signals:
            print(_row(signal, now))
    sys.stdout.flush()  # what could not be shown is not read
    _report(page, options)
    if page.signals and not options.no_mark:
        _try_to_mark(os.path.join(memory, "signal-receipts.jsonl"), page, options, now)
    return len(page.signals)


def _count(root: str, options: InboxOptions) -> int:
    """Return how many are unread: by a short walk from the end, and for a long list by the index of all signals."""
    short = options.filter() is None
    page = inbox.unread(os.path.join(root, "memory"), options.reader, _FEW if short else EVERYTHING, options.filter())
    if not page.more:
        return len(page.signals)
    from pathlib import Path

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.signals.signal_index import SignalIndex

    index = SignalIndex(Layout(Path(root)), options.reader)
    while index.refresh():
        pass
    if index.kept.news:
        print(f"lumen-tui: {index.kept.news}", file=sys.stderr)
    return index.unread


def _print_json(page: InboxPage) -> None:
    import json

    print(json.dumps([signal for _, signal in page.signals], indent=1))


def _row(signal: dict[str, object], now: float) -> str:
    def text(key: str) -> str:
        value = signal.get(key)
        return _one_line(value) if isinstance(value, str) else ""

    age = times.age(now - epoch(text("created_at")))
    session = text("session_id")
    sender = text("sender")
    place = ", ".join([part for part in (text("wu_id"), text("lane")) if part])
    said_by = f"From: {session or sender}" + (f" ({place})" if place else "")
    to = f"→ {text('target_agent')}" if text("target_agent") else ""
    head = _join([text("id"), age, text("priority"), said_by, f"by {sender}" if session else "", to])
    message = signal.get("message")
    body = hot.safe(message if isinstance(message, str) else "(not readable)").rstrip("\n")
    return head + "\n    " + body.replace("\n", "\n    ")


def _report(page: InboxPage, options: InboxOptions) -> None:
    if page.damaged:
        print(f"{page.damaged} damaged line(s) in memory/signals.jsonl were passed over", file=sys.stderr)
    if page.more:
        print(f"older unread signals were left out: --limit {10 * options.limit} or --all", file=sys.stderr)
    if not page.signals:
        print(f"nothing unread for {_one_line(options.reader)}", file=sys.stderr)


def _try_to_mark(path: str, page: InboxPage, options: InboxOptions, now: float) -> None:
    """Mark as read; a failure is a warning only, because the signals were shown."""
    try:
        _mark(path, page, options, now)
    except files.StoreError as error:
        print(f"lumen-tui: nothing was marked as read: {error}", file=sys.stderr)


def _mark(path: str, page: InboxPage, options: InboxOptions, now: float) -> None:
    """Write one receipt where everything unread was shown, else one for each signal."""
    if page.newest and not page.more and options.filter() is None:
        signal_id, offset = page.newest
        records = [fields.receipt(signal_id, reader=options.reader, now=now, offset=offset, upto=True)]
    else:
        records = [
            fields.receipt(signal["id"], reader=options.reader, now=now, offset=offset)
            for offset, signal in page.signals
        ]
    files.append(path, b"".join([files.journal_line(hot.encode(record)) for record in records]))


def watch(root: str, options: InboxOptions) -> int:
    """Show what is unread and then what comes, until interrupted."""
    import time

    journal = os.path.join(root, "memory", "signals.jsonl")
    stamp: tuple[int, int] | None = None
    while True:
        try:
            status = os.stat(journal)
            current = (status.st_ino, status.st_size)
        except FileNotFoundError:
            current = (0, 0)
        if current != stamp:
            first = stamp is None
            stamp = current
            memory = os.path.dirname(journal)
            if first or inbox.unread(memory, options.reader, 1, options.filter()).signals:
                show(root, options, time.time())
        time.sleep(_POLL_SECONDS)


def epoch(text: str) -> float:
    """Return seconds since 1970 of an ISO date, 0 for another text; our own form needs no import of `datetime`."""
    if len(text) != 24 or text[-1] != "Z":
        return times.epoch(text)
    try:
        year = int(text[:4])
        month = int(text[5:7])
        day = int(text[8:10])
        seconds = int(text[11:13]) * 3600 + int(text[14:16]) * 60 + float(text[17:23])
    except ValueError:
        return 0.0
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)  # years that begin in March
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719468
    return days * 86400 + seconds


def _one_line(text: str) -> str:
    """Return `text` made safe and on one line."""
    return " ".join(hot.safe(text).split())


def _join(parts: Iterable[str]) -> str:
    """Join the non-empty parts with two spaces."""
    return "  ".join([part for part in parts if part])
