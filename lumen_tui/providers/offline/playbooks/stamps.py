"""The time with which a line of a log begins."""

from __future__ import annotations

import datetime as dt
import re

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.periods import Period

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ISO = lazy_re(r"\b(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?")
_WEB = lazy_re(r"\b(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)")
_SYSLOG = lazy_re(r"^(?:<\d+>)?(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) ([ \d]?\d) (\d\d):(\d\d):(\d\d)(?: (\d{4})\b)?")
_HEAD = 200  # characters of a line in which its time is


def stamp(line: str, today: dt.datetime) -> str:
    """Return the first time in a line as `2026-11-21T14:05:09`, as the log writes it; empty where there is none.

    A time without a year is taken for the latest such one up to tomorrow.
    """
    head = line[:_HEAD]
    try:
        if match := _SYSLOG.match(head):
            return _of_syslog(match, today)
        iso, web = _ISO.search(head), _WEB.search(head)
        if web and (not iso or web.start() < iso.start()):
            day, month, year, *clock = web.groups()
            return _text(int(year), _MONTHS.index(month) + 1, int(day), clock)
        if iso:
            year, month, day, *clock = iso.groups()
            return _text(int(year), int(month), int(day), clock)
    except ValueError:
        pass
    return ""


def _of_syslog(match: re.Match[str], today: dt.datetime) -> str:
    month, day, *clock, year = match.groups()
    this = _text(int(year or today.year), _MONTHS.index(month) + 1, int(day), clock)
    tomorrow = (today + dt.timedelta(days=1)).isoformat()
    return this if year or this <= tomorrow else f"{today.year - 1}{this[4:]}"


def _text(year: int, month: int, day: int, clock: list[str]) -> str:
    hour, minute, second = (int(part or 0) for part in clock)
    return dt.datetime(year, month, day, hour, minute, min(second, 59)).isoformat()


def bounds(period: Period, today: dt.datetime) -> tuple[str, str]:
    """Return the period as two times that compare with stamps; empty is unbounded."""
    since, until = period.since, period.until
    if since.startswith("T"):  # a time of the day, of any day
        return since, until
    if period.newer:
        since = (today - dt.timedelta(days=period.newer)).isoformat(timespec="seconds")
    if period.older:
        until = (today - dt.timedelta(days=period.older)).isoformat(timespec="seconds")
    return since, until


def within(at: str, since: str, until: str) -> bool:
    """Whether a stamp is in a period."""
    if since.startswith("T"):
        at = at[10:]
    return (not since or at >= since) and (not until or at < until)


def spoken(period: Period, today: dt.datetime) -> str:
    """Return a period in words: ` from 2026-11-21 to before 2026-11-22`, or nothing."""
    since, until = bounds(period, today)
    if not since and not until:
        return ""
    if len(since) == 10 and until == (dt.date.fromisoformat(since) + dt.timedelta(days=1)).isoformat():
        return f" on {since}"
    shown = [f" from {since.replace('T', ' ').strip()}"] * bool(since) + [
        f" before {until.replace('T', ' ').strip()}"
    ] * bool(until)
    return "".join(shown)
