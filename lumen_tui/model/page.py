"""What a fresh agent gets to go on from: the page of `ready`, and the blocks of `context` and `recover`.

Everything on it says who wrote it and how old it is. Ages are in seconds.
"""

from __future__ import annotations

from lumen_tui.model.plain import Plain
from lumen_tui.model.views import HolderView, SessionView, UnitView


class Entry(Plain):
    """One line of the page. `extra` holds what this kind of line has beside its text."""

    id: str = ""
    kind: str = ""
    text: str = ""
    by: str = ""
    at: str = ""
    age_seconds: float = 0.0
    extra: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes


class Blocker(Plain):
    """Something open that must be closed first."""

    id: str = ""
    title: str = ""
    status: str = ""
    by: str = ""
    at: str = ""
    age_seconds: float = 0.0


class Page(Plain):
    """What `ready --wu` shows. Lists hold the newest or the most urgent; `left_out` counts the others."""

    wu_id: str = ""
    taken_at: str = ""
    unit: UnitView | None = None
    lane_holders: tuple[HolderView, ...] = ()
    session: SessionView | None = None  # the newest open one on this work unit
    session_age_seconds: float = 0.0
    other_sessions: tuple[str, ...] = ()
    handoffs: tuple[Entry, ...] = ()
    last_checkpoint: Entry | None = None
    files_touched: tuple[str, ...] = ()
    signals: tuple[Entry, ...] = ()
    pending_decisions: tuple[Entry, ...] = ()
    decisions: tuple[Entry, ...] = ()
    summary: Entry | None = None  # the newest one, of what is not listed any more
    discoveries: tuple[Entry, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    items: tuple[Entry, ...] = ()  # open nodes in order of priority, date and id
    drifted: tuple[str, ...] = ()  # facts that the work unit relies on and that are not so any more, each with its mark
    left_out: dict[str, int] = {}  # noqa: RUF012 - a default that nobody changes


class Cut(Plain):
    """What a block had no room for."""

    section: str = ""
    left_out: int = 0
    why: str = ""


class Block(Plain):
    """Text for an agent's context, within its budget of characters."""

    wu_id: str = ""
    text: str = ""
    size: int = 0
    max_size: int = 0
    cut: tuple[Cut, ...] = ()
