"""Printing of journals in the shell: the lines that are there, then new ones; each as text or as JSON."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from lumen_tui.cli.session import document, talk
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.storage.journal import Follower

R = TypeVar("R", bound=msgspec.Struct)

_POLL_SECONDS = 0.2
_CHUNK = 1024 * 1024


def read(line: bytes, kind: type[R]) -> R | None:
    """Decode one record; return None for a damaged line."""
    try:
        return msgspec.json.decode(line, type=kind)
    except UNDECODABLE:
        return None


def json_line(record: msgspec.Struct) -> None:
    """Print one record; everything beyond ASCII is escaped."""
    import json  # here, so that commands that print text do without

    print(json.dumps(msgspec.to_builtins(record)), flush=True)


def everything(follower: Follower) -> Iterator[bytes]:
    """Yield the lines that are there now; following goes on after the last of them."""
    while data := follower.poll(_CHUNK)[1]:
        yield from data.splitlines()


def recent(follower: Follower, kind: type[R], most: int | None = None) -> list[R]:
    """Return the last `most` records that are there now, or all; following goes on after them, missing none."""
    records: deque[R] = deque(maxlen=most)
    generation = follower.generation
    for line in everything(follower):
        if follower.generation != generation:  # the journal was replaced: its lines come again
            records.clear()
            generation = follower.generation
        if record := read(line, kind):
            records.append(record)
    return list(records)


def follow(
    follower: Follower, kind: type[R], show: Callable[[R], None], until: Callable[[], bool] = lambda: False
) -> None:
    """Show every new record of a journal, until interrupted or `until` says so."""
    while True:
        ended = until()
        for line in everything(follower):
            if record := read(line, kind):
                show(record)
        sys.stdout.flush()
        if ended:
            return
        time.sleep(_POLL_SECONDS)


def listed(
    records: Sequence[R],
    follower: Follower,
    kind: type[R],
    show_text: Callable[[R], None],
    args: Namespace,
    *,
    nothing: str,
    until: Callable[[], bool] = lambda: False,
) -> int:
    """Print the records, as one document or line by line, and with `--follow` those that come; return the exit code."""
    if args.json and not args.follow:
        document(records)
        return 0
    show = json_line if args.json else show_text
    for record in records:
        show(record)
    if not records:
        talk(nothing)
    if args.follow:
        follow(follower, kind, show, until)
    return 0
