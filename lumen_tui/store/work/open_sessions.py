"""Work sessions read from their files without a library, for commands that must start fast.

A file in which a known field has a wrong type is skipped. `root` is the state folder.
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

    from lumen_tui.model.jsontext import Raw

CURRENT = "current"
MOST = 500  # session files that are read at most, the last written ones


def path(root: files.StrPath, session_id: str, ended: bool = False) -> str:
    """Return the path of a session's file; BadId where the id must not become a path."""
    name = ids.check_name(session_id, "session id")
    if name == CURRENT:
        raise ids.BadId("session id 'current' is not usable: it names the file of the latest session")
    return f"{root}/sessions/{'ended/' if ended else ''}{name}.json"


def load(path: str) -> SessionView | None:
    """Return the session in a file; None where there is none or the file is not a session's."""
    raw = raw_json.read(path)
    fields = fields_of(SessionView, raw) if raw else None
    return SessionView(**fields) if fields and f"/{fields.get('session_id')}.json" == path[path.rfind("/") :] else None


def names(folder: str) -> list[str]:
    """Return the ids in a folder, the last written first."""
    dated = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.name[0] != "." and entry.name != f"{CURRENT}.json":
                    dated.append((_written(entry), entry.name[:-5]))
    except FileNotFoundError:
        return []
    return [name for at, name in sorted(dated, reverse=True) if at >= 0]


def _written(entry: os.DirEntry[str]) -> int:
    """Return when an entry was written, in nanoseconds; -1 for one that has just gone or is no file."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns if entry.is_file(follow_symlinks=False) else -1
    except FileNotFoundError:
        return -1


def live(root: files.StrPath) -> Iterator[SessionView]:
    """Yield the open sessions, the last active first; each file is read when it is reached."""
    folder = f"{root}/sessions"
    for name in names(folder)[:MOST]:
        session = load(f"{folder}/{name}.json")
        if session and not session.ended_at:
            yield session


def ended(root: files.StrPath) -> Iterator[SessionView]:
    """Yield the ended sessions, the last one first."""
    folder = f"{root}/sessions/ended"
    for name in names(folder):
        if session := load(f"{folder}/{name}.json"):
            yield session


def read(root: files.StrPath, session_id: str) -> SessionView | None:
    """Return one session, open or ended; None where there is none."""
    return load(path(root, session_id)) or load(path(root, session_id, ended=True))


def raw(root: files.StrPath, session_id: str) -> Raw:
    """Return the fields in the file of a session, open or ended."""
    return raw_json.read(path(root, session_id)) or raw_json.read(path(root, session_id, ended=True)) or {}


def newest(root: files.StrPath, agent: str, wu_id: str = "") -> SessionView | None:
    """Return the open session of this agent, on `wu_id` where that is given.

    Of several it is the one that was started by a process nearest above this one, so that agents of one login are
    told apart by their programs; of those started from the same one, the last.
    """
    candidates = [session for session in live(root) if session.agent == agent and wu_id in ("", session.active_wu)]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    from lumen_tui.storage import process

    ancestors = process.ancestors()
    return max(
        candidates, key=lambda session: (-process.levels_up(ancestors, session.started_below), session.started_at)
    )


def resolve(root: files.StrPath, text: str) -> str:
    """Return the id that `text` is or begins. LookupError for none, Ambiguous for several."""
    session_id = ids.check_name(text, "session id")
    if session_id != CURRENT and any(os.path.lexists(path(root, session_id, ended)) for ended in (False, True)):
        return session_id
    known = [*names(f"{root}/sessions"), *names(f"{root}/sessions/ended")]
    matches = sorted({name for name in known if name.startswith((session_id, f"ses-{session_id}"))})
    if not matches:
        raise LookupError(text)
    if len(matches) > 1:
        raise ids.Ambiguous(tuple(matches[:8]))
    return matches[0]


def change(root: files.StrPath, session_id: str, edit: Callable[[SessionView], Raw]) -> SessionView | None:
    """Set the fields that `edit` returns, under the lock; None where there is no such session.

    One that has an end then moves to the ended ones; after a kill before that it is still among the open ones.
    Fields that this version does not know are kept.
    """
    with locks.waiting_lock(f"{root}/locks/sessions.lock"):
        before = read(root, session_id)
        if before is None:
            return None
        was_over, whole = bool(before.ended_at), raw(root, session_id)
        if not whole:  # it could be read a moment ago
            raise files.StoreError(f"session {session_id} cannot be read now; nothing was changed: try again")
        record = {**whole, **edit(before)}
        ends = bool(record.get("ended_at"))
        open_path = path(root, session_id)
        if not os.path.exists(open_path):
            directories.move(path(root, session_id, ended=True), open_path)
        files.replace(open_path, encode(record))
        if ends:
            directories.make_folder(f"{root}/sessions/ended")
            directories.move(open_path, path(root, session_id, ended=True))
        _keep_current(root, record, reopened=was_over and not ends)
    return read(root, session_id)


def _keep_current(root: files.StrPath, raw: Raw, *, reopened: bool) -> None:
    """Make current.json name the session that was started last and is still open."""
    name = f"{root}/sessions/{CURRENT}.json"
    current = raw_json.read(name) or {}
    named = current.get("session_id")
    is_last = reopened and str(raw.get("started_at", "")) > str(current.get("started_at", ""))
    if named and named != raw["session_id"] and not is_last:
        return
    if raw.get("ended_at"):
        last = max(live(root), key=lambda session: session.started_at, default=None)
        raw = (raw_json.read(path(root, last.session_id)) or {}) if last else {}
    if raw:
        files.replace(name, encode(raw))
    elif named:
        directories.remove(name)


def encode(raw: Raw) -> bytes:
    """Return the bytes of a session's file: a field to a line."""
    lines = [f" {dumps(key)}: {dumps(value)}" for key, value in raw.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
