"""`inbox`: what this reader has not read, newest first; what was shown is then read."""

from __future__ import annotations

import os
import sys

from lumen_tui.actions import fields
from lumen_tui.cli.fast import light
from lumen_tui.model import lanes, times
from lumen_tui.storage import files
from lumen_tui.store.signals import inbox
from lumen_tui.store.signals.inbox import InboxPage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LIMIT = 100
EVERYTHING = 1 << 60
_FEW = 5_000  # unread signals up to which counting them one by one is the quicker way
_LOOK_SECONDS = 0.2


class Wish:
    """What is asked of one look into the inbox. `since` is in seconds since 1970."""

    def __init__(self) -> None:
        self.reader = ""
        self.limit = LIMIT
        self.wu_id = self.lane = ""
        self.since = 0.0
        self.as_json = self.count = self.no_mark = False

    def filter(self) -> Callable[[dict[str, Any]], bool] | None:
        """The test that a signal must pass, None where all do."""
        if not (self.wu_id or self.lane or self.since):
            return None
        return self._passes

    def _passes(self, signal: dict[str, Any]) -> bool:
        if self.wu_id and signal.get("wu_id") != self.wu_id:
            return False
        if self.lane and lanes.key(str(signal.get("lane", ""))) != lanes.key(self.lane):
            return False
        return not self.since or light.epoch(str(signal.get("created_at"))) >= self.since


def show(root: str, wish: Wish, now: float) -> int:
    """Print, then mark what was printed; returns how many that were."""
    if wish.count:
        number = _count(root, wish)
        print(number)
        return number
    memory = os.path.join(root, "memory")
    page = inbox.unread(memory, wish.reader, wish.limit, wish.filter())
    if wish.as_json:
        _print_json(page)
    else:
        for _, signal in page.found:
            print(_row(signal, now))
    sys.stdout.flush()  # what could not be shown is not read
    _tell(page, wish)
    if page.found and not wish.no_mark:
        _try_to_mark(os.path.join(memory, "signal-receipts.jsonl"), page, wish, now)
    return len(page.found)


def _count(root: str, wish: Wish) -> int:
    """How many are unread: a short walk from the end, and only for a long list the index of them all."""
    short = wish.filter() is None
    page = inbox.unread(os.path.join(root, "memory"), wish.reader, _FEW if short else EVERYTHING, wish.filter())
    if not page.more:
        return len(page.found)
    from pathlib import Path

    from lumen_tui.storage.layout import Layout
    from lumen_tui.store.signals.signal_index import SignalIndex

    index = SignalIndex(Layout(Path(root)), wish.reader)
    while index.refresh():
        pass
    return index.unread


def _print_json(page: InboxPage) -> None:
    import json

    print(json.dumps([signal for _, signal in page.found], indent=1))


def _row(signal: dict[str, Any], now: float) -> str:
    def text(key: str) -> str:
        value = signal.get(key)
        return light.one_line(value) if isinstance(value, str) else ""

    age = times.age(now - light.epoch(text("created_at")))
    session, sender = text("session_id"), text("sender")
    place = ", ".join([part for part in (text("wu_id"), text("lane")) if part])
    said_by = f"From: {session or sender}" + (f" ({place})" if place else "")
    to = f"→ {text('target_agent')}" if text("target_agent") else ""
    head = light.join([text("id"), age, text("priority"), said_by, f"by {sender}" if session else "", to])
    message = signal.get("message")
    body = light.safe(message if isinstance(message, str) else "(not readable)").rstrip("\n")
    return head + "\n    " + body.replace("\n", "\n    ")


def _tell(page: InboxPage, wish: Wish) -> None:
    if page.damaged:
        print(f"{page.damaged} damaged line(s) in memory/signals.jsonl were passed over", file=sys.stderr)
    if page.more:
        print(f"older unread signals were left out: --limit {10 * wish.limit} or --all", file=sys.stderr)
    if not page.found:
        print(f"nothing unread for {light.one_line(wish.reader)}", file=sys.stderr)


def _try_to_mark(path: str, page: InboxPage, wish: Wish, now: float) -> None:
    """Mark as read; what was shown was shown, so where it cannot be marked that is a warning."""
    try:
        _mark(path, page, wish, now)
    except files.StoreError as error:
        print(f"lumen-tui: nothing was marked as read: {error}", file=sys.stderr)


def _mark(path: str, page: InboxPage, wish: Wish, now: float) -> None:
    """One receipt for everything where everything unread was shown, else one for each."""
    if page.newest and not page.more and wish.filter() is None:
        signal_id, offset = page.newest
        records = [fields.receipt(signal_id, reader=wish.reader, now=now, offset=offset, upto=True)]
    else:
        records = [
            fields.receipt(signal["id"], reader=wish.reader, now=now, offset=offset) for offset, signal in page.found
        ]
    files.append(path, b"".join([files.check_line(light.line(record)) for record in records]))


def watch(root: str, wish: Wish) -> int:
    """Show what is unread and then whatever comes, until interrupted."""
    import time

    journal = os.path.join(root, "memory", "signals.jsonl")
    stamp: tuple[int, int] | None = None
    while True:
        try:
            found = os.stat(journal)
            now_there = (found.st_ino, found.st_size)
        except FileNotFoundError:
            now_there = (0, 0)
        if now_there != stamp:
            quiet = (
                stamp is not None and not inbox.unread(os.path.dirname(journal), wish.reader, 1, wish.filter()).found
            )
            stamp = now_there
            if not quiet:
                show(root, wish, time.time())
        time.sleep(_LOOK_SECONDS)
