"""Where a record of the memory belongs: the work unit and the session that an agent means.

Which session an agent means, where it names none: the one it started last that is still open. Two agents under
one name must name theirs (`--session`, or `$LUMEN_SESSION` on the command line).
"""

from __future__ import annotations

from dataclasses import dataclass

from lumen_tui.engine.actions import checks
from lumen_tui.engine.outcome import ActionError
from lumen_tui.model import ids
from lumen_tui.model.session import WorkSession
from lumen_tui.store import nodes
from lumen_tui.store import sessions as stored
from lumen_tui.store.store import Store
from lumen_tui.store.trail import Trail


@dataclass(frozen=True)
class Place:
    """Where a record of the memory belongs; the session is None where the agent has none open there."""

    wu_id: str
    session: WorkSession | None

    @property
    def session_id(self) -> str:
        return self.session.session_id if self.session else ""


def known_work(store: Store, text: str) -> str:
    """The id of a work unit that exists, or that at least records are about; ActionError with the nearest."""
    try:
        return checks.known_unit(store.layout, text)
    except ActionError as error:
        name = ids.check_wu(text.upper())
        with Trail(store.layout) as trail:
            if trail.knows(name):
                return name
        hint = f"{error}: make it with `wu new TITLE --id {name}`"
        raise ActionError(hint, candidates=error.candidates) from error


def named(store: Store, text: str) -> WorkSession:
    """The session with this id or beginning of one."""
    try:
        found = stored.read(store.layout, stored.resolve(store.layout, text))
    except nodes.Ambiguous as error:
        raise ActionError(
            f"{text!r} is the beginning of several ids: give more of it", candidates=error.candidates
        ) from error
    except LookupError:
        found = None
    if found is None:
        known = [one.session_id for one in stored.live(store.layout)]
        near = checks.nearest(text, known) or tuple(known[:3])
        raise ActionError(f"there is no session {text!r}", candidates=near)
    return found


def place(store: Store, *, by: str, wu_id: str = "", session: str = "") -> Place:
    """Where a record goes that names a work unit, a session, both, or leaves it to the session that is open."""
    if session:
        found = named(store, session)
        wanted = known_work(store, wu_id) if wu_id else found.active_wu
        if wanted != found.active_wu:
            raise ActionError(f"session {found.session_id} is on {found.active_wu}, not on {wanted}: name one of them")
        return Place(wanted, found)
    if wu_id:
        wanted = known_work(store, wu_id)
        return Place(wanted, stored.newest(store.layout, by, wanted))
    mine = stored.newest(store.layout, by)
    if mine is None:
        raise ActionError(f"{by} has no open session: name the work unit (--wu WU-042) or begin with `start --wu`")
    return Place(mine.active_wu, mine)
