"""Work units as they pass from hand to hand: who claimed, blocked or finished one, and who holds a lane."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.work import WorkUnit


class Tracked(WorkUnit, frozen=True, omit_defaults=True):
    """A work unit with what claim, block and done write into its front matter."""

    claimed_by: str = ""
    claimed_at: str = ""
    claimed_in: str = ""  # the session whose start put it in progress, until somebody claims it
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
