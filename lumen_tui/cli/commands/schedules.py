"""`schedule`: what is done by time, on changed files or on signals, and what became of each run."""

from __future__ import annotations

from argparse import Namespace
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, print_id_and_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.requests.schedules import (
    AddSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    RunSchedule,
)
from lumen_tui.model.schedule_runs import ScheduledRun, ScheduleView
from lumen_tui.model.schedules import Schedule, ScheduleError
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_AHEAD = 5  # next times that `show` names


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    text = "What is done by time, on changed files or on signals."
    group = commands.group("schedule", text, alone="list")
    listing = group.add("list", run_list, "The schedules, with their next run.", "schedule list")
    listing.add_argument("--all", action="store_true", help="those that are over or removed as well")
    group.verb(
        "add",
        AddSchedule,
        "Have something done by time, on changed files or on signals.",
        "schedule add nightly 'Run the tests' --when '0 3 * * *' --zone Europe/Berlin --role tester",
        prints=print_id_and_outcome,
        judged=True,
    )
    show = group.add(
        "show", run_show, "One schedule: its fields, its next times, its last runs.", "schedule show nightly"
    )
    show.fields(RemoveSchedule, "name")
    group.verb("run", RunSchedule, "Ask for a run now, paused or not.", "schedule run nightly", judged=True)
    group.verb(
        "pause", PauseSchedule, "Skip its runs until `schedule resume`.", "schedule pause nightly -r 'a release'"
    )
    group.verb("resume", ResumeSchedule, "Let a paused schedule go on.", "schedule resume nightly", judged=True)
    group.verb(
        "remove", RemoveSchedule, "Remove a schedule; undo brings it back.", "schedule remove nightly", judged=True
    )
    history = group.add("history", run_history, "What became of each run, newest first.", "schedule history nightly")
    history.fields(RemoveSchedule, "name", nargs="?", default="")
    history.add_argument("--limit", type=int, default=30, metavar="N", help="runs at most [30]")
    for command in (listing, show, history):
        command.json()


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.schedule_views import views

    now = session.now
    found = views(session.layout, now, all=args.all)
    if args.json:
        document([_described(view) for view in found])
    else:
        table([_row(view, now) for view in found])
    if not found:
        talk("there is no schedule yet: `schedule add NAME TEXT --when '0 9 * * 1-5'` makes one")
    return 0 if found else 3


def _row(view: ScheduleView, now: float) -> tuple[str, ...]:
    schedule = view.schedule
    ahead = times.dated(view.next, now) if view.next else view.state if view.state != "active" else "on its trigger"
    last = f"last {view.last.due[:16]}Z".replace("T", " ") if view.last else "never ran"
    goal = f"{schedule.makes}{f' for {schedule.role}' if schedule.makes == 'task' else ''}"
    return schedule.name, ahead, schedule.trigger_words, goal, last, one_line(schedule.text, 60)


def _described(view: ScheduleView) -> dict[str, object]:
    facts: dict[str, object] = msgspec.to_builtins(view.schedule)
    facts |= {"state": view.state, "next": times.iso(view.next) if view.next else "", "waiting": view.open}
    facts["last"] = msgspec.to_builtins(view.last)
    return facts


def _find(session: Session, name: str, *, all: bool = True) -> ScheduleView:
    from lumen_tui.queries.schedule_views import views
    from lumen_tui.store.schedules import checking

    found = views(session.layout, session.now, all=all)
    try:
        schedule = checking.find([view.schedule for view in found], name)
    except ScheduleError as error:
        past = [view for view in found if name in (view.schedule.name, view.schedule.id)]
        if not past:
            raise ActionError(str(error), missing=True) from error
        return past[-1]
    return next(view for view in found if view.schedule.id == schedule.id)


def run_show(session: Session, args: Namespace) -> int:
    view = _find(session, args.name)
    ahead = _times_ahead(view.schedule, session.now)
    if args.json:
        runs = [msgspec.to_builtins(run) for run in view.recent]
        document({**_described(view), "times": [times.iso(at) for at in ahead], "runs": runs})
        return 0
    schedule = view.schedule
    say(f"{schedule.name}  ({schedule.id}, {view.state}, {schedule.source}, made by {schedule.created_by})")
    say(f"  {schedule.trigger_words}")
    say(f"  makes: {schedule.makes}; missed: {schedule.missed}; overlap: {schedule.overlap}")
    if schedule.paused:
        say(f"  {schedule.pause_words}")
    for line in schedule.text.splitlines():
        say(f"  | {line}")
    for at in ahead:
        say(f"  next  {times.dated(at, session.now)}")
    _print_runs(list(view.recent[:10]))
    return 0


def _times_ahead(schedule: Schedule, now: float) -> list[float]:
    from lumen_tui.store.schedules import timing

    if not (schedule.active and schedule.when):
        return []
    try:
        return list(islice(timing.after(schedule, now), _AHEAD))
    except ScheduleError as error:
        raise ActionError(f"{schedule.name}: {error}; remove it, and add it again") from error


def run_history(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.schedule_views import history

    schedule_id = _find(session, args.name).schedule.id if args.name else ""
    runs = history(session.layout, schedule_id, max(1, args.limit))
    if args.json:
        document(runs)
    else:
        _print_runs(runs)
    if not runs:
        talk("nothing was due yet")
    return 0 if runs else 3


def _print_runs(runs: list[ScheduledRun]) -> None:
    from lumen_tui.queries.schedule_views import made_words

    table([(times.exact(run.due_at), run.name, str(run.state), run.cause, made_words(run)) for run in runs])
