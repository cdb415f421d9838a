"""When a schedule is due: cron fields by cronsim, which does at a change of the clocks what Debian's cron does."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from cronsim import CronSim, CronSimError

from lumen_tui.model import times
from lumen_tui.model.schedule_runs import Due, begins
from lumen_tui.model.schedules import SHORTEST, Schedule, ScheduleError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_COUNTED = 10_000  # times that are counted one by one: a week of a schedule that is due each minute
_KEPT = 1000  # of them that are named
_LOOKED_AT = 200  # times between which the shortest interval is looked for
_FORMS = "five cron fields such as `0 9 * * 1-5`, `every 90m`, `at 2026-11-24 09:00` or `in 2h`"
_CRON = ("minute", "hour", "day-of-month", "month", "day-of-week")


def canonical(when: str, zone: str, now: float) -> str:
    """Return a rule as it is kept. ScheduleError for one that cannot be read, is over, or is due too often."""
    words = " ".join(when.split())
    zone_of(zone)
    kind, _, text = words.partition(" ")
    if kind == "in":
        moment = datetime.fromtimestamp(now + _duration(text), zone_of(zone))
        return f"at {moment:%Y-%m-%d %H:%M:%S}"
    if kind == "at":
        if _moment(text, zone) <= now:
            raise ScheduleError(f"{text} ({zone}) is over: name a time to come")
        return words
    if kind == "every":
        if _duration(text) < SHORTEST:
            raise ScheduleError(f"every {text} is too often: {SHORTEST:g} seconds is the shortest interval")
        return words
    _cron(words, datetime.fromtimestamp(now, zone_of(zone)))
    return words


def once(text: str, zone: str, now: float) -> float:
    """Return the moment of `in 2h`, `at 2026-11-24 09:00` or that without its first word. ScheduleError."""
    words = " ".join(text.split())
    kind = canonical(words if words.startswith(("in ", "at ")) else f"at {words}", zone or local_zone(), now)
    return _moment(kind.removeprefix("at "), zone or local_zone())


@lru_cache(64)
def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name. ScheduleError with near names for one that there is not."""
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
    import difflib

    near = ", ".join(difflib.get_close_matches(name, known, 3, 0.5)) or "UTC, Europe/Berlin, America/New_York"
    raise ScheduleError(f"there is no time zone {name[:60]!r}: an IANA name such as {near}")


def local_zone() -> str:
    """Return the IANA name of this machine's zone; UTC where it does not say."""
    import os

    named = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    try:
        return zone_of(named).key if named else "UTC"
    except ScheduleError:
        return "UTC"


def _duration(text: str) -> float:
    """Return the seconds of `90m` or `1h30m`. ScheduleError."""
    parts = re.findall(r"[0-9.]+[a-z]+", text.replace(" ", ""))
    try:
        if not parts or "".join(parts) != text.replace(" ", ""):
            raise ValueError
        seconds = sum(times.parse_duration(part) for part in parts)
    except ValueError:
        raise ScheduleError(f"{text[:60]!r} is not a duration: such as 90s, 15m, 2h or 1d") from None
    if not 0 < seconds <= 3660 * times.DAY:
        raise ScheduleError(f"{text[:60]} is no interval: up to ten years")
    return seconds


def _moment(text: str, zone: str) -> float:
    """Return the seconds since 1970 of a local time, of the first of two that are written alike. ScheduleError."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone_of(zone))
        return moment.timestamp()
    except (ValueError, OverflowError) as error:
        if isinstance(error, ScheduleError):
            raise
        raise ScheduleError(f"{text[:60]!r} is no date: write it as at 2026-11-24 09:00") from None


def _cron(words: str, after: datetime, *, reverse: bool = False) -> CronSim:
    fields = words.split()
    if len(fields) != len(_CRON):
        raise ScheduleError(f"{words[:60]!r} is no schedule: {_FORMS}")
    try:
        return CronSim(words, after, reverse=reverse)
    except CronSimError as error:
        bad = str(error).removeprefix("Bad ")
        given = f" ({fields[_CRON.index(bad)][:30]!r})" if bad in _CRON else ""
        raise ScheduleError(f"cron field {bad}{given} cannot be: {_FORMS}") from None
    except (AssertionError, IndexError, ValueError):  # of what cronsim did not foresee
        raise ScheduleError(f"{words[:60]!r} cannot be read: {_FORMS}") from None


def after(schedule: Schedule, moment: float) -> Iterator[float]:
    """Yield the times after `moment` at which the schedule is due, ascending."""
    kind, _, text = schedule.when.partition(" ")
    if kind == "at":
        at = _moment(text, schedule.zone)
        return iter((at,) if at > moment else ())
    if kind == "every":
        return _steps(times.epoch(schedule.since), _duration(text), moment)
    return _cron_times(schedule.when, schedule.zone, moment) if schedule.when else iter(())


def _steps(since: float, every: float, moment: float) -> Iterator[float]:
    number = max(1, int((moment - since) // every) + 1)
    while True:
        if (at := since + number * every) > moment:
            yield at
        number += 1


def _cron_times(when: str, zone: str, moment: float) -> Iterator[float]:
    yield from (at.timestamp() for at in _cron(when, datetime.fromtimestamp(moment, UTC).astimezone(zone_of(zone))))


def due(schedule: Schedule, settled: float, now: float) -> Due:
    """Return the times after `settled` at which a run should have begun by `now`."""
    newest: deque[float] = deque(maxlen=_KEPT)
    count, first = 0, 0.0
    for at in islice(after(schedule, settled), _COUNTED):
        if begins(schedule, at) > now:
            return Due(tuple(newest), count, first)
        newest.append(at)
        count, first = count + 1, first or at
    if count < _COUNTED:
        return Due(tuple(newest), count, first)
    return _many(schedule, settled, now, first)


def _many(schedule: Schedule, settled: float, now: float, first: float) -> Due:
    """Return more times than are counted one by one: the newest, and how many where that is a division."""
    kind, _, text = schedule.when.partition(" ")
    if kind == "every":
        every = _duration(text)
        count = int((now - schedule.jitter - first) // every) + 1
        last = first + (count - 1) * every
        return Due(tuple(last - every * back for back in range(_KEPT - 1, -1, -1)), count, first)
    begin = datetime.fromtimestamp(now - schedule.jitter + 1, UTC).astimezone(zone_of(schedule.zone))
    earlier = [at.timestamp() for at in islice(_cron(schedule.when, begin, reverse=True), _KEPT)]
    return Due(tuple(sorted(at for at in earlier if at > settled)), _COUNTED, first, more=True)


def next_time(schedule: Schedule, moment: float) -> float:
    """Return when the run after `moment` begins, jitter included; infinite where none is to come."""
    at = next(after(schedule, moment), None) if schedule.active else None
    return float("inf") if at is None else begins(schedule, at)


def shortest_interval(schedule: Schedule, now: float) -> float:
    """Return the seconds between the two nearest of the next times; infinite for a single one."""
    ahead = list(islice(after(schedule, now), _LOOKED_AT))
    return min((later - at for at, later in pairwise(ahead)), default=float("inf"))
