"""[[schedules]] of the settings: taken into the journal, so that pause, run and history work on them as on others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.model.ids import short_hash
from lumen_tui.model.problem import Problem
from lumen_tui.model.schedules import Schedule, ScheduleError, ScheduleSource, ScheduleStatus
from lumen_tui.model.text import one_line
from lumen_tui.store.schedules import checking, timing
from lumen_tui.store.settings import config_errors

if TYPE_CHECKING:
    from lumen_tui.model.config import Config

_FILE = "lumen.toml"
_GONE = "it was not in the settings"
_KEPT = ("paused_at", "paused_by", "paused_why", "resumed_at", "created_at")
_Seconds = Annotated[float, Meta(ge=0, le=7 * 86_400)]


class ScheduleConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """One of [[schedules]]."""

    name: str
    text: str
    when: str = ""
    zone: str = ""
    makes: Literal["task", "signal", "wake"] = "task"
    role: str = "researcher"
    model: str = ""
    to: str = ""
    wu: str = ""
    lane: str = ""
    priority: str = ""
    accept: tuple[str, ...] = ()
    isolate: Literal["", "worktree", "copy"] = ""
    usd: float = 0.0
    timeout: _Seconds = 0.0
    missed: Literal["skip", "once", "all"] = "once"
    most: int = 3
    overlap: Literal["skip", "queue"] = "skip"
    jitter: _Seconds = 0.0
    on_change: tuple[str, ...] = ()
    folder: str = ""
    settle: float = 5.0
    on_signal: dict[str, str] = {}


def configured(config: Config, known: Mapping[str, Schedule], now: float) -> tuple[list[Schedule], list[Problem]]:
    """Return the schedules of the settings as they should be in the journal, and a problem for each that is wrong."""
    schedules: dict[str, Schedule] = {}
    problems = []
    for number, table in enumerate(config.schedules, 1):
        name = one_line(str(table.get("name", "")), 64) or f"number {number}"
        try:
            schedule = _one(table, config, [*schedules.values()], known, now)
        except ScheduleError as error:
            problems.append(Problem(_FILE, f"schedules {name}: {error}", "it is not in force until it is fixed"))
            continue
        schedules[schedule.id] = schedule
    return list(schedules.values()), problems


def _one(
    table: dict[str, Any], config: Config, schedules: Iterable[Schedule], known: Mapping[str, Schedule], now: float
) -> Schedule:
    try:
        entry = msgspec.convert(table, ScheduleConfig)
    except msgspec.ValidationError as error:
        raise ScheduleError(config_errors.in_words(error, ScheduleConfig, table)) from error
    values = msgspec.structs.asdict(entry)
    values |= {"wu_id": values.pop("wu"), "timeout_seconds": values.pop("timeout")}
    values["folder"] = os.path.realpath(os.path.expanduser(entry.folder)) if entry.folder else ""
    schedule = Schedule(
        id=f"sch-{short_hash(f'settings {entry.name}')}",
        source=ScheduleSource.SETTINGS,
        order=True,  # the settings are the operator's: no worker can write them
        created_by=_FILE,
        created_at=times.iso(now),
        **values,
    )
    if entry.when.split()[:1] == ["in"]:
        raise ScheduleError("in the settings a single time is written with its date: at 2026-11-24 09:00")
    before = known.get(schedule.id)
    if before is not None and not (entry.zone or config.scheduling.zone):
        schedule = msgspec.structs.replace(schedule, zone=before.zone)  # where the machine was when it was taken in
    others = [other for other in known.values() if other.source is not ScheduleSource.SETTINGS]
    return _carried_over(_checked(schedule, before, config, [*schedules, *others], now), before, now)


def _checked(
    schedule: Schedule, before: Schedule | None, config: Config, others: list[Schedule], now: float
) -> Schedule:
    """Check an entry. A single time that is over stays as it was when it was taken in."""
    zone = schedule.zone or config.scheduling.zone or timing.local_zone()
    same = before is not None and (before.zone, " ".join(schedule.when.split())) == (zone, before.when)
    if before is not None and same and before.once:
        return msgspec.structs.replace(schedule, when=before.when, zone=zone, since=before.since, status=before.status)
    return checking.checked(schedule, now, config.scheduling, others)


def _carried_over(schedule: Schedule, before: Schedule | None, now: float) -> Schedule:
    """Return the entry with what the journal knows of it: since when its rule holds, and its pause."""
    if before is None:
        return schedule
    carried = {name: getattr(before, name) for name in _KEPT}
    if (schedule.when, schedule.zone) == (before.when, before.zone):
        carried["since"] = before.since
    if before.status is ScheduleStatus.REMOVED:
        carried |= {"resumed_at": times.iso(now), "status": ScheduleStatus.ACTIVE}
    return msgspec.structs.replace(schedule, **carried)


def changes(config: Config, known: Mapping[str, Schedule], now: float) -> tuple[list[Schedule], list[Problem]]:
    """Return the lines that bring the journal to what the settings say; one that left them is removed.

    One that is wrong now stays as it was, since nobody took it out.
    """
    wanted, problems = configured(config, known, now)
    changed = [schedule for schedule in wanted if known.get(schedule.id) != schedule]
    named = {f"sch-{short_hash('settings ' + str(table.get('name', '')))}" for table in config.schedules}
    for schedule in known.values():
        if schedule.source is ScheduleSource.SETTINGS and schedule.active and schedule.id not in named:
            changed.append(
                msgspec.structs.replace(
                    schedule,
                    status=ScheduleStatus.REMOVED,
                    paused_at=times.iso(now),
                    paused_by=_FILE,
                    paused_why=_GONE,
                    resumed_at="",
                )
            )
    return changed, problems
