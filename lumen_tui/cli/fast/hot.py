"""`signal`, `create`, `inbox`, `checkpoint`, `ready`, `search` and `hook` in their plain forms, without a parser.

Anything unusual (help, an unknown option, wrong input) is left to the full parser: `run` returns None then,
and nothing was written.
"""

from __future__ import annotations

import os
import sys
import time

from lumen_tui.actions import fields
from lumen_tui.actions.refusal import ActionError
from lumen_tui.cli.fast import light
from lumen_tui.storage import files, origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The options of the quick form of each command, by the field of its request; a test holds them in step with
# model/requests, whose import would cost a third of the time that a signal takes.
_COMMON = {"--state": "state", "--from": "by"}
SIGNAL = {
    **_COMMON, "--to": "to", "--wu": "wu_id", "--lane": "lane", "-l": "lane", "--priority": "priority",
    "-p": "priority", "--type": "type", "--session": "session_id", "-s": "session_id",
}  # fmt: skip
CREATE = {
    **_COMMON, "--type": "type", "--tags": "tags", "--priority": "priority", "-p": "priority", "--wu": "wu_id",
    "--session": "session_id", "-s": "session_id",
}  # fmt: skip
_INBOX = {"--state": "state", "--reader": "reader", "--limit": "limit", "--wu": "wu_id", "--lane": "lane", "-l": "lane"}
_INBOX_FLAGS = ("--json", "--count", "-c", "--no-mark", "--all")


def run(argv: list[str]) -> int | None:
    """Carry out the verb and return the exit code, or None where it is for the full parser."""
    state: dict[str, str] = {}
    if len(argv) > 2 and argv[0] == "--state":
        state = {"state": argv[1]}
        argv = argv[2:]
    verb = argv[0] if argv else ""
    if verb[:4] in ("mem:", "mem-") and verb[4:] != "hook":
        verb = verb[4:]
        if verb == "ready" and "json" in " ".join(argv[1:]):
            return None  # its JSON has the documented shape
    if verb not in _VERBS or (len(argv) == 1 and verb in ("signal", "create")):
        return None
    try:
        return _VERBS[verb](argv[1:], state)
    except (ValueError, files.LineTooLong, ActionError):
        return None
    except files.StoreError as error:
        print(f"lumen-tui: {error}", file=sys.stderr)
        return 1


