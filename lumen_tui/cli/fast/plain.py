"""`inbox`, `checkpoint`, `ready`, `search`, `hook` and the servers in their plain forms.

As in `lumen_tui.hot`, a ValueError or an ActionError leaves the words to the full parser; nothing was written then.
"""

from __future__ import annotations

import os
import time

from lumen_tui import hot
from lumen_tui.model import fields
from lumen_tui.storage import origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    from lumen_tui.model.quick_imports import import_basics

    import_basics()
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


VERBS = {
    "inbox": _inbox, "checkpoint": _checkpoint, "ready": _ready, "hook": _hook, "search": _search, "mcp": _mcp,
    "acp": _acp,
}  # fmt: skip
