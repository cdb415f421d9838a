"""Saying something to a task that runs, and changing how far it may go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumen_tui.actions import acting, checks, edits, engine, tasks
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import agent, ids, times
from lumen_tui.model.budget import own_words
from lumen_tui.model.records import Change
from lumen_tui.model.requests.tasks import LimitTask, TellTask
from lumen_tui.model.steering import LONGEST, MOST, Steer, SteerState
from lumen_tui.model.tasks import Run, Spec, Status
from lumen_tui.model.text import one_line, plain
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import steers, task_files
from lumen_tui.store.tasks.task_records import read_json

KIND = "told"  # of a change: a message to a task
_INSTEAD = {
    Status.DONE: "`task new` makes another that goes on from its result",
    Status.LOST: "`task retry` runs it again",
    Status.FAILED: "`task retry` runs it again",
    Status.CANCELLED: "`task retry` runs it again",
}


def tell(store: Store, request: TellTask, *, by: str, now: float) -> Done:
    """Put the message on file for the worker; refuse where no request of the task can hold it any more."""
    full_id, folder = _running(store, request.task_id)
    text = plain(request.text).strip()
    if not text:
        raise ActionError("there is nothing to say: give a text")
    if len(text) > LONGEST:
        raise ActionError(f"{len(text):,} characters are too many: {LONGEST:,} at most. Put the text in a file")
    if agent.turn_of(full_id):
        raise ActionError("it is a turn of the chat: say it there, and the next turn takes it up")
    if agent.loop_of(full_id):
        raise ActionError('the main agent gets signals: `lumen-tui signal --to lumen "…"`')
    steer = Steer(ids.new_id("say"), times.iso(now), by=by, text=text, order=acting.caller().order)
    change = Change(KIND, f"{full_id} {steer.id}", before=None, after=steers.encoded(steer))
    summary = f"told {ids.short(full_id)}: {one_line(text, 80)}"
    action = edits.new_action("task.tell", [change], summary=summary, by=by, now=now)
    try:
        with journal.carrying_out(store.layout, action):
            steers.tell(folder, steer, _attempt(folder), MOST)
    except steers.TakesNone as error:
        raise _takes_none(full_id, str(error)) from error
    return Done(summary=f"{summary}{_when(store, folder, order=steer.order)}", target=full_id, action_id=action.id)


def _takes_none(task_id: str, reason: str) -> ActionError:
    stop = f"`task cancel {ids.short(task_id)} --after step` stops it and keeps what it has"
    return ActionError(f"task {ids.short(task_id)} takes no message: {reason}; {stop}")


def _when(store: Store, folder: Path, *, order: bool) -> str:
    words = "" if order else "; not as an order: that this is the operator was not seen"
    status = task_files.status_of(folder)
    if status is Status.ASKING:
        return f"{words}; it reads that after the answer to its question"
    if status is Status.AWAITING:
        return f"{words}; it reads that when the tasks which it ordered have ended"
    if status is Status.QUEUED:
        return f"{words}; it reads that when it begins"
    return words if engine.runs(store) else f"{words}; no engine runs"


def _running(store: Store, text: str) -> tuple[str, Path]:
    """Return the id and folder of a task that has not ended. ActionError says what can be done instead."""
    full_id = checks.task_id(store, text)
    folder = task_files.folder_of(store.layout, full_id)
    status = task_files.status_of(folder) if folder else Status.LOST
    if folder is None or status in _INSTEAD:
        raise ActionError(f"task {ids.short(full_id)} has ended already ({status.value}): {_INSTEAD[status]}")
    return full_id, folder


def _attempt(folder: Path) -> int:
    run = read_json(folder / "run.json", Run)
    return run.attempt if run else 0


def _place(store: Store, change: Change) -> tuple[Path, str]:
    task_id, _, steer_id = change.key.partition(" ")
    folder = task_files.folder_of(store.layout, task_id)
    if folder is None:
        raise ActionError(f"task {task_id} is no longer there")
    return folder, steer_id


def _steer(store: Store, change: Change) -> Steer | None:
    folder, steer_id = _place(store, change)
    return next((steer for steer in steers.read(folder) if steer.id == steer_id), None)


def told_now(store: Store, change: Change) -> Side | None:
    """For undo: the message, unless it was withdrawn."""
    steer = _steer(store, change)
    return None if steer is None or steer.state is SteerState.WITHDRAWN else change.after or change.before


def may_tell(store: Store, change: Change) -> None:
    """For undo: refuse once a request held the message, or the task has ended."""
    steer = _steer(store, change)
    if steer is not None and steer.state is SteerState.READ:
        raise ActionError("the worker has read it already: tell it otherwise")
    folder, _ = _place(store, change)
    if steer is None or steer.state is SteerState.UNSEEN or task_files.status_of(folder).ended:
        raise ActionError("the task has ended: there is nothing to take back")


def put_told(store: Store, change: Change) -> None:
    """For undo: withdraw the message, or tell it again."""
    folder, steer_id = _place(store, change)
    wanted = SteerState.WITHDRAWN if change.after is None else SteerState.TOLD
    before = steers.set_state(folder, steer_id, wanted, acting.caller().now)
    if before is None or before.state not in (SteerState.TOLD, SteerState.WITHDRAWN):
        may_tell(store, change)  # it says which of the two it was


def limit(store: Store, request: LimitTask, *, by: str, now: float) -> Done:
    """Replace limits in spec.json, of which the worker reads them before each request; both sides are recorded."""
    full_id, _ = _running(store, request.task_id)
    limits = _limits(request)
    if not limits:
        raise ActionError("there is nothing to change: name a limit, such as `--steps 80`, `--timeout 2h` or `--usd 3`")
    before = tasks.spec_of(store, full_id)
    after = tasks.with_limits(store, before, limits)
    change = Change("task", full_id, before=tasks.some_fields(before, limits), after=tasks.some_fields(after, limits))
    summary = f"limits of task {ids.short(full_id)}: {words(after)}"
    action = edits.new_action("task.limit", [change], summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        tasks.put(store, after, before)
    return Done(summary=summary, target=full_id, action_id=action.id)


def _limits(request: LimitTask) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if request.steps is not None:
        limits["steps"] = request.steps
    if request.timeout_seconds is not None:
        limits["timeout_seconds"] = request.timeout_seconds
    caps = {"tokens": request.tokens, "usd": request.usd}
    if given := {name: value for name, value in caps.items() if value is not None}:
        limits["budget"] = given
    return limits


def words(spec: Spec) -> str:
    """Return the limits of a task's own, in words."""
    parts = [f"{spec.steps:,} tool calls" if spec.steps else "", own_words(spec.budget)]
    parts.insert(1, times.limit(spec.timeout_seconds) if spec.timeout_seconds else "")
    return ", ".join(part for part in parts if part) or "those of its role"
