"""Schedules: made, paused, resumed, removed, and run now. None of it needs a running engine; that carries runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from lumen_tui.actions import acting, checks, edits, engine
from lumen_tui.actions.edits import Side
from lumen_tui.actions.facts import is_agent
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import agent, fields, ids, times
from lumen_tui.model.records import Change
from lumen_tui.model.requests.schedules import (
    AddSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    RunSchedule,
)
from lumen_tui.model.schedule_runs import OPEN, RunState, ScheduledRun, new_run
from lumen_tui.model.schedules import SLEEP, Schedule, ScheduleError, ScheduleSource, signal_match
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.schedules import checking, schedules, timing
from lumen_tui.store.schedules.schedules import Known
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role

KIND = "schedule"  # of a change
RUN_KIND = "schedule-run"


def add(store: Store, request: AddSchedule, *, by: str, now: float) -> Done:
    """Check every field, then append the schedule with its action."""
    config = load_config(store.layout)[0].scheduling
    new = _checked_fields(store, request, by, now)
    if _by_agent(store, by):
        new = msgspec.structs.replace(new, source=ScheduleSource.AGENT, order=False, usd=config.agent_usd)

    def decide(known: Known) -> tuple[Schedule | None, Schedule]:
        return None, checking.checked(new, now, config, known.values())

    schedule, done = _change(store, decide, "schedule.add", "schedule {} added", by=by, now=now)
    ahead = timing.next_time(schedule, now)
    first = f"; it runs first {times.stamp(ahead)}" if ahead < float("inf") else ""
    later = "" if engine.runs(store) else "; no engine runs yet"
    return msgspec.structs.replace(done, summary=f"{done.summary}{first}{later}")


def _by_agent(store: Store, by: str) -> bool:
    return by == acting.AGENT_PROGRAM or is_agent(store.layout, by)


def _checked_fields(store: Store, request: AddSchedule, by: str, now: float) -> Schedule:
    """Return the schedule that is asked for, with what is known of the folder checked: role, work unit, lane."""
    task = request.makes == "task"
    if task and request.role == agent.ROLE:
        raise ActionError("the main agent takes no tasks: `--as wake` tells it something at that time")
    return Schedule(
        id=ids.new_id("sch"),
        name=request.name,
        text=fields.prose(request.text, "text").strip(),
        when=request.when,
        zone=request.zone,
        makes=request.makes,
        role=checks.role_name(store.layout, request.role) if task else request.role,
        model=fields.label(request.model, "model"),
        to=fields.label(request.to, "agent"),
        wu_id=checks.known_unit(store.layout, request.wu_id),
        lane=checks.lane(store.layout, request.lane) if request.lane else "",
        priority=fields.priority(request.priority),
        accept=tuple(request.accept),
        isolate=request.isolate,
        usd=request.usd,
        timeout_seconds=request.timeout_seconds,
        missed=request.missed,
        most=request.most,
        overlap=request.overlap,
        jitter=request.jitter,
        on_change=tuple(request.on_change),
        folder=checking.watched_folder(request.folder) if request.folder or _has_folder(store, request) else "",
        settle=request.settle,
        on_signal=signal_match(request.on_signal),
        order=acting.caller().order,
        created_by=by,
        created_at=times.iso(now),
    )


def _has_folder(store: Store, request: AddSchedule) -> bool:
    """Return whether what is asked for is about a folder, though none is named."""
    if request.on_change or request.accept or request.isolate:
        return True
    if request.makes != "task":
        return False
    try:
        role = load_role(store.layout, request.role)
    except (OSError, ValueError):
        return False  # a role that cannot be read is named where the task begins
    return bool(role.accept or role.isolate)


def _change(
    store: Store,
    decide: Callable[[Known], tuple[Schedule | None, Schedule]],
    verb: str,
    summary: str,
    *,
    by: str,
    now: float,
    reason: str = "",
) -> tuple[Schedule, Done]:
    """Append what `decide` makes of a schedule (before, after) with its action; `{}` in the summary is its name."""
    outcome: list[tuple[Schedule, Done]] = []
    sides: list[tuple[Schedule | None, Schedule]] = []

    def decided(known: Known) -> list[Schedule]:
        sides[:] = [decide(known)]
        return [sides[0][1]]

    def actions() -> bytes:
        before, after = sides[0]
        words = summary.replace("{}", after.name)
        change = Change(KIND, after.id, before=_side(before), after=_side(after))
        action = edits.new_action(verb, [change], summary=words, by=by, now=now, reason=reason)
        outcome.append((after, Done(summary=words, target=after.id, action_id=action.id)))
        return journal.begun_lines(action)

    schedules.change(store.layout, decided, actions)
    return outcome[0]


def _side(schedule: Schedule | None) -> Side | None:
    return msgspec.to_builtins(schedule) if schedule is not None and schedule.active else None


def remove(store: Store, request: RemoveSchedule, *, by: str, now: float) -> Done:
    """Append that it is removed."""

    def decide(known: Known) -> tuple[Schedule, Schedule]:
        before = _own(store, known, request.name, by)
        if before.source is ScheduleSource.SETTINGS:
            raise ActionError(f"{before.name} is in lumen.toml: take it out there, or pause it here")
        if before.id == SLEEP:
            raise ActionError("the agent's sleep ends by itself: `beat` wakes it now")
        return before, schedules.removed(before, now)

    return _change(store, decide, "schedule.remove", "schedule {} removed", by=by, now=now)[1]


def _find(known: Iterable[Schedule], name: str) -> Schedule:
    try:
        return checking.find(known, name)
    except ScheduleError as error:
        raise ActionError(str(error), missing=True) from error


def _own(store: Store, known: Known, name: str, by: str) -> Schedule:
    """Return the schedule that `by` may change: an agent only one of the agent's."""
    schedule = _find(known.values(), name)
    if schedule.source is not ScheduleSource.AGENT and _by_agent(store, by):
        raise ActionError(f"schedule {schedule.name} is a person's: only a person changes it")
    return schedule