def _options(
    argv: list[str], known: dict[str, str], flags: tuple[str, ...] = ()
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return options by name, flags, and the other words. Raise ValueError for an unknown option."""
    options: dict[str, str] = {}
    set_flags: list[str] = []
    words: list[str] = []
    remaining = iter(argv)
    for word in remaining:
        name, equals, value = word.partition("=") if word[:2] == "--" else (word, "", "")
        if name in known:
            options[known[name]] = value if equals else next(remaining, "-")
            if not equals and options[known[name]][:1] == "-":
                raise ValueError(word)
        elif word in flags:
            set_flags.append(word)
        elif word[:1] == "-":
            raise ValueError(word)
        else:
            words.append(word)
    return options, set_flags, words


def _root(options: dict[str, str], state: dict[str, str]) -> str:
    root = options.pop("state", "") or state.get("state", "") or light.state_root(os.environ)
    if not light.usable(root):
        raise ValueError(root)
    return root


def _check_names(root: str, options: dict[str, str]) -> None:
    """Normalise the work unit and the lane. Raise ActionError for unknown ones."""
    if options.get("wu_id") or options.get("lane"):
        from lumen_tui.actions import places

        options["wu_id"] = places.work_at(root, options["wu_id"]) if options.get("wu_id") else ""
        options["lane"] = places.lane_at(root, options.get("lane", ""))


def _append(
    root: str, name: str, record: dict[str, Any], change: dict[str, Any], label: str, by: str, now: float
) -> int:
    """Append the action, then the record, so that undo knows of it whatever is killed when; print the id."""
    original = light.line(record)
    line = files.journal_line(original)
    if line[:-1] != original:  # the summary must hold no secret either, nor a piece of one
        from lumen_tui.model import jsontext

        record = jsontext.decode(line) or {**record, "message": "", "content": ""}
    client = light.client(os.environ)
    if record.get("wu_id") and not os.path.exists(f"{root}/work/{record['wu_id']}.md"):
        from lumen_tui.actions import places

        if created := places.ensure_unit(root, record["wu_id"], by=by, now=now, client=client):
            print(f"lumen-tui: {created}", file=sys.stderr)
    text = str(record.get("message") or record.get("content") or "")[:120]
    summary = f"{label}: {' '.join(text.split())[:60]}"  # made safe where it is shown
    verb = "signal.send" if change["kind"] == "signal" else "node.create"
    action = fields.noted(verb, change["key"], summary, by=by, now=now, client=client)
    action_line = files.journal_line(light.line({**action, "changes": [change]}))
    files.append(f"{root}/actions.jsonl", action_line, durable=False)
    files.append(f"{root}/memory/{name}", line)
    os.write(1, f"{record['id']}\n".encode())
    return 0


def _signal(argv: list[str], state: dict[str, str]) -> int:
    options, _, words = _options(argv, SIGNAL)
    if len(words) != 1 or words[0] == "cleanup":  # `signal cleanup` is another command
        raise ValueError(words)
    if os.environ.get(origin.TOKEN):
        raise ValueError(origin.TOKEN)
    root = _root(options, state)
    by = options.pop("by", "") or origin.operator_name(os.environ)
    now = time.time()
    session = options.pop("session_id", "")
    wu_id = options.pop("wu_id", None)
    if options.get("lane") or session or wu_id is not None or light.has_sessions(root):
        from lumen_tui.actions import places

        session, wu_id = light.belongs(root, session, wu_id, os.environ)
        where = places.of_note(root, by=by, wu_id=wu_id, session=session)
        lane = places.lane_at(root, options.get("lane", "")) or places.lane_of(root, where.wu_id)
        options |= {"wu_id": where.wu_id, "session_id": where.session_id, "lane": lane}
    record = fields.signal(words[0], by=by, now=now, order=not origin.no_operator(os.environ), **options)
    label = "signal sent" + (f" to {options['to']}" if options.get("to") else "")
    change = fields.made("signal", record["id"], None, {"sent": True})
    return _append(root, "signals.jsonl", record, change, label, by, now)


def _create(argv: list[str], state: dict[str, str]) -> int:
    options, _, words = _options(argv, CREATE)
    if len(words) != 1:
        raise ValueError(words)
    root = _root(options, state)
    by = options.pop("by", "") or origin.operator_name(os.environ)
    now = time.time()
    tags = [tag.strip() for tag in options.pop("tags", "").split(",")]
    from lumen_tui.actions import places

    session, wu_id = light.belongs(root, options.pop("session_id", ""), options.pop("wu_id", None), os.environ)
    where = places.of_note(root, by=by, wu_id=wu_id, session=session)
    options |= {"wu_id": where.wu_id, "session_id": where.session_id}
    record = fields.node(words[0], by=by, now=now, tags=tags, **options)
    label = f"{record['type']} noted"
    change = fields.made_node(record)
    code = _append(root, "memory.jsonl", record, change, label, by, now)
    from lumen_tui.storage import raw_json  # imported for the place already

    if twin := raw_json.same_text(f"{root}/memory/memory.jsonl", record["id"]):
        print(f"lumen-tui: {light.safe(fields.said_before(twin))}", file=sys.stderr)
    return code


def _inbox(argv: list[str], state: dict[str, str]) -> int:
    from lumen_tui.cli.fast import inbox

    options, flags, words = _options(argv, _INBOX, _INBOX_FLAGS)
    if words or ("limit" in options and int(options["limit"]) < 1):
        raise ValueError(words)
    root = _root(options, state)
    query = inbox.InboxOptions()
    reader = options.get("reader") or light.reader(root, origin.operator_name(os.environ), os.environ)
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

    options, flags, words = _options(argv, {**_COMMON, **warm.CHECKPOINT}, warm.QUIET)
    return warm.checkpoint(_root(options, state), options, flags, words)


def _ready(argv: list[str], state: dict[str, str]) -> int:
    from lumen_tui.cli.fast import warm

    options, flags, words = _options(argv, {**_COMMON, **warm.READY}, (*warm.QUIET, "--json"))
    return warm.ready_page(_root(options, state), options, flags, words)


def _search(argv: list[str], state: dict[str, str]) -> int:
    if "--" in argv:
        raise ValueError(argv)
    from lumen_tui.cli.commands import search

    options, flags, words = _options(argv, {"--state": "state", **search.OPTIONS}, search.FLAGS)
    return search.light(_root(options, state), options, flags, words)


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

    return pipes.serve(kind, _root(options, state), options.get("name", ""), scopes)


def _mcp(argv: list[str], state: dict[str, str]) -> int:
    return _serve("mcp", argv, state)


def _acp(argv: list[str], state: dict[str, str]) -> int:
    return _serve("acp", argv, state)


_VERBS = {
    "signal": _signal, "create": _create, "inbox": _inbox, "checkpoint": _checkpoint, "ready": _ready, "hook": _hook,
    "search": _search, "mcp": _mcp, "acp": _acp,
}  # fmt: skip
