"""[notify]: which transitions of the attention queue are told, how an open room does it, and the quiet hours."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

_MINUTE = 60.0  # seconds

Kind = Literal[
    "engine",
    "approval",
    "question",
    "signal",
    "failed",
    "lost",
    "stalled",
    "budget",
    "expired",
    "constitution",
    "fact",
    "discovery",
    "changes",
    "loop",
    "relay",
    "triage",
    "progress",
    "proposal",
    "problem",
    "retirement",
]
URGENT: tuple[Kind, ...] = (
    *("engine", "approval", "question", "signal", "failed", "lost", "budget"),
    *("constitution", "discovery", "changes", "loop", "problem"),
)


class NotifyConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[notify]: what is told of what needs you, how, and when not"""

    terminal: tuple[Literal["bell", "osc9", "osc777"], ...] = ("bell",)  # how an open room tells
    passthrough: bool = False  # through tmux, to the terminal around it
    kinds: tuple[Kind, ...] = URGENT
    quiet: Annotated[str, Meta(pattern=r"^(|([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)$")] = ""
    zone: str = ""  # IANA zone of the quiet hours; empty: that of this machine
    through_quiet: tuple[Kind, ...] = ()  # kinds that are told in quiet hours as well
    aged_hours: tuple[Annotated[float, Meta(gt=0, le=8760)], ...] = (1.0, 24.0)  # told again after waiting so long
    closing_minutes: Annotated[float, Meta(ge=0, le=10_080)] = 10.0  # and so long before it expires; 0: never
    most: Annotated[int, Meta(ge=1, le=100)] = 5  # messages within five minutes; more become one digest


def quiet_until(quiet: str, now: float, zone_offset: float = 0.0) -> float:
    """Return when the quiet hours (`22:00-07:00`, local time) end that are now; 0 where there are none."""
    if not quiet:
        return 0.0
    begin, end = (_minute(part) for part in quiet.split("-"))
    minute = (now + zone_offset) / _MINUTE % 1440
    length = (end - begin) % 1440
    gone = (minute - begin) % 1440
    return now + (length - gone) * _MINUTE if gone < length else 0.0


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
