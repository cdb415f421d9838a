"""Work sessions on disk: sessions/<id>.json for each, ended ones in sessions/ended, and current.json.

current.json is a copy of the open session that was started last, in the documented shape. Parallel sessions are told
apart by their id and, where none is given, by the agent that started them. `open_sessions` reads and changes the
files; here they are records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from lumen_tui.model import views
from lumen_tui.model.views import SessionView
from lumen_tui.model.work import WorkSession
from lumen_tui.storage import directories, files, locks, raw_json
from lumen_tui.storage.layout import Layout
from lumen_tui.store.work import open_sessions

_TEXT = "text as it stands"  # of a current.json that came from elsewhere


def current_path(layout: Layout) -> Path:
    """Return the path of current.json."""
    return layout.current_session


def _record(view: SessionView | None) -> WorkSession | None:
    return msgspec.convert(views.builtins(view), WorkSession) if view else None


def start(layout: Layout, session: WorkSession) -> None:
    """Write a new session and make it the current one."""
    data = open_sessions.encode(msgspec.to_builtins(session))
    with locks.waiting_lock(layout.lock("sessions")):
        files.replace(open_sessions.path(layout.root, session.session_id), data)
        files.replace(current_path(layout), data)


def write(layout: Layout, session: WorkSession) -> None:
    """Write the file of a session."""
    files.replace(path(layout, session.session_id), open_sessions.encode(msgspec.to_builtins(session)))


def path(layout: Layout, session_id: str) -> str:
    """Return the path of an open session's file."""
    return open_sessions.path(layout.root, session_id)


def current(layout: Layout) -> dict[str, str] | None:
    """Return what current.json is a copy of: `{"session_id": …}`; where it names none, its text."""
    raw = raw_json.read(current_path(layout))
    name = raw.get("session_id") if raw else None
    if isinstance(name, str):
        return {"session_id": name}
    data = files.read(current_path(layout)) if raw is not None else None
    return None if data is None else {_TEXT: data.decode(errors="replace")}


def put_current(layout: Layout, current_file: Mapping[str, object] | None) -> None:
    """Restore current.json to what `current` returned."""
    if current_file is None:
        directories.remove(current_path(layout))
        return
    text = current_file.get(_TEXT)
    if isinstance(text, str) and len(current_file) == 1:
        files.replace(current_path(layout), text.encode())
        return
    name = current_file.get("session_id")
    known = isinstance(name, str) and open_sessions.read(layout.root, name) is not None
    raw = open_sessions.raw(layout.root, str(name)) if known else dict(current_file)
    files.replace(current_path(layout), open_sessions.encode(raw))


def set_fields(layout: Layout, session_id: str, fields: dict[str, object]) -> WorkSession | None:
    """Set these fields of a session under the lock; None where there is none."""
    return _record(open_sessions.change(layout.root, session_id, lambda _: fields))


def read(layout: Layout, session_id: str) -> WorkSession | None:
    """Return one session, open or ended; None where there is none."""
    return _record(open_sessions.read(layout.root, session_id))


def live(layout: Layout) -> Iterator[WorkSession]:
    """Return the open sessions, the last active first; each file is read when it is reached."""
    return (session for view in open_sessions.live(layout.root) if (session := _record(view)))


def ended(layout: Layout) -> Iterator[WorkSession]:
    """Return the ended sessions, the last one first."""
    return (session for view in open_sessions.ended(layout.root) if (session := _record(view)))


def resolve(layout: Layout, text: str) -> str:
    """Return the id that `text` is or begins. LookupError for none, Ambiguous for several."""
    return open_sessions.resolve(layout.root, text)


def newest(layout: Layout, agent: str, wu_id: str = "") -> WorkSession | None:
    """Return the open session of this agent, on `wu_id` where that is given; see `open_sessions.newest`."""
    return _record(open_sessions.newest(layout.root, agent, wu_id))
