"""Where a record of the memory belongs: the work unit and the session that an agent means.

An agent that names no session means the open one that it started last. Two agents under one name must name theirs
(`--session`, or `$LUMEN_SESSION` on the command line).
"""

from __future__ import annotations

import os

from lumen_tui.actions import refusal
from lumen_tui.actions.refusal import ActionError, ambiguous
from lumen_tui.model import ids
from lumen_tui.model.views import Plain, SessionView
from lumen_tui.storage.files import StoreError
from lumen_tui.store.work import open_sessions, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.storage.files import StrPath
    from lumen_tui.storage.layout import Folder

NONE = ("", "none")  # how somebody says that there is no work unit


class Place(Plain):
    """A work unit and a session; the session is None where the agent has none open there."""

    wu_id: str = ""
    session: SessionView | None = None

    @property
    def session_id(self) -> str:
        return self.session.session_id if self.session else ""


def known_work(store: Folder, text: str) -> str:
    """Return the id of a work unit that exists or that records are about. ActionError names the nearest."""
    return work_at(store.root, text)


def work_at(root: StrPath, text: str) -> str:
    """Return the same as `known_work`, given the state folder; quick where the work unit exists."""
    name = ids.check_wu(text.upper())
    if os.path.exists(f"{root}/work/{name}.md"):
        return name
    from pathlib import Path

    from lumen_tui.actions import checks
    from lumen_tui.queries.trail import Trail
    from lumen_tui.storage.layout import Layout

    layout = Layout(Path(root))
    with Trail(layout) as trail:
        if trail.knows(name):
            return name
    hint = f"there is no work unit {name}: `start --wu {name}` begins it, `wu new TITLE --id {name}` describes it"
    raise ActionError(hint, candidates=refusal.nearest(name, checks.unit_names(layout)), missing=True)


def work_to_be(root: StrPath, text: str) -> str:
    """Return the id of a work unit, existing or not. ActionError where it is a misspelling of another."""
    name = ids.check_wu(text.upper())
    if os.path.exists(f"{root}/work/{name}.md"):
        return name
    from lumen_tui.actions import work

    return work.may_be_new(root, name)


def ensure_unit(root: StrPath, wu_id: str, *, by: str, now: float, client: str = "") -> str:
    """Make the work unit if it is missing; return what to say of that, or nothing."""
    if not wu_id or os.path.exists(f"{root}/work/{wu_id}.md"):
        return ""
    from lumen_tui.actions import work

    return work.make_missing(root, wu_id, by=by, now=now, client=client)


def lane_of(root: StrPath, wu_id: str) -> str:
    """Return the lane of a work unit; empty where it has none, is missing, or its file is broken."""
    try:
        unit = views.read_unit(root, wu_id) if wu_id else None
    except (ValueError, OSError, StoreError):
        return ""
    return unit.lane if unit else ""


def lane_at(root: StrPath, text: str) -> str:
    """Return a lane, known or new; a misspelling of a known one is refused. An empty text stays empty."""
    if not text:
        return ""
    if views.is_known_lane(root, text):
        return text
    from pathlib import Path

    from lumen_tui.actions import checks
    from lumen_tui.storage.layout import Layout

    return checks.lane(Layout(Path(root)), text)


def named(store: Folder, text: str) -> SessionView:
    """Return the session with this id or unique beginning of one."""
    return session_at(store.root, text)


def session_at(root: StrPath, text: str) -> SessionView:
    """Return the same as `named`, given the state folder."""
    try:
        session = open_sessions.read(root, open_sessions.resolve(root, text))
    except ids.Ambiguous as error:
        raise ambiguous(text, error.candidates) from error
    except LookupError:
        session = None
    if session is None:
        known = [open_session.session_id for open_session in open_sessions.live(root)]
        raise refusal.no_such(f"there is no session {text!r}", text, known)
    return session


def place(store: Folder, *, by: str, wu_id: str = "", session: str = "", writes: bool = False) -> Place:
    """Return where a record belongs that names a work unit, a session, both, or leaves it to the open session.

    With `writes` the work unit may be missing: `ensure_unit` makes it once the record can be written.
    """
    if not session and not wu_id and open_sessions.newest(store.root, by) is None:
        raise ActionError(f"{by} has no open session: name the work unit (--wu WU-042) or begin with `start --wu`")
    target = of_note(store.root, by=by, wu_id=wu_id or None, session=session, writes=writes)
    if not target.wu_id:
        raise ActionError("your session is over: name the work unit (--wu WU-042) or begin with `start --wu`")
    return target


def of_note(root: StrPath, *, by: str, wu_id: str | None, session: str = "", writes: bool = True) -> Place:
    """Return where something noticed belongs: as `place`, but it may belong to no work unit.

    `wu_id` is None if nothing was said of it, and one of NONE if there is none.
    """
    if session:
        return _of_session(root, session_at(root, session), wu_id)
    if wu_id is None:
        newest = open_sessions.newest(root, by)
        return Place(wu_id=newest.active_wu, session=newest) if newest else Place()
    if wu_id.lower() in NONE:
        return Place()
    work = work_to_be(root, wu_id) if writes else work_at(root, wu_id)
    return Place(wu_id=work, session=open_sessions.newest(root, by, work))


def _of_session(root: StrPath, session: SessionView, wu_id: str | None) -> Place:
    if wu_id is not None and wu_id.lower() in NONE:
        return Place(session=session)
    work = work_at(root, wu_id) if wu_id else session.active_wu
    if work != session.active_wu:
        raise ActionError(f"session {session.session_id} is on {session.active_wu}, not on {work}: name one of them")
    return Place(wu_id=work, session=session)
