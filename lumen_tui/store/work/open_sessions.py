"""Sessions as their files say, read without a library: for commands that must start fast.

A file of which one known field is of a wrong type is passed over. `root` is the state folder.
"""

from __future__ import annotations

import os

from lumen_tui.model import ids
from lumen_tui.model.jsontext import dumps
from lumen_tui.model.views import SessionView, fields_of
from lumen_tui.storage import directories, files, locks, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Raw = dict[str, Any]

CURRENT = "current"
MOST = 500  # session files looked through, those written last


def path(root: files.StrPath, session_id: str, ended: bool = False) -> str:
    """Where a session stands; BadId where the id must not become a path."""
    name = ids.check_name(session_id, "session id")
    if name == CURRENT:
        raise ids.BadId("session id 'current' is not usable: it names the file of the latest session")
    return f"{root}/sessions/{'ended/' if ended else ''}{name}.json"


def load(path: str) -> SessionView | None:
    """A session, None where there is none or the file is not one of ours."""
    raw = raw_json.read(path)
    fields = fields_of(SessionView, raw) if raw else None
    return SessionView(**fields) if fields and f"/{fields.get('session_id')}.json" == path[path.rfind("/") :] else None


def names(folder: str) -> list[str]:
    """The ids in a folder, the one written last first."""
    dated = []
    try:
        with os.scandir(folder) as found:
            for one in found:
                if one.name.endswith(".json") and one.name[0] != "." and one.name != f"{CURRENT}.json":
                    dated.append((_written(one), one.name[:-5]))
    except FileNotFoundError:
        return []
    return [name for at, name in sorted(dated, reverse=True) if at >= 0]


def _written(entry: os.DirEntry[str]) -> int:
    """When, in nanoseconds; -1 for one that has just gone or is no file."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns if entry.is_file(follow_symlinks=False) else -1
    except FileNotFoundError:
        return -1


def live(root: files.StrPath) -> Iterator[SessionView]:
    """Open sessions, the one that was active last first; each file is read when it is asked for."""
    folder = f"{root}/sessions"
    for name in names(folder)[:MOST]:
        session = load(f"{folder}/{name}.json")
        if session and not session.ended_at:
            yield session


def ended(root: files.StrPath) -> Iterator[SessionView]:
    """Ended sessions, the last one first."""
    folder = f"{root}/sessions/ended"
    for name in names(folder):
        if session := load(f"{folder}/{name}.json"):
            yield session


def read(root: files.StrPath, session_id: str) -> SessionView | None:
    """One session, open or ended."""
    return load(path(root, session_id)) or load(path(root, session_id, ended=True))


def raw(root: files.StrPath, session_id: str) -> Raw:
    """The file of a session as it stands, open or ended."""
    return raw_json.read(path(root, session_id)) or raw_json.read(path(root, session_id, ended=True)) or {}


def newest(root: files.StrPath, agent: str, wu_id: str = "") -> SessionView | None:
    """The open session of this agent, on `wu_id` where that is given.

    Of several it is the one that was started by a process nearest above this one, so that agents of one login are
    told apart by the programs that they are; of those started from the same one, the last.
    """
    mine = [one for one in live(root) if one.agent == agent and wu_id in ("", one.active_wu)]
    if len(mine) < 2:
        return mine[0] if mine else None
    from lumen_tui.storage import ancestry

    above = ancestry.above()
    return max(mine, key=lambda one: (-ancestry.distance(above, one.started_below), one.started_at))


def resolve(root: files.StrPath, text: str) -> str:
    """The id that `text` means: itself or the one it is the beginning of. LookupError, or Ambiguous for several."""
    wanted = ids.check_name(text, "session id")
    if wanted != CURRENT and any(os.path.lexists(path(root, wanted, ended)) for ended in (False, True)):
        return wanted
    known = [*names(f"{root}/sessions"), *names(f"{root}/sessions/ended")]
    found = sorted({name for name in known if name.startswith((wanted, f"ses-{wanted}"))})
    if not found:
        raise LookupError(text)
    if len(found) > 1:
        raise ids.Ambiguous(tuple(found[:8]))
    return found[0]


def change(root: files.StrPath, session_id: str, edit: Callable[[SessionView], Raw]) -> SessionView | None:
    """Set the fields that `edit` names, under the lock; None where there is no such session.

    One that has an end then moves to the ended ones; after a kill before that it stands, over, among the open ones.
    Fields that this version does not know are kept.
    """
    with locks.waiting_lock(f"{root}/locks/sessions.lock"):
        before = read(root, session_id)
        if before is None:
            return None
        was, record = bool(before.ended_at), {**raw(root, session_id), **edit(before)}
        is_over, here = bool(record.get("ended_at")), path(root, session_id)
        if not os.path.exists(here):
            directories.move(path(root, session_id, ended=True), here)
        files.replace(here, encode(record))
        if is_over:
            directories.make_folder(f"{root}/sessions/ended")
            directories.move(here, path(root, session_id, ended=True))
        _keep_current(root, record, reopened=was and not is_over)
    return read(root, session_id)


def _keep_current(root: files.StrPath, raw: Raw, *, reopened: bool) -> None:
    """The documented file names the session that was started last, as long as it is open, and then the one before."""
    name = f"{root}/sessions/{CURRENT}.json"
    there = raw_json.read(name) or {}
    named = there.get("session_id")
    is_last = reopened and str(raw.get("started_at", "")) > str(there.get("started_at", ""))
    if named and named != raw["session_id"] and not is_last:
        return
    if raw.get("ended_at"):
        last = max(live(root), key=lambda one: one.started_at, default=None)
        raw = (raw_json.read(path(root, last.session_id)) or {}) if last else {}
    if raw:
        files.replace(name, encode(raw))
    elif named:
        directories.remove(name)


def encode(raw: Raw) -> bytes:
    """The file of a session: a field to a line."""
    lines = [f" {dumps(key)}: {dumps(value)}" for key, value in raw.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
