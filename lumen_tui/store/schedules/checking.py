"""What a schedule must be to be taken, whoever makes it: by command, in the settings, or the agent by its tool."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import acceptance, ids, isolation, times
from lumen_tui.model.schedules import (
    FIELDS,
    MAKES,
    MISSED,
    MOST_ACTIVE,
    MOST_JITTER,
    MOST_TEXT,
    OVERLAP,
    SLEEP,
    SLEEP_NAME,
    Schedule,
    ScheduleError,
    ScheduleSource,
)
from lumen_tui.model.text import one_line
from lumen_tui.store.schedules import timing

if TYPE_CHECKING:
    from lumen_tui.model.config import SchedulingConfig

_MOST_PATTERNS = 20


def checked(schedule: Schedule, now: float, config: SchedulingConfig, known: Iterable[Schedule] = ()) -> Schedule:
    """Return a new schedule with its rule in the form in which it is kept. ScheduleError for the first fault."""
    _name(schedule, known)
    for name, value, allowed in (
        ("what it makes", schedule.makes, MAKES),
        ("missed", schedule.missed, MISSED),
        ("overlap", schedule.overlap, OVERLAP),
    ):
        if value not in allowed:
            raise ScheduleError(f"{name}: {one_line(value, 40)!r} is unknown: one of {', '.join(allowed)}")
    if not schedule.text.strip() or len(schedule.text) > MOST_TEXT:
        raise ScheduleError(f"say in 1 to {MOST_TEXT:,} characters what is to be done")
    if not (schedule.when or schedule.on_change or schedule.on_signal):
        raise ScheduleError("say when: a time (--when '0 9 * * 1-5'), --on-change or --on-signal")
    _numbers(schedule)
    check_triggers(schedule)
    schedule = msgspec.structs.replace(schedule, accept=_accept(schedule))
    _isolate(schedule)
    zone = schedule.zone or config.zone or timing.local_zone()
    when = timing.canonical(schedule.when, zone, now) if schedule.when else ""
    schedule = msgspec.structs.replace(schedule, zone=timing.zone_of(zone).key, when=when, since=times.iso(now))
    if schedule.source is ScheduleSource.AGENT:
        _agent_bounds(schedule, now, config, known)
    return schedule


def _name(schedule: Schedule, known: Iterable[Schedule]) -> None:
    try:
        ids.check_name(schedule.name, "schedule")
    except ids.BadId as error:
        raise ScheduleError(str(error)) from error
    if schedule.name == SLEEP_NAME:
        raise ScheduleError(f"{SLEEP_NAME} is the name of the agent's own sleep: give another")
    active = [other for other in known if other.active and other.id != schedule.id]
    if any(other.name == schedule.name for other in active):
        raise ScheduleError(f"there is a schedule {schedule.name!r} already: remove it, or give another name")
    if len(active) >= MOST_ACTIVE:
        raise ScheduleError(f"{MOST_ACTIVE} schedules are in force, the most there may be: remove one first")


def _numbers(schedule: Schedule) -> None:
    for name, value, least, most in (
        ("jitter", schedule.jitter, 0.0, MOST_JITTER),
        ("settle", schedule.settle, 0.1, times.HOUR),
        ("most", float(schedule.most), 1.0, 100.0),
        ("usd", schedule.usd, 0.0, 1e6),
        ("timeout", schedule.timeout_seconds, 0.0, 7 * times.DAY),
    ):
        if not least <= value <= most:
            raise ScheduleError(f"{name} {value:g} will not do: {least:g} to {most:g}")


def _accept(schedule: Schedule) -> tuple[str, ...]:
    if schedule.accept and schedule.makes != "task":
        raise ScheduleError(f"a {schedule.makes} is never done, so nothing can prove it: accept is for tasks")
    try:
        return acceptance.checked(schedule.accept)
    except acceptance.BadCheck as error:
        raise ScheduleError(str(error)) from error


def _isolate(schedule: Schedule) -> None:
    if not schedule.isolate:
        return
    if schedule.makes != "task":
        raise ScheduleError(f"a {schedule.makes} changes no files: isolate is for tasks")
    if schedule.isolate not in isolation.MODES:
        raise ScheduleError(
            f"isolate {one_line(schedule.isolate, 40)!r} is unknown: one of {', '.join(isolation.MODES)}"
        )
    if not os.path.isabs(schedule.folder):
        raise ScheduleError("name the folder that isolate is of, by its whole path")


def watched_folder(name: str) -> str:
    """Return the whole path of the folder whose changes are watched; of the current one where none is named."""
    return os.path.realpath(os.path.expanduser(name or "."))


def check_triggers(schedule: Schedule) -> None:
    """Raise ScheduleError for the first fault of what starts it but the time."""
    if wrong := [name for name in schedule.on_signal if name not in FIELDS]:
        raise ScheduleError(f"a signal has no field {one_line(wrong[0], 40)!r}: one of {', '.join(FIELDS)}")
    if len(schedule.on_change) > _MOST_PATTERNS:
        raise ScheduleError(f"{len(schedule.on_change)} patterns are too many: {_MOST_PATTERNS} at most")
    for pattern in schedule.on_change:
        if not pattern.strip() or pattern.startswith("/") or ".." in pattern.split("/"):
            raise ScheduleError(f"pattern {pattern[:60]!r} will not do: a path below the folder, such as src/**")
    if schedule.on_change and not os.path.isabs(schedule.folder):
        raise ScheduleError("name the folder in which changes are watched, by its whole path")
    if schedule.on_change and not os.path.isdir(schedule.folder):
        raise ScheduleError(f"there is no folder {schedule.folder}")


def _agent_bounds(schedule: Schedule, now: float, config: SchedulingConfig, known: Iterable[Schedule]) -> None:
    if schedule.on_change or schedule.on_signal:
        raise ScheduleError("the agent schedules by time alone: ask a person for a trigger")
    own = [other for other in known if other.active and other.source is ScheduleSource.AGENT and other.id != SLEEP]
    if len([other for other in own if other.id != schedule.id]) >= config.agent_schedules:
        names = ", ".join(other.name for other in own[:5])
        raise ScheduleError(f"{len(own)} of your schedules are in force, the most there may be: {names}")
    if timing.shortest_interval(schedule, now) < config.agent_minutes * 60:
        raise ScheduleError(f"{schedule.when} is too often: {config.agent_minutes:g} minutes is your shortest interval")


def find(known: Iterable[Schedule], word: str) -> Schedule:
    """Return the schedule in force of this name, id, or beginning of an id. ScheduleError with what there is."""
    active = [schedule for schedule in known if schedule.active]
    hits = [schedule for schedule in active if word in (schedule.name, schedule.id)]
    hits = hits or [schedule for schedule in active if len(word) > 1 and schedule.id.startswith((word, f"sch-{word}"))]
    if len(hits) == 1:
        return hits[0]
    names = ", ".join(schedule.name for schedule in active[:8]) or "none yet"
    raise ScheduleError(f"there is no schedule {one_line(word, 60)!r}: {names}")
