"""`task new | list | show | edit | tell | limit | cancel | retry | log`: the jobs of workers."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions import checks, refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.registry import fitted
from lumen_tui.cli import following
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id_and_outcome, print_outcome, read_text, say, table, talk
from lumen_tui.model import budget, ids, times
from lumen_tui.model.acceptance import report
from lumen_tui.model.requests.tasks import CancelTask, EditTask, LimitTask, NewTask, RetryTask, TellTask
from lumen_tui.model.skills import read_in
from lumen_tui.model.tasks import Spec, Status, TaskEvent, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.storage.journal import Follower
from lumen_tui.store.settings import roles
from lumen_tui.store.tasks import claims, task_files
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import newest_events

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.model.roles import Role
    from lumen_tui.model.task_cost import TaskCost

_ARCHIVED = 20  # archived tasks that `list` shows without --all
_LATER = (
    "role",
    "model",
    "constraints",
    "accept",
    "context",
    "wu_id",
    "lane",
    "priority",
    "timeout_seconds",
    "steps",
    "isolate",
    "host",
    "resources",
)  # while it waits
_SET_BY_US = ("schema", "created_at", "created_by", "retry_of")


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("task", "Jobs for workers.", alone="list")
    new = group.add("new", run_new, "Queue a task; prints its id.", 'task new "What are the 5 largest files in /tmp?"')
    new.fields(NewTask, "objective", nargs="?", default="")
    new.add_argument("--spec", default="", metavar="FILE", help="use this spec (JSON; - for standard input)")
    new.fields(NewTask, *_LATER, "folder", "depends_on", "id", "key", default=None)
    _declare_caps(new, "it may use; there it ends [no limit of its own]")
    new.set_defaults(without_state=True)  # as for `run`, the folder is made
    listing = group.add("list", run_list, "Tasks: live ones, then the last archived.", "task list --json")
    listing.add_argument("--all", action="store_true", help="with the whole archive")
    show = group.add("show", run_show, "One task with its result.", "task show tsk-7f2")
    show.fields(CancelTask, "task_id")
    edit = group.add("edit", run_edit, "Change a task that still waits.", "task edit 7f2 -p P0 --usd 2")
    edit.fields(EditTask)
    edit.add_argument("--objective", help="what is to be found out or done")
    edit.fields(NewTask, *_LATER, default=None)
    _declare_caps(edit, "it may use; there it ends [no limit of its own]")
    group.verb("tell", TellTask, "Say something to a task that runs.", 'task tell 7f2 "Look at /srv only"')
    group.verb(
        "limit", LimitTask, "Change how far a task may go, also while it runs.", "task limit 7f2 --steps 80 --usd 3"
    )
    group.verb("cancel", CancelTask, "Stop a task, or keep it from beginning.", "task cancel 7f2 --reason stale")
    retry = group.verb(
        "retry",
        RetryTask,
        "Queue an ended task again; prints the new id.",
        "task retry 7f2",
        prints=print_id_and_outcome,
        request=lambda _, args: request_of(RetryTask, args, budget=_caps(args)),
    )
    _declare_caps(retry, "it may use this time [as before]; 0 for no cap of its own")
    log = group.add("log", run_log, "What the worker did.", "task log 7f2 --follow")
    log.fields(CancelTask, "task_id")
    log.add_argument("-f", "--follow", action="store_true", help="follow until the task ends")
    log.add_argument("--json", action="store_true", help="one JSON document (with --follow: JSON lines)")
    for command in (new, listing, show, edit):
        command.json()


def _declare_caps(command: Parser, words: str) -> None:
    """Add the options of a task's own budget."""
    command.add_argument("--tokens", type=int, help=f"the most {words}")
    command.add_argument("--usd", type=float, help="the most it may cost, in dollars")


def run_new(session: Session, args: Namespace) -> int:
    known = list(NewTask.__struct_fields__)
    fields = {name: value for name, value in vars(args).items() if name in known and value not in (None, "")}
    if args.spec:
        fields = {**_spec_fields(args.spec, known), **fields}
    fields["folder"] = "" if args.folder == "" else os.path.abspath(str(fields.get("folder", "")))
    if caps := _caps(args):
        fields["budget"] = {**fields.get("budget", {}), **caps}
    if not fields.get("objective"):
        raise ActionError('an objective is needed: lumen-tui task new "What is to be done"')
    session.make_sure()
    return print_id_and_outcome(session.perform(fitted(NewTask, fields)), as_json=args.json)


def _caps(args: Namespace) -> dict[str, float]:
    """Return the task's own budget as far as options set it. Raise ActionError."""
    caps = {name: value for name in ("tokens", "usd") if (value := getattr(args, name)) is not None}
    if problem := budget.out_of_range(**caps):
        raise ActionError(f"--{problem}")
    return caps


def _spec_fields(name: str, known: list[str]) -> dict[str, object]:
    spec = task_files.parse_spec_fields(read_text(name).encode())
    for field in _SET_BY_US:
        spec.pop(field, None)
    if unknown := [field for field in spec if field not in known]:
        raise ActionError(f"{name}: a spec has no field {unknown[0]!r}", candidates=refusal.nearest(unknown[0], known))
    return spec


def _index(session: Session, in_force: Iterable[Role]) -> TaskIndex:
    index = TaskIndex(session.layout)
    index.refresh(session.now, {role.name: role.limits.stall_seconds for role in in_force})
    return index


