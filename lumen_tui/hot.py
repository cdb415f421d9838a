"""`signal` and `create` in their plain forms, which must be quick: without a parser; and what all such verbs share.

Anything unusual (help, an unknown option, wrong input) is left to the full parser: `run` returns None then,
and nothing was written. The module stands beside `__main__`, outside of the layers, as each module and each package
around one costs a signal a hundredth of its time.
"""

from __future__ import annotations

import os
import sys
import time

from lumen_tui import STATE_SCHEMA
from lumen_tui.model import fields
from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files, origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Verb = Callable[[list[str], dict[str, str]], int | None]

# The options of the quick form of each command, by the field of its request; a test holds them in step with
# model/requests, whose import would cost a third of the time that a signal takes.
COMMON = {"--state": "state", "--from": "by"}
SIGNAL = {
    **COMMON, "--to": "to", "--wu": "wu_id", "--lane": "lane", "-l": "lane", "--priority": "priority",
    "-p": "priority", "--type": "type", "--session": "session_id", "-s": "session_id",
}  # fmt: skip
CREATE = {
    **COMMON, "--type": "type", "--tags": "tags", "--priority": "priority", "-p": "priority", "--wu": "wu_id",
    "--session": "session_id", "-s": "session_id",
}  # fmt: skip
_FIELD = 40  # bytes, in which the first field of `schema.json` and its value are


def run(argv: list[str], others: Callable[[str], Verb | None]) -> int | None:
    """Carry out the verb and return the exit code, or None where it is for the full parser.

    `others` returns what carries out a verb in its plain form that is not one of this module; None without one.
    """
    state: dict[str, str] = {}
    if len(argv) > 2 and argv[0] == "--state":
        state = {"state": argv[1]}
        argv = argv[2:]
    verb = argv[0] if argv else ""
    if verb[:4] in ("mem:", "mem-") and verb[4:] != "hook":
        verb = verb[4:]
        if verb == "ready" and "json" in " ".join(argv[1:]):
            return None  # its JSON has the documented shape
    own = {"signal": _signal, "create": _create}.get(verb)
    carry_out = own or others(verb)
    if carry_out is None or (own and len(argv) == 1):
        return None
    try:
        return carry_out(argv[1:], state)
    except (ValueError, files.LineTooLong):
        return None
    except files.StoreError as error:
        print(f"lumen-tui: {error}", file=sys.stderr)
        return 1
    except _refusals():
        return None


def _refusals() -> tuple[type[Exception], ...]:
    """Return the error of actions that were not carried out, where the module of whoever raises it was loaded."""
    module = sys.modules.get("lumen_tui.actions.refusal")
    return (module.ActionError,) if module else ()


