"""Sessions on disk: sessions/<id>.json for each, ended ones in sessions/ended, and current.json.

current.json is a copy of the session that was started last in this folder, in the documented shape. Parallel
sessions are told apart by their id and, where none is given, by the agent that started them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.session import WorkSession
from lumen_tui.store import files
from lumen_tui.store.layout import Layout
from lumen_tui.store.nodes import Ambiguous

_CURRENT = "current"


def current_path(layout: Layout) -> Path:
    """The documented file."""
    return layout.current_session


def _path(layout: Layout, session_id: str, ended: bool = False) -> Path:
    name = ids.check_name(session_id, "session id")
    if name == _CURRENT:
        raise ids.BadId("session id 'current' is not usable: it names the file of the latest session")
    folder = layout.sessions
    return (folder / "ended" if ended else folder) / f"{name}.json"


def _load(path: Path) -> WorkSession | None:
    """A session, None where there is none or the file is not one of ours."""
    try:
        found = msgspec.json.decode(files.read(path) or b"null", type=WorkSession | None)
    except (msgspec.DecodeError, UnicodeDecodeError, files.StoreError, OSError):
        return None
    return found if found and found.session_id == path.stem else None


def _encode(session: WorkSession) -> bytes:
    return msgspec.json.format(msgspec.json.encode(session), indent=1) + b"\n"


def start(layout: Layout, session: WorkSession) -> None:
    """Write a new session and make it the current one."""
    with files.waiting_lock(layout.lock("sessions")):
        files.replace(_path(layout, session.session_id), _encode(session))
        files.replace(current_path(layout), _encode(session))


def read(layout: Layout, session_id: str) -> WorkSession | None:
    """One session, open or ended."""
    return _load(_path(layout, session_id)) or _load(_path(layout, session_id, ended=True))


def change(layout: Layout, session_id: str, edit: Callable[[WorkSession], WorkSession]) -> WorkSession | None:
    """Change a session under the lock; None where there is none. One that has an end moves to the ended ones."""
    with files.waiting_lock(layout.lock("sessions")):
        before = read(layout, session_id)
        if before is None:
            return None
        after = edit(before)
        if after.ended_at:
            files.make_folder(layout.ended_sessions)
        files.replace(_path(layout, session_id, ended=bool(after.ended_at)), _encode(after))
        if bool(after.ended_at) != bool(before.ended_at):
            files.remove(_path(layout, session_id, ended=bool(before.ended_at)))
        if _current_id(layout) == session_id:
            files.replace(current_path(layout), _encode(after))
    return after


def _current_id(layout: Layout) -> str:
    try:
        found = msgspec.json.decode(files.read(current_path(layout)) or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, files.StoreError, OSError):
        return ""
    return str(found.get("session_id", "")) if isinstance(found, dict) else ""


def _names(folder: Path) -> list[str]:
    """The ids in a folder, the one written last first."""
    try:
        with os.scandir(folder) as found:
            dated = [(one.stat(follow_symlinks=False).st_mtime_ns, one.name) for one in found if one.is_file()]
    except FileNotFoundError:
        return []
    ending = ".json"
    stems = [name.removesuffix(ending) for _, name in sorted(dated, reverse=True) if name.endswith(ending)]
    return [stem for stem in stems if stem != _CURRENT and not stem.startswith(".")]


def live(layout: Layout) -> Iterator[WorkSession]:
    """Open sessions, the one that was active last first; each file is read when it is asked for."""
    folder = layout.sessions
    for name in _names(folder):
        session = _load(folder / f"{name}.json")
        if session and not session.ended_at:
            yield session


def ended(layout: Layout) -> Iterator[WorkSession]:
    """Ended sessions, the last one first."""
    folder = layout.ended_sessions
    for name in _names(folder):
        if session := _load(folder / f"{name}.json"):
            yield session


def resolve(layout: Layout, text: str) -> str:
    """The id that `text` means: itself or the one it is the beginning of. LookupError, or Ambiguous for several."""
    wanted = ids.check_name(text, "session id")
    folder = layout.sessions
    known = [*_names(folder), *_names(folder / "ended")]
    if wanted in known:
        return wanted
    found = sorted({name for name in known if name.startswith((wanted, f"ses-{wanted}"))})
    if not found:
        raise LookupError(text)
    if len(found) > 1:
        raise Ambiguous(tuple(found[:8]))
    return found[0]


def newest(layout: Layout, agent: str, wu_id: str = "") -> WorkSession | None:
    """The open session of this agent that was started last, on `wu_id` where that is given."""
    mine = [one for one in live(layout) if one.agent == agent and wu_id in ("", one.active_wu)]
    return max(mine, key=lambda one: one.started_at, default=None)
