"""Moments in a detail view: the date, and how long ago that is."""

from __future__ import annotations

import time

from lumen_tui.model.times import span
from lumen_tui.tui import words


def date(seconds: float) -> str:
    """`2026-11-21 06:12:44 UTC` of seconds since 1970; a dash where there is no date."""
    if seconds <= 0:
        return "–"
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def moment(seconds: float, now: float) -> str:
    """The date with its distance from `now`; without one where `now` is 0."""
    if seconds <= 0 or now <= 0:
        return date(seconds)
    distance = words.ago(now - seconds) if seconds <= now else words.until(seconds - now)
    return f"{date(seconds)} · {distance}"


def limit_words(seconds: float) -> str:
    """`10 m`, `2 m 10 s`: a limit as a person would write it."""
    return span(seconds).removesuffix(" 0 s").removesuffix(" 0 m").replace(".0 s", " s")


def limit_typed(seconds: float) -> str:
    """The same as it is typed into a form: `10m`, `90s`; empty for 0."""
    if not seconds:
        return ""
    return f"{seconds / 60:g}m" if seconds % 60 == 0 else f"{seconds:g}s"
