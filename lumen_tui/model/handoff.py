"""What a fresh agent gets to go on from: the page of `ready`, and the blocks of `context` and `recover`.

Everything on it says who wrote it and how old it is. Ages are in seconds.
"""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.records import Node
from lumen_tui.model.session import WorkSession
from lumen_tui.model.work import WorkUnit


class Tracked(WorkUnit, frozen=True, omit_defaults=True):
    """A work unit with what claim, block and done write into its front matter."""

    claimed_by: str = ""
    claimed_at: str = ""
    blocked_by: str = ""
    blocked_at: str = ""
    blocked_reason: str = ""
    done_by: str = ""
    done_at: str = ""


class Holder(Struct, frozen=True, omit_defaults=True):
    """Who holds a place in a lane (locks/<slug>.lock). `pid` is 0 where no process stands for the holder."""

    lane: str
    wu_id: str
    by: str = ""
    since: str = ""
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    host: str = ""
    session_id: str = ""


class Entry(Struct, frozen=True):
    """One line of the page. `extra` holds what this kind of line has beside its text."""

    id: str
    kind: str
    text: str
    by: str
    at: str
    age_seconds: float
    extra: dict[str, str] = {}


class Blocker(Struct, frozen=True):
    """Something open that must be closed first."""

    id: str
    title: str
    status: str
    by: str
    at: str
    age_seconds: float


class Page(Struct, frozen=True):
    """What `ready --wu` shows. Lists hold the newest or the most urgent; `left_out` counts the others."""

    wu_id: str
    taken_at: str
    unit: Tracked | None = None
    lane_holders: tuple[Holder, ...] = ()
    session: WorkSession | None = None  # the newest open one on this work unit
    session_age_seconds: float = 0.0
    other_sessions: tuple[str, ...] = ()
    handoffs: tuple[Entry, ...] = ()
    last_checkpoint: Entry | None = None
    files_touched: tuple[str, ...] = ()
    signals: tuple[Entry, ...] = ()
    pending_decisions: tuple[Entry, ...] = ()
    decisions: tuple[Entry, ...] = ()
    discoveries: tuple[Entry, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    items: tuple[Entry, ...] = ()  # open nodes in order of priority, date and id
    left_out: dict[str, int] = {}


class Cut(Struct, frozen=True):
    """What a block had no room for."""

    section: str
    left_out: int
    why: str


class Block(Struct, frozen=True):
    """Text for an agent's context, within its budget of characters."""

    wu_id: str
    text: str
    size: int
    max_size: int
    cut: tuple[Cut, ...] = ()


def author(node: Node) -> str:
    """Who wrote a node, as far as it says."""
    return node.created_by or "unknown"