def pause(store: Store, request: PauseSchedule, *, by: str, now: float) -> Done:
    """Append that it is paused, by whom and why."""
    reason = one_line(request.reason, 300)

    def decide(known: Known) -> tuple[Schedule, Schedule]:
        before = _own(store, known, request.name, by)
        if before.paused:
            raise ActionError(f"{before.name} is {before.pause_words} already")
        at = times.iso(now)
        return before, msgspec.structs.replace(before, paused_at=at, paused_by=by, paused_why=reason, resumed_at="")

    return _change(store, decide, "schedule.pause", "schedule {} paused", by=by, now=now, reason=reason)[1]


def resume(store: Store, request: ResumeSchedule, *, by: str, now: float) -> Done:
    """Append that the pause is over: what was due meanwhile stays skipped."""

    def decide(known: Known) -> tuple[Schedule, Schedule]:
        before = _own(store, known, request.name, by)
        if not before.paused:
            raise ActionError(f"{before.name} is not paused")
        return before, msgspec.structs.replace(before, resumed_at=times.iso(now))

    return _change(store, decide, "schedule.resume", "schedule {} resumed", by=by, now=now)[1]


def run(store: Store, request: RunSchedule, *, by: str, now: float) -> Done:
    """Append that a run is asked for, which the engine carries out; undo takes it back until then."""
    schedule = _own(store, schedules.read(store.layout), request.name, by)
    asked = new_run(schedule, ids.new_id("run"), RunState.ASKED, now, now, cause="asked", reason=f"asked by {by}")
    change = Change(RUN_KIND, asked.key, before=None, after=_asked(asked))
    summary = f"asked for a run of schedule {schedule.name}"
    action = edits.new_action("schedule.run", [change], summary=summary, by=by, now=now)
    schedules.append_runs(store.layout, [asked], journal.begun_lines(action))
    later = "" if engine.runs(store) else "; no engine runs, the next one begins it"
    return Done(summary=summary + later, target=schedule.id, action_id=action.id)


def _asked(run: ScheduledRun) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(run)
    return fields


def schedule_now(store: Store, change: Change) -> Side | None:
    """For undo: the schedule as it is; None where there is none, or no more."""
    return _side(schedules.read(store.layout).get(change.key))


def may_schedule(store: Store, change: Change) -> None:
    """For undo: refuse to bring back a schedule whose name another has now."""
    after = change.after
    others = [
        schedule for schedule in schedules.read(store.layout).values() if schedule.active and schedule.id != change.key
    ]
    if after is not None and any(other.name == after["name"] for other in others):
        raise ActionError(f"there is another schedule {after['name']} now: remove that first")


def put_schedule(store: Store, change: Change) -> None:
    """For undo: bring the schedule to the change's `after`."""
    before = schedules.read(store.layout).get(change.key)
    if change.after is not None:
        after = msgspec.convert(change.after, Schedule)
        order = after.order and acting.caller().order  # brought back by an agent it is no order any more
        schedules.put(store.layout, msgspec.structs.replace(after, order=order))
    elif before is not None:
        schedules.put(store.layout, schedules.removed(before, acting.caller().now))


def _run_of(store: Store, key: str) -> ScheduledRun | None:
    return schedules.valid_runs(store.layout).get(key)


def run_now(store: Store, change: Change) -> Side | None:
    """For undo: the run that was asked for; None where there is none, or it was taken back."""
    known = _run_of(store, change.key)
    return None if known is None or known.state is RunState.WITHDRAWN else change.after or change.before


def may_run(store: Store, change: Change) -> None:
    """For undo: refuse to take back a run that was begun."""
    known = _run_of(store, change.key)
    if change.after is None and known is not None and known.state is not RunState.ASKED:
        hint = f"; `task cancel {known.made}` ends its task" if known.makes == "task" and known.made else ""
        state = "has begun" if known.state in OPEN else f"is over ({known.state})"
        raise ActionError(f"the run {state}: it cannot be taken back{hint}")


def put_run(store: Store, change: Change) -> None:
    """For undo: take back a run that has not begun, or ask for it again."""
    may_run(store, change)
    asked = msgspec.convert(change.after or change.before, ScheduledRun)
    state = RunState.WITHDRAWN if change.after is None else RunState.ASKED
    schedules.append_runs(store.layout, [msgspec.structs.replace(asked, state=state)])