def parse(
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


def root_of(options: dict[str, str], state: dict[str, str]) -> str:
    """Return the state folder. Raise ValueError where it is for the full parser to say what is wrong with it."""
    root = options.pop("state", "") or state.get("state", "") or state_root(os.environ)
    if not usable(root):
        raise ValueError(root)
    return root


def _append(
    root: str, name: str, record: dict[str, Any], change: dict[str, Any], label: str, by: str, now: float
) -> int:
    """Append the action, then the record, so that undo knows of it whatever is killed when; print the id."""
    original = encode(record)
    line = files.journal_line(original)
    if line[:-1] != original:  # the summary must hold no secret either, nor a piece of one
        from lumen_tui.model import jsontext

        record = jsontext.decode(line) or {**record, "message": "", "content": ""}
    client = client_name(os.environ)
    if record.get("wu_id") and not os.path.exists(f"{root}/work/{record['wu_id']}.md"):
        from lumen_tui.actions import places

        if created := places.ensure_unit(root, record["wu_id"], by=by, now=now, client=client):
            print(f"lumen-tui: {created}", file=sys.stderr)
    text = str(record.get("message") or record.get("content") or "")[:120]
    summary = f"{label}: {' '.join(text.split())[:60]}"  # made safe where it is shown
    verb = "signal.send" if change["kind"] == "signal" else "node.create"
    action = fields.noted(verb, change["key"], summary, by=by, now=now, client=client)
    action_line = files.journal_line(encode({**action, "changes": [change]}))
    files.append(f"{root}/actions.jsonl", action_line, durable=False)
    files.append(f"{root}/memory/{name}", line)
    os.write(1, f"{record['id']}\n".encode())
    return 0


def _signal(argv: list[str], state: dict[str, str]) -> int:
    options, _, words = parse(argv, SIGNAL)
    if len(words) != 1 or words[0] == "cleanup":  # `signal cleanup` is another command
        raise ValueError(words)
    if os.environ.get(origin.TOKEN):
        raise ValueError(origin.TOKEN)
    root = root_of(options, state)
    by = options.pop("by", "") or origin.operator_name(os.environ)
    now = time.time()
    session = options.pop("session_id", "")
    wu_id = options.pop("wu_id", None)
    if options.get("lane") or session or wu_id is not None or has_sessions(root):
        from lumen_tui.actions import places

        session, wu_id = belongs(root, session, wu_id, os.environ)
        where = places.of_note(root, by=by, wu_id=wu_id, session=session)
        lane = places.lane_at(root, options.get("lane", "")) or places.lane_of(root, where.wu_id)
        options |= {"wu_id": where.wu_id, "session_id": where.session_id, "lane": lane}
    record = fields.signal(words[0], by=by, now=now, order=not origin.no_operator(os.environ), **options)
    label = "signal sent" + (f" to {options['to']}" if options.get("to") else "")
    change = fields.made("signal", record["id"], None, {"sent": True})
    return _append(root, "signals.jsonl", record, change, label, by, now)


def _create(argv: list[str], state: dict[str, str]) -> int:
    options, _, words = parse(argv, CREATE)
    if len(words) != 1:
        raise ValueError(words)
    root = root_of(options, state)
    by = options.pop("by", "") or origin.operator_name(os.environ)
    now = time.time()
    tags = [tag.strip() for tag in options.pop("tags", "").split(",")]
    from lumen_tui.actions import places

    session, wu_id = belongs(root, options.pop("session_id", ""), options.pop("wu_id", None), os.environ)
    where = places.of_note(root, by=by, wu_id=wu_id, session=session)
    options |= {"wu_id": where.wu_id, "session_id": where.session_id}
    record = fields.node(words[0], by=by, now=now, tags=tags, **options)
    label = f"{record['type']} noted"
    change = fields.made_node(record)
    code = _append(root, "memory.jsonl", record, change, label, by, now)
    from lumen_tui.storage import raw_json  # imported for the place already

    if twin := raw_json.same_text(f"{root}/memory/memory.jsonl", record["id"]):
        print(f"lumen-tui: {safe(fields.said_before(twin))}", file=sys.stderr)
    return code


def encode(record: Mapping[str, object]) -> bytes:
    """Return the record as a journal line, without its newline."""
    return dumps(record).encode()


def has_sessions(root: str) -> bool:
    """Return whether a session may be open, without importing anything."""
    try:
        return any(name.endswith(".json") and name != "current.json" for name in os.listdir(f"{root}/sessions"))
    except OSError:
        return False


def belongs(root: str, session: str, wu_id: str | None, environ: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the session and the work unit that a record names, or that `$LUMEN_SESSION` names for it.

    With a session that has ended the work unit is `none`, not that of another session.
    """
    variable = environ.get("LUMEN_SESSION", "").strip()
    if session or not variable:
        return session, wu_id
    from lumen_tui.actions import places

    current = places.session_at(root, variable)
    if current.ended_at:
        return "", wu_id or "none"
    return ("", wu_id) if wu_id and wu_id.upper() != current.active_wu else (current.session_id, None)


def client_name(environ: Mapping[str, str]) -> str:
    """Return where an action is done: the session of an agent, the room whose line this is, or `cli`."""
    return environ.get("LUMEN_SESSION", "").strip() or environ.get("LUMEN_CLIENT", "").strip() or "cli"


def state_root(environ: Mapping[str, str]) -> str:
    """Return the default state folder, as `storage.layout.default_root` does."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if root := environ.get("LUMEN_STATE"):
        return os.path.expanduser(root)
    if os.path.isfile("pyproject.toml") and os.path.isdir("lumen_tui"):
        return os.path.join(os.getcwd(), "state")
    return os.path.join(environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "lumen")


def usable(root: str) -> bool:
    """Return whether the folder is initialised, ours and closed to others; the full parser reports what is wrong."""
    try:
        status = os.stat(root)
    except OSError:
        return False
    if status.st_uid != os.geteuid() or status.st_mode & 0o022 or files.shared_above(root):
        return False
    return _is_known(f"{root}/schema.json") and _is_own_folder(
        f"{root}/memory", within_reach=bool(status.st_mode & 0o011)
    )


def _is_known(path: str) -> bool:
    """Return whether `schema.json` is of this version or of one before it, when there was none, by its first field."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    name, _, number = os.read(fd, _FIELD).split(b",")[0].rstrip(b"}\n").partition(b":")
    os.close(fd)
    return name == b'{"schema"' and number.isdigit() and int(number) <= STATE_SCHEMA


def safe(text: str) -> str:
    """Return what `model.text.safe` does, which is imported only where it changes something."""
    if text.isascii() and text.isprintable():
        return text
    from lumen_tui.model import text as full

    return full.safe(text)


def report_masked(code: int) -> int:
    """Report on stderr which secrets a command masked in what it wrote, and return its exit code."""
    module = sys.modules.get("lumen_tui.storage.redaction")  # imported only where a secret was possible
    rules = module.PROCESS.rules if module and code not in (2, 3) else []
    if rules:
        count = "1 secret" if len(rules) == 1 else f"{len(rules):,} secrets"
        names = ", ".join(dict.fromkeys(rules))
        print(f"lumen-tui: masked {count} ({names}); with --verbatim it is written as it is", file=sys.stderr)
    return code


def _is_own_folder(path: str, *, within_reach: bool) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return not within_reach or not os.stat(path).st_mode & 0o022