def run_list(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.documents import task_document, waiting
    from lumen_tui.queries.queue_conditions import read_queue_conditions

    in_force, retired, _ = roles.list_roles(session.layout)
    index = _index(session, in_force)
    folders = index.archive.rows()
    chosen = folders if args.all else folders[:_ARCHIVED]
    standing = read_queue_conditions(session.layout, index.live(), in_force, retired, session.now)
    views = [waiting(view, standing) for view in index.live()]
    views += [view for folder in chosen if (view := index.archive.view(folder))]
    if args.json:
        document([task_document(view) for view in views])
        return 0
    table([_row(view, session.now) for view in views])
    for name, how in standing.paused.items():
        talk(f"{name} is {how}")
    for problem in index.problems.values():
        talk(f"{problem.where}: {problem.what}")
    if len(chosen) < len(folders):
        talk(f"{len(folders) - len(chosen)} older archived tasks were left out: --all")
    if not views:
        talk("no tasks yet")
    return 0


def _row(view: TaskView, now: float) -> tuple[str, ...]:
    since = view.finished or view.started or times.epoch(view.spec.created_at)
    reason = view.reason.partition("; ")[0] if view.status is Status.QUEUED else view.reason  # `show` says all
    summary = view.spec.objective + (f"  ({reason})" if reason else "")
    return view.id, view.outcome, view.spec.priority, view.spec.role, times.age(now - since), summary


def _task_id(session: Session, text: str) -> str:
    try:
        return checks.task_id(session.store, text)
    except ActionError as error:
        raise ActionError(str(error), candidates=error.candidates, missing=True) from error


def _shown(
    view: TaskView, folder: Path | None, cost: TaskCost, session_id: str, skills: tuple[str, ...]
) -> dict[str, str]:
    """Return what `show` prints of a task before its result; empty where there is nothing to say."""
    spec = view.spec
    return {
        "task": spec.id,
        "status": f"{view.outcome} {view.reason}".strip(),
        "role": spec.role,
        "model": spec.model,
        "objective": spec.objective,
        "context": one_line(spec.context, 300),
        "constraints": "; ".join(spec.constraints),
        "accept": "; ".join(spec.accept),
        "priority": spec.priority,
        "work unit": spec.wu_id,
        "lane": spec.lane,
        "given by": spec.created_by,
        "sub-task of": spec.parent,
        "after": ", ".join(spec.depends_on),
        "retry of": spec.retry_of,
        "took": cost.words(),
        "used": cost.progress.words(),
        "brain": view.brain,
        "at most": _at_most(spec),
        "works in": spec.folder,
        "skills": ", ".join(skills),
        "session": session_id,
        "folder": str(folder or ""),
    }


def run_show(session: Session, args: Namespace) -> int:
    task_id = _task_id(session, args.task_id)
    from lumen_tui.queries.documents import result_text, waiting, whole_task  # behind the check, with every setting
    from lumen_tui.queries.queue_conditions import read_queue_conditions
    from lumen_tui.queries.task_costs import costs

    in_force, retired, _ = roles.list_roles(session.layout)
    index = _index(session, in_force)
    view = index.find(task_id)
    if view is None:
        raise ActionError(index.problems[task_id].what if task_id in index.problems else f"{task_id} cannot be read")
    view = waiting(view, read_queue_conditions(session.layout, index.live(), in_force, retired, session.now))
    folder = index.folder(task_id)
    if args.json:
        document(whole_task(session.layout, view, folder, session.now))
        return 0
    result = result_text(folder)
    cost = costs(session.layout, [view], session.now)[task_id]
    ended = task_files.read_exit(folder) if folder else None
    skills = read_in(newest_events(folder)) if folder else ()
    facts = _shown(view, folder, cost, ended.session if ended else "", skills)
    table([(name, value) for name, value in facts.items() if value])
    _say_evidence(view, folder)
    if result:
        say("\n" + result.rstrip())
    return 0


def _at_most(spec: Spec) -> str:
    """Return the task's own limits; the role's hold where it has none."""
    calls = f"{spec.steps:,} tool calls" if spec.steps else ""
    time_limit = times.limit(spec.timeout_seconds) if spec.timeout_seconds else ""
    return ", ".join(filter(None, (budget.own_words(spec.budget), calls, time_limit)))


def _say_evidence(view: TaskView, folder: Path | None) -> None:
    """Print what the checks found, those of earlier attempts, too."""
    if view.acceptance is not None:
        say(f"\n{view.acceptance.verdict}:\n{report(view.acceptance)}")
    for claim in claims.refuted(folder) if folder else ():
        if claim.acceptance is not None and claim.attempt != view.attempt:
            say(f"\nattempt {claim.attempt} was {claim.acceptance.verdict}:\n{report(claim.acceptance)}")


def run_edit(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.tasks import EDITABLE

    changes = {name: value for name in EDITABLE if (value := vars(args).get(name)) is not None}
    if caps := _caps(args):
        changes["budget"] = caps
    if not changes:
        raise ActionError("there is nothing to change: name what, such as `-p P0` or `--objective TEXT`")
    return print_outcome(session.perform(EditTask(task_id=args.task_id, changes=changes)), as_json=args.json)


def run_log(session: Session, args: Namespace) -> int:
    task_id = _task_id(session, args.task_id)
    folder = task_files.folder_of(session.layout, task_id) or session.layout.task(task_id)
    follower = Follower(folder / "events.jsonl")
    events = following.recent(follower, TaskEvent)
    nothing = f"task {ids.short(task_id)} has no events yet"
    return following.listed(
        events, follower, TaskEvent, _say_event, args, nothing=nothing, until=lambda: _ended(folder)
    )


def _ended(folder: Path) -> bool:
    return not folder.is_dir() or task_files.status_of(folder).ended


def _say_event(event: TaskEvent) -> None:
    text = f"{event.tool}: {event.text}" if event.tool else event.text
    say(f"{event.at}  {event.kind if event.ok else event.kind + '!':<9} {text}".rstrip())
