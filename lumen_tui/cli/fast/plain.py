"""`inbox`, `checkpoint`, `ready`, `search`, `hook` and the servers in their plain forms, and what they share.

As in `lumen_tui.hot`, a ValueError or an ActionError leaves the words to the full parser; nothing was written then.
"""

from __future__ import annotations

import os
import time

from lumen_tui import hot
from lumen_tui.model import fields, times
from lumen_tui.storage import origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_INBOX = {"--state": "state", "--reader": "reader", "--limit": "limit", "--wu": "wu_id", "--lane": "lane", "-l": "lane"}
_INBOX_FLAGS = ("--json", "--count", "-c", "--no-mark", "--all")


def _check_names(root: str, options: dict[str, str]) -> None:
    """Normalise the work unit and the lane. Raise ActionError for unknown ones."""
    if options.get("wu_id") or options.get("lane"):
        from lumen_tui.actions import places

        options["wu_id"] = places.work_at(root, options["wu_id"]) if options.get("wu_id") else ""
        options["lane"] = places.lane_at(root, options.get("lane", ""))


def _inbox(argv: list[str], state: dict[str, str]) -> int:
    from lumen_tui.cli.fast import inbox

    options, flags, words = hot.parse(argv, _INBOX, _INBOX_FLAGS)
    if words or ("limit" in options and int(options["limit"]) < 1):
        raise ValueError(words)
    root = hot.root_of(options, state)
    query = inbox.InboxOptions()
    reader = options.get("reader") or reader_name(root, origin.operator_name(os.environ), os.environ)
    query.reader = fields.label(reader, "reader")
    query.limit = inbox.EVERYTHING if "--all" in flags else int(options.get("limit", inbox.LIMIT))
    _check_names(root, options)
    query.wu_id = options.get("wu_id", "")
    query.lane = options.get("lane", "")
    query.as_json = "--json" in flags
    query.no_mark = "--no-mark" in flags
    query.count = "--count" in flags or "-c" in flags
    inbox.show(root, query, time.time())
    return 0


def _checkpoint(argv: list[str], state: dict[str, str]) -> int:
    from lumen_tui.cli.fast import warm

    options, flags, words = hot.parse(argv, {**hot.COMMON, **warm.CHECKPOINT}, warm.QUIET)
    return warm.checkpoint(hot.root_of(options, state), options, flags, words)


def _ready(argv: list[str], state: dict[str, str]) -> int:
    from lumen_tui.cli.fast import warm

    options, flags, words = hot.parse(argv, {**hot.COMMON, **warm.READY}, (*warm.QUIET, "--json"))
    return warm.ready_page(hot.root_of(options, state), options, flags, words)


def _search(argv: list[str], state: dict[str, str]) -> int:
    if "--" in argv:
        raise ValueError(argv)
    from lumen_tui.cli.commands import search

    options, flags, words = hot.parse(argv, {"--state": "state", **search.OPTIONS}, search.FLAGS)
    return search.light(hot.root_of(options, state), options, flags, words)


def _hook(argv: list[str], state: dict[str, str]) -> int | None:
    if "--help" in argv or "-h" in argv:
        return None
    from lumen_tui.cli.fast import hook

    return hook.run(argv, state)


def _serve(kind: str, argv: list[str], state: dict[str, str]) -> int:
    """Serve a protocol on stdin and stdout. ValueError for anything but plain options."""
    options: dict[str, str] = {}
    scopes: list[str] = []
    remaining = iter(argv)
    for word in remaining:
        if word == "--scope":
            scopes.append(next(remaining, ""))
        elif word in ("--state", "--name"):
            options[word[2:]] = next(remaining, "")
        else:
            raise ValueError(word)
    from lumen_tui.servers import pipes

    return pipes.serve(kind, hot.root_of(options, state), options.get("name", ""), scopes)


def _mcp(argv: list[str], state: dict[str, str]) -> int:
    return _serve("mcp", argv, state)


def _acp(argv: list[str], state: dict[str, str]) -> int:
    return _serve("acp", argv, state)


def reader_name(root: str, by: str, environ: Mapping[str, str]) -> str:
    """Return the reader of an inbox: the session in which the command runs, else `by`."""
    if session := environ.get("LUMEN_SESSION", "").strip():
        from lumen_tui.actions import places

        return places.session_at(root, session).session_id
    if not hot.has_sessions(root):
        return by
    from lumen_tui.store.work import open_sessions

    newest = open_sessions.newest(root, by)
    return newest.session_id if newest else by


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


def one_line(text: str) -> str:
    """Return `text` made safe and on one line."""
    return " ".join(hot.safe(text).split())


def join(parts: Iterable[str]) -> str:
    """Join the non-empty parts with two spaces."""
    return "  ".join([part for part in parts if part])


VERBS = {
    "inbox": _inbox, "checkpoint": _checkpoint, "ready": _ready, "hook": _hook, "search": _search, "mcp": _mcp,
    "acp": _acp,
}  # fmt: skip
