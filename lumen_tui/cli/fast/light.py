"""Helpers of the hot verbs: environment, state folder, text; nothing is imported that costs a millisecond."""

from __future__ import annotations

import os
import sys

from lumen_tui import STATE_SCHEMA
from lumen_tui.model import times
from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_FIELD = 40  # bytes, in which the first field of `schema.json` and its value are


def line(record: Mapping[str, object]) -> bytes:
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


def reader(root: str, by: str, environ: Mapping[str, str]) -> str:
    """Return the reader of an inbox: the session in which the command runs, else `by`."""
    if session := environ.get("LUMEN_SESSION", "").strip():
        from lumen_tui.actions import places

        return places.session_at(root, session).session_id
    if not has_sessions(root):
        return by
    from lumen_tui.store.work import open_sessions

    newest = open_sessions.newest(root, by)
    return newest.session_id if newest else by


def client(environ: Mapping[str, str]) -> str:
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
    if status.st_uid != os.geteuid() or status.st_mode & 0o022 or directories.shared_above(root):
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


def safe(text: str) -> str:
    """Return what `model.text.safe` does, which is imported only where it changes something."""
    if text.isascii() and text.isprintable():
        return text
    from lumen_tui.model import text as full

    return full.safe(text)


def one_line(text: str) -> str:
    """Return `text` made safe and on one line."""
    return " ".join(safe(text).split())


def report_masked(code: int) -> int:
    """Report on stderr which secrets a command masked in what it wrote, and return its exit code."""
    module = sys.modules.get("lumen_tui.storage.redaction")  # imported only where a secret was possible
    rules = module.PROCESS.rules if module and code not in (2, 3) else []
    if rules:
        count = "1 secret" if len(rules) == 1 else f"{len(rules):,} secrets"
        names = ", ".join(dict.fromkeys(rules))
        print(f"lumen-tui: masked {count} ({names}); with --verbatim it is written as it is", file=sys.stderr)
    return code


def join(parts: Iterable[str]) -> str:
    """Join the non-empty parts with two spaces."""
    return "  ".join([part for part in parts if part])


def _is_own_folder(path: str, *, within_reach: bool) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return not within_reach or not os.stat(path).st_mode & 0o022
