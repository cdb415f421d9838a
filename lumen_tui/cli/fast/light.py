"""What the hot verbs need of a command line, with nothing imported that costs a millisecond."""

from __future__ import annotations

import os
import sys

from lumen_tui.model import times
from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def line(record: Mapping[str, Any]) -> bytes:
    """The record as a journal line, without its newline."""
    return dumps(record).encode()


def operator(environ: Mapping[str, str]) -> str:
    """Who is at the keyboard: `$LUMEN_OPERATOR`, else the login name."""
    for name in ("LUMEN_OPERATOR", "LOGNAME", "USER", "LNAME", "USERNAME"):
        if named := environ.get(name, "").strip():
            return named
    try:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "operator"


def has_sessions(root: str) -> bool:
    """Whether a session may be open: a look that loads nothing."""
    try:
        return any(name.endswith(".json") and name != "current.json" for name in os.listdir(f"{root}/sessions"))
    except OSError:
        return False


def belongs(root: str, session: str, wu_id: str | None, environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The session and the work unit that a record names, or that `$LUMEN_SESSION` names for it.

    A session that is over holds nothing any more: the work unit is `none` then, and not that of another session.
    """
    named = environ.get("LUMEN_SESSION", "").strip()
    if session or not named:
        return session, wu_id
    from lumen_tui.actions import places

    found = places.session_at(root, named)
    if found.ended_at:
        return "", wu_id or "none"
    return ("", wu_id) if wu_id and wu_id.upper() != found.active_wu else (found.session_id, None)


def reader(root: str, by: str, environ: Mapping[str, str]) -> str:
    """Whose inbox is meant: that of the session in which the command is given, else of who gives it."""
    if named := environ.get("LUMEN_SESSION", "").strip():
        from lumen_tui.actions import places

        return places.session_at(root, named).session_id
    if not has_sessions(root):
        return by
    from lumen_tui.store.work import open_sessions

    mine = open_sessions.newest(root, by)
    return mine.session_id if mine else by


def client(environ: Mapping[str, str]) -> str:
    """Where an action is done: on the command line, or in the session of an agent."""
    return environ.get("LUMEN_SESSION", "").strip() or "cli"


def state_root(environ: Mapping[str, str]) -> str:
    """As `store.layout.default_root`, as text."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if named := environ.get("LUMEN_STATE"):
        return os.path.expanduser(named)
    if os.path.isfile("pyproject.toml") and os.path.isdir("lumen_tui"):
        return os.path.join(os.getcwd(), "state")
    return os.path.join(environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "lumen")


def usable(root: str) -> bool:
    """Whether the folder is initialised, ours and closed to others; the full parser says what is wrong with it."""
    try:
        found = os.stat(root)
    except OSError:
        return False
    if found.st_uid != os.geteuid() or found.st_mode & 0o022 or directories.shared_above(root):
        return False
    return _is_own_folder(f"{root}/memory", within_reach=bool(found.st_mode & 0o011))


def epoch(text: str) -> float:
    """Seconds since 1970 of a date; of our own form without loading `datetime`. 0 where it is none."""
    if len(text) != 24 or text[-1] != "Z":
        return times.epoch(text)
    try:
        year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
        seconds = int(text[11:13]) * 3600 + int(text[14:16]) * 60 + float(text[17:23])
    except ValueError:
        return 0.0
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)  # years that begin in March
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1 - 719468
    return days * 86400 + seconds


def safe(text: str) -> str:
    """As `model.text.safe`, which is loaded only where it has something to do."""
    if text.isascii() and text.isprintable():
        return text
    from lumen_tui.model import text as full

    return full.safe(text)


def one_line(text: str) -> str:
    """`text` made safe and on one line."""
    return " ".join(safe(text).split())


def told_masked(code: int) -> int:
    """The exit code of a command; says on stderr which secrets it masked in what it wrote, if it wrote anything."""
    module = sys.modules.get("lumen_tui.storage.redaction")  # loaded where there was something alone
    rules = module.PROCESS.rules if module and code not in (2, 3) else []
    if rules:
        what = "1 secret" if len(rules) == 1 else f"{len(rules):,} secrets"
        names = ", ".join(dict.fromkeys(rules))
        print(f"lumen-tui: masked {what} ({names}); with --verbatim it is written as it is", file=sys.stderr)
    return code


def join(parts: Iterable[str]) -> str:
    """The parts that say something, with two spaces between them."""
    return "  ".join([part for part in parts if part])


def _is_own_folder(path: str, *, within_reach: bool) -> bool:
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return not within_reach or not os.stat(path).st_mode & 0o022
