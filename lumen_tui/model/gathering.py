"""When the main agent is woken by tasks that ended: once for all that end together. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from lumen_tui.model.agent import is_own

MADE_TOGETHER = 60.0  # seconds between two tasks of one person or program that count as made together
_SET_BACK = 1.0  # seconds by which an end lies ahead of the clock from which that was set back


class Member(Struct, frozen=True):
    """A task by who made it, and when (in seconds since 1970)."""

    by: str
    made: float

    def together(self, other: Member) -> bool:
        """Return whether both are of one group: made by the same loop or turn, or by the same hand within a minute."""
        if not self.by or self.by != other.by:
            return False
        return is_own(self.by) or abs(self.made - other.made) <= MADE_TOGETHER


class GatheringEnd(Struct, frozen=True):
    """A task that ended at `at` and of which the agent has not heard. `awaited`: others of its group have not ended."""

    at: float
    failed: bool = False
    awaited: bool = False


def wake_at(ended: Iterable[GatheringEnd], now: float, window: float, bound: float) -> float:
    """Return when the agent hears of these, in seconds since 1970: at `now` or before where that is at once.

    A task is kept for `window` seconds for what ends right after it; for `bound` seconds while others of its group have
    not ended, unless it failed. The first one whose time has come brings all of them along.
    """
    waits = [task.at + (max(window, bound) if task.awaited and not task.failed else window) for task in ended]
    set_back = any(task.at > now + _SET_BACK for task in ended)
    return now if set_back or not waits else min(waits)
