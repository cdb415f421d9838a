"""Time as values: seconds since 1970 inside, ISO-8601 UTC with `Z` in files, plain words on screen.

On the path of the hot verbs: `time` only, `datetime` is loaded when a foreign date must be parsed.
"""

from __future__ import annotations

import time

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_COARSE = 10.0  # seconds: below a minute an age moves in steps of this
_FAR = 1e11  # seconds since 1970: the year 5138, which every system can write
_UNITS = {"ms": 0.001, "s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def iso(seconds: float) -> str:
    """Format seconds since 1970 as ISO 8601 in UTC: 1700000000.25 is `2023-11-14T22:13:20.250Z`."""
    millis = round(seconds * 1000)
    whole, fraction = divmod(millis, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{fraction:03d}Z"


def stamp(seconds: float) -> str:
    """Format a time as `2023-11-14 22:13 UTC`: for text that is read later, where an age would soon be wrong."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def stamp_of(date: object) -> str:
    """Return a record's ISO date as `stamp` writes it; `an unknown time` for one that cannot be read."""
    seconds = epoch(date) if isinstance(date, str) else 0.0
    return stamp(seconds) if seconds else "an unknown time"


def exact(seconds: float) -> str:
    """Format a time as `2026-11-21 06:12:44 UTC`; a dash where there is none."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if seconds > 0 else "–"


def dated(seconds: float, now: float) -> str:
    """Format a time as `exact` does, with its distance from `now`: `… · 5 min ago`. Without it where `now` is 0."""
    if seconds <= 0 or now <= 0:
        return exact(seconds)
    return f"{exact(seconds)} · {ago(now - seconds) if seconds <= now else until(seconds - now)}"


def time_of_day(seconds: float, *, exactly: bool = False) -> str:
    """Format a time within a day as `06:12 UTC`, or `06:12:44 UTC`."""
    return time.strftime("%H:%M:%S UTC" if exactly else "%H:%M UTC", time.gmtime(seconds))


def parse_iso(text: str) -> float:
    """Return the seconds since 1970 of an ISO-8601 date; one without a zone is taken as UTC. ValueError otherwise."""
    import datetime  # the module: to import names from it takes longer than all the rest here

    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def epoch(text: str, default: float = 0.0) -> float:
    """Parse a date as `parse_iso` does, but return `default` where it cannot be read."""
    try:
        return parse_iso(text)
    except (ValueError, OverflowError):
        return default


def parse_duration(text: str) -> float:
    """Return `30d`, `12h`, `90s` or `500ms` in seconds; ValueError names what is understood."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(digits) :]
    try:
        return float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is not a duration: write a number and ms, s, m, h, d or w, such as 30d") from None


def moment(text: str, now: float) -> float:
    """Return the seconds since 1970 of an age before `now` (2h) or of a date. ValueError where it is neither."""
    try:
        seconds = now - parse_duration(text)
    except ValueError:
        seconds = parse_iso(text)
    if not seconds < _FAR:
        raise ValueError(f"{text!r} is too far ahead")
    return max(0.0, seconds)


def age(seconds: float) -> str:
    """Return an age in one unit, rounded down: `now`, `20 s`, `5 min`, `3 h`, `9 d`. Below zero (a clock moved): `now`.

    It is coarse below a minute, so that it stands still on screen; every screen and the command line say it alike.
    """
    if seconds < _COARSE:
        return "now"
    if seconds < MINUTE:
        return f"{int(seconds // _COARSE) * int(_COARSE)} s"
    for limit, size, word in ((HOUR, MINUTE, "min"), (2 * DAY, HOUR, "h")):
        if seconds < limit:
            return f"{int(seconds // size)} {word}"
    return f"{int(seconds // DAY)} d"


def ago(seconds: float) -> str:
    """Format an age as `5 min ago` or `just now`."""
    words = age(seconds)
    return "just now" if words == "now" else f"{words} ago"


def until(seconds: float) -> str:
    """Return how long to go: `in 6 h`, `in 3 d`, or `now`."""
    words = age(seconds)
    return words if words == "now" else f"in {words}"


def clock(seconds: float) -> str:
    """Return a running time: `0:41`, `12:05`, `1:02:03`."""
    whole = max(0, int(seconds))
    hours, remainder = divmod(whole, 3600)
    minutes, secs = divmod(remainder, 60)
    return f"{hours}:{minutes:02d}:{secs:02d}" if hours else f"{minutes}:{secs:02d}"


def span(seconds: float) -> str:
    """Return a finished time in two units: `0.4 s`, `18 s`, `2 m 10 s`, `3 h 5 m`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} m"


def days(seconds: float) -> str:
    """Return a long time in days, and what is under three of them as `span` does."""
    return f"{seconds / DAY:.0f} days" if seconds >= 3 * DAY else span(seconds)


def countdown(seconds: float) -> str:
    """Return what is left of a time, moving once a minute: `under 1 min`, `5 min`, `2 h 5 min`."""
    minutes = int(max(0.0, seconds) // MINUTE)
    if minutes < 1:
        return "under 1 min"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def limit(seconds: float) -> str:
    """Return a limit as a person would write it: `10 m`, `2 m 10 s`."""
    return span(seconds).removesuffix(" 0 s").removesuffix(" 0 m").replace(".0 s", " s")


def typed(seconds: float) -> str:
    """Return a limit as it is typed into a form: `10m`, `90s`; empty for 0."""
    if not seconds:
        return ""
    return f"{seconds / MINUTE:g}m" if seconds % MINUTE == 0 else f"{seconds:g}s"
