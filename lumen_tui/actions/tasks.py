"""Tasks: queue, cancel, retry and edit them. None of it needs a running engine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.actions import acting, agents, checks, edits, engine, hosts, places, subtasks
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import acceptance, agent, fields, ids, isolation, times
from lumen_tui.model.budget import own_words
from lumen_tui.model.loop import Command
from lumen_tui.model.records import Change
from lumen_tui.model.requests.tasks import CancelTask, EditTask, NewTask, RetryTask
from lumen_tui.model.roles import fetches_nothing
from lumen_tui.model.tasks import Budget, Run, Spec, Status
from lumen_tui.model.text import one_line, plain
from lumen_tui.storage import directories, files, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings import config_errors
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import STOP_FILE, has_worker, read_json, read_stop

QUEUED_KIND = "queued"  # of a change
EDITABLE = (
    "objective",
    "role",
    "model",
    "context",
    "constraints",
    "accept",
    "priority",
    "timeout_seconds",
    "steps",
    "wu_id",
    "lane",
    "budget",
    "isolate",
    "host",
    "resources",
)
LIMITS = frozenset({"timeout_seconds", "steps", "budget"})  # of these, what can be changed while it runs
_MOST_STEPS = 100_000
_MOST_CAP = 1_000_000_000  # tokens, dollars, seconds
_MOST_CONSTRAINTS = 100
CANCEL_KIND = "cancel"


def new(store: Store, request: NewTask, *, by: str, now: float) -> Done:
    """Check the spec, then write the folder of the task; the id follows from the key."""
    task_id = ids.check_name(request.id, "task id") if request.id else ""
    if agent.is_own(task_id):
        raise ActionError(f"{task_id!r} is how the engine names a loop of the main agent: choose another id")
    if request.key and (existing := _under_key(store, task_id or task_files.id_for_key(request.key), request.key)):
        return existing
    accept = tuple(request.accept) or _of_role(store, request.role)
    spec = Spec(
        id=task_id or (task_files.id_for_key(request.key) if request.key else ids.new_id("tsk")),
        objective=request.objective,
        role=request.role,
        model=request.model,
        constraints=tuple(request.constraints),
        accept=accept,
        context=request.context,
        folder=request.folder,
        isolate=request.isolate,
        host=request.host,
        resources=tuple(request.resources),
        wu_id=request.wu_id,
        lane=request.lane,
        priority=request.priority or "P2",
        timeout_seconds=request.timeout_seconds,
        steps=request.steps,
        depends_on=tuple(checks.task_id(store, dependency) for dependency in request.depends_on),
        created_by=acting.caller().task or by,
        created_at=times.iso(now),
        order=acting.caller().order,
        key=request.key,
        budget=msgspec.convert(request.budget or Budget(), Budget),
    )
    return _queue(store, subtasks.ordered(store, _checked(store, spec)), by=by, now=now)


def _under_key(store: Store, task_id: str, key: str) -> Done | None:
    spec = _spec(store, task_id, missing_ok=True)
    if spec is None or spec.key != key:
        return None
    return Done(summary=f"task {ids.short(spec.id)} was there already under this key", target=spec.id)


def _queue(store: Store, spec: Spec, *, by: str, now: float, verb: str = "task.new") -> Done:
    text = f"task {ids.short(spec.id)} queued for {spec.role}"
    change = Change(QUEUED_KIND, spec.id, before=None, after={"queued": True})
    action = edits.new_action(verb, [change], summary=f"{text}: {one_line(spec.objective, 60)}", by=by, now=now)
    try:
        task_files.must_be_free(store.layout, spec.id)
        with journal.carrying_out(store.layout, action):
            task_files.add(store.layout, spec)
    except task_files.Taken:
        if spec.key and (existing := _under_key(store, spec.id, spec.key)):
            return existing
        raise ActionError(f"there is a task {spec.id!r} already: leave the id out or give another") from None
    later = "" if engine.runs(store) else "; no engine runs yet"
    return Done(summary=f"{text}{later}", target=spec.id, action_id=action.id)


def queued_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the task exists and was not cancelled."""
    folder = task_files.folder_of(store.layout, change.key)
    if folder is None:
        return None
    cancelled = cancelled_now(store, cancel_change(change.key))
    return None if (cancelled or {}).get("cancelled") else {"queued": True}


def may_queue(store: Store, change: Change) -> None:
    """For undo: refuse to take back a task that has ended, or to queue one again that had begun."""
    folder = task_files.folder_of(store.layout, change.key)
    if change.after is not None:
        if folder is not None:
            raise _had_begun(change.key)
        return
    status = task_files.status_of(folder) if folder else Status.LOST
    if status.ended:
        raise ActionError(f"task {ids.short(change.key)} has ended already ({status.value}): its result stays")


def _had_begun(task_id: str) -> ActionError:
    return ActionError(f"task {ids.short(task_id)} had begun and was cancelled: `task retry` starts it again")


def put_queued(store: Store, change: Change) -> str:
    """For undo: remove a task from the queue; one that has begun is cancelled. Redo puts it back in its place."""
    if change.after is not None:
        if not task_files.bring_back(store.layout, change.key):
            raise _had_begun(change.key)
        return ""
    if task_files.withdraw(store.layout, change.key):
        return ""
    may_queue(store, change)  # it may have ended at this moment
    order = acting.caller()
    engine.ask(store, "cancel", by=order.by, now=order.now, target=change.key, reason="taken back by undo")
    return "it had begun: the engine was asked to cancel it, and what it did so far stays"


def _checked(store: Store, spec: Spec) -> Spec:
    """Return the spec with every field checked; ActionError or ValueError for the first invalid one."""
    if len(spec.constraints) > _MOST_CONSTRAINTS:
        raise ActionError(f"{len(spec.constraints)} constraints are too many: {_MOST_CONSTRAINTS} at most")
    if not 0 <= spec.timeout_seconds <= 7 * times.DAY:
        raise ActionError(f"a time limit of {spec.timeout_seconds:g} s will not do: 0 (the role's own) to 7 days")
    caps = spec.budget
    if not (0 <= caps.tokens <= _MOST_CAP and 0 <= caps.usd <= _MOST_CAP and 0 <= caps.seconds <= _MOST_CAP):
        raise ActionError(f"a budget is 0 (none of its own) to {_MOST_CAP:,}: {own_words(caps)} will not do")
    if not 0 <= spec.steps <= _MOST_STEPS:
        raise ActionError(f"{spec.steps:,} steps will not do: 0 (the role's own) to {_MOST_STEPS:,}")
    return msgspec.structs.replace(
        spec,
        objective=fields.prose(plain(spec.objective), "objective").strip(),
        role=_worker_role(store, spec.role),
        model=fields.label(spec.model, "model"),
        context=fields.prose(spec.context, "context") if spec.context else "",
        constraints=tuple(fields.prose(constraint, "constraint") for constraint in spec.constraints),
        accept=acceptance.checked(spec.accept),
        wu_id=checks.known_unit(store.layout, spec.wu_id),
        lane=_lane(store, spec),
        isolate=_isolate(spec.isolate),
        host=hosts.known_host(store, spec.host),
        resources=hosts.checked_resources(spec),
        priority=fields.priority(spec.priority),
        key=fields.label(spec.key, "key"),
    )


def _of_role(store: Store, name: str) -> tuple[str, ...]:
    """Return what proves tasks of a role that do not say so themselves; a role that cannot be read is named later."""
    try:
        return load_role(store.layout, name).accept
    except (OSError, ValueError):
        return ()


def _isolate(mode: str) -> str:
    if mode and mode not in isolation.MODES:
        raise ActionError(f"isolate {mode!r} is unknown: one of {', '.join(isolation.MODES)}")
    return mode


def _lane(store: Store, spec: Spec) -> str:
    """Return the lane that is named, else that of the work unit."""
    if not spec.lane.strip():
        return places.lane_of(store.root, spec.wu_id.upper())
    return checks.lane(store.layout, spec.lane)


def _worker_role(store: Store, name: str) -> str:
    if name == agent.ROLE:
        raise ActionError(f"role {name} is the main agent's own: the engine starts it when there is news for it")
    known = checks.role_name(store.layout, name)
    with contextlib.suppress(FileNotFoundError, BadFile):  # a role that cannot be read is named when the task begins
        role = load_role(store.layout, known)
        if fetches_nothing(role, load_config(store.layout)[0].web):
            raise ActionError(
                f"role {known} can reach no page: `lumen-tui role adjust {known} --hosts docs.python.org` names hosts "
                "for it, [web] hosts in lumen.toml for all roles"
            )
    return known


def _spec(store: Store, task_id: str, *, missing_ok: bool = False) -> Spec | None:
    try:
        spec = task_files.read_spec(store.layout, task_id)
    except BadFile as error:
        raise ActionError(f"tasks/{task_id}/spec.json: {error}; fix the file") from error
    if spec is None and not missing_ok:
        raise ActionError(f"task {ids.short(task_id)} has no spec.json")
    return spec


def spec_of(store: Store, task_id: str) -> Spec:
    """Return the spec of a task that is there. ActionError where it cannot be read."""
    return _spec(store, task_id) or Spec(id=task_id, objective="")


def cancel(store: Store, request: CancelTask, *, by: str, now: float) -> Done:
    """Append to commands.jsonl; undo queues the task again."""
    full_id = checks.task_id(store, request.task_id)
    folder = task_files.folder_of(store.layout, full_id)
    status = task_files.status_of(folder) if folder else Status.LOST
    if status.ended:
        raise ActionError(
            f"task {ids.short(full_id)} has ended already ({status.value}): nothing to cancel", missing=True
        )
    agents.must_not_be_order(_spec(store, full_id))
    text = f"asked to cancel task {ids.short(full_id)}"
    below = list(subtasks.to_cancel(store.layout, full_id))
    text += f" and the {len(below)} that it ordered" if below else ""
    changes = [cancel_change(name) for name in (full_id, *below)]
    action = edits.new_action("task.cancel", changes, summary=text, by=by, now=now, reason=request.reason)
    with journal.Transaction(store.layout) as transaction:
        transaction.announce(action)
        for change in changes:
            engine.ask(store, "cancel", by=by, now=now, target=change.key, reason=request.reason, after=request.after)
            transaction.partly_done()
    later = "" if engine.runs(store) else "; no engine runs, the next one does it"
    return Done(summary=f"{text}{later}", target=full_id, action_id=action.id)


def retry(store: Store, request: RetryTask, *, by: str, now: float) -> Done:
    """Queue a new task with the spec of one that ended; `budget` replaces caps of the old one.

    The old failure leaves the attention queue.
    """
    if request.key and (existing := _under_key(store, task_files.id_for_key(request.key), request.key)):
        return existing
    full_id = checks.task_id(store, request.task_id)
    folder = task_files.folder_of(store.layout, full_id)
    status = task_files.status_of(folder) if folder else Status.LOST
    if status.alive or status.parked or status is Status.QUEUED:
        raise ActionError(f"task {ids.short(full_id)} is {status.value}: cancel it before you try it again")
    old = _spec(store, full_id) or Spec(id=full_id, objective="")
    caps = msgspec.convert({**msgspec.to_builtins(old.budget), **(request.budget or {})}, Budget)
    spec = msgspec.structs.replace(
        old,
        id=task_files.id_for_key(request.key) if request.key else ids.new_id("tsk"),
        key=fields.label(request.key, "key"),
        retry_of=full_id,
        parent="",  # whoever tries it again gives it the room that its parent may not have any more
        created_by=acting.caller().task or by,
        created_at=times.iso(now),
        order=acting.caller().order,
        budget=caps,
    )
    spec = subtasks.ordered(store, _checked(store, spec))
    queued = _queue(store, spec, by=by, now=now, verb="task.retry")
    if status in (Status.FAILED, Status.LOST):
        from lumen_tui.actions import attention  # all that can need somebody

        with contextlib.suppress(files.StoreError):  # the task is queued; the failure just stays in sight
            attention.dismiss_one(store, full_id, by=by, now=now, reason=f"tried again as {queued.target}")
    return queued


def edit(store: Store, request: EditTask, *, by: str, now: float) -> Done:
    """Replace spec.json of a task that waits; both sides of the changed fields are recorded."""
    full_id = checks.task_id(store, request.task_id)
    if not request.changes or (wrong := [name for name in request.changes if name not in EDITABLE]):
        problem = f"{wrong[0]!r} cannot be edited" if request.changes else "there is nothing to change"
        raise ActionError(f"{problem}: of {', '.join(EDITABLE)}")
    before = _spec(store, full_id) or Spec(id=full_id, objective="")
    try:
        after = _checked(store, with_fields(before, _with_whole_budget(before, request.changes)))
    except msgspec.ValidationError as error:
        raise ActionError(f"that does not fit: {config_errors.in_words(error, Spec, dict(request.changes))}") from error
    must_wait(store, full_id)
    after = msgspec.structs.replace(
        after, order=before.order and acting.caller().order
    )  # with others' words it is none
    change = Change(
        kind="task", key=full_id, before=some_fields(before, request.changes), after=some_fields(after, request.changes)
    )
    summary = f"task {ids.short(full_id)} changed: {', '.join(request.changes)}"
    action = edits.new_action("task.edit", [change], summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        put(store, after, before)
    return Done(summary=summary, target=full_id, action_id=action.id)


def _with_whole_budget(spec: Spec, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes, with the old caps added to a partial budget."""
    whole = dict(changes)
    if isinstance(caps := whole.get("budget"), Mapping):
        whole["budget"] = {**msgspec.structs.asdict(spec.budget), **caps}
    return whole


def some_fields(spec: Spec, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields of a spec as JSON values."""
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({name: getattr(spec, name) for name in names}))
    return values


def with_fields(spec: Spec, values: Mapping[str, Any]) -> Spec:
    """Return the spec with these fields changed. ValidationError where one does not fit."""
    return msgspec.convert({**msgspec.structs.asdict(spec), **values}, Spec)


def with_limits(store: Store, spec: Spec, limits: Mapping[str, Any]) -> Spec:
    """Return the spec with these limits in place of its own, all checked. ActionError for the first invalid one."""
    try:
        return _checked(store, with_fields(spec, _with_whole_budget(spec, limits)))
    except msgspec.ValidationError as error:
        raise ActionError(f"that does not fit: {config_errors.in_words(error, Spec, dict(limits))}") from error


def may_change(store: Store, change: Change) -> None:
    """For undo: refuse if the task is no longer queued; its limits can be changed until it ends."""
    if set(change.after or {}) <= LIMITS:
        folder = task_files.folder_of(store.layout, change.key)
        status = task_files.status_of(folder) if folder else Status.LOST
        if status.ended:
            raise ActionError(f"task {ids.short(change.key)} has ended already ({status.value})")
        return
    must_wait(store, change.key)


def must_wait(store: Store, task_id: str) -> None:
    """Refuse if the task is no longer queued."""
    if task_files.status_of(store.layout.task(task_id)) is not Status.QUEUED:
        raise _no_longer_queued(task_id)


def put(store: Store, spec: Spec, instead_of: Spec) -> None:
    """Replace the spec of a task that is queued, of one that has begun its limits alone. ActionError."""
    limits_alone = {
        name for name in spec.__struct_fields__ if getattr(spec, name) != getattr(instead_of, name)
    } <= LIMITS
    try:
        try:
            task_files.edit_queued(store.layout, spec, instead_of)
        except task_files.NotQueued:
            if not limits_alone:
                raise
            task_files.edit_begun(store.layout, spec, instead_of)
    except task_files.NotQueued:
        raise _no_longer_queued(spec.id) from None


def _no_longer_queued(task_id: str) -> ActionError:
    return ActionError(f"task {ids.short(task_id)} has begun or was changed meanwhile: look at it again")


def cancel_change(task_id: str) -> Change:
    """Return the change of cancelling a task."""
    return Change(kind=CANCEL_KIND, key=task_id, before={"cancelled": False}, after={"cancelled": True})


def cancelled_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the task is cancelled, or an engine will do it as soon as one runs."""
    folder = task_files.folder_of(store.layout, change.key)
    if folder is None:
        raise ActionError(f"task {change.key} is no longer there")
    ended = task_files.read_exit(folder)
    archived = folder.parent != store.layout.tasks  # and without an exit: an undo that was cut off
    is_cancelled = ended.status == Status.CANCELLED if ended else archived or _is_ending(folder)
    return {"cancelled": is_cancelled or (not ended and bool(_unanswered(store, change.key)))}


def _unanswered(store: Store, task_id: str) -> list[Command]:
    return [command for command in engine.unanswered(store, "cancel") if command.target == task_id]


def _is_ending(folder: Path) -> bool:
    """Return whether the engine has told the worker to end as cancelled."""
    stop = read_stop(folder)
    return stop is not None and stop.status == Status.CANCELLED


def may_cancel(store: Store, change: Change) -> None:
    """For undo: refuse if the task cannot be queued again; a cancel is not repeated by redo."""
    if (change.after or {}).get("cancelled"):
        raise ActionError(f"a cancel is not repeated by redo: `task cancel {change.key}` asks for it")
    folder = task_files.folder_of(store.layout, change.key)
    if folder is not None and has_worker(folder) and not _unanswered(store, change.key):
        raise _still_ending(change.key)


def _still_ending(task_id: str) -> ActionError:
    return ActionError(f"the worker of {ids.short(task_id)} is still ending: try again in a moment")


def put_cancel(store: Store, change: Change) -> None:
    """For undo: queue the task again as before; an interrupted attempt is kept beside the next."""
    engine.take_back(store, _unanswered(store, change.key))
    folder = task_files.folder_of(store.layout, change.key)
    if folder is None:
        raise ActionError(f"task {change.key} is no longer there")
    if has_worker(folder) and not _is_ending(folder):
        return  # no engine has taken the cancel up: the worker goes on
    lock = locks.try_lock(folder / "run.lock")
    if lock is None:
        raise _still_ending(change.key)
    try:
        _queue_again(store, change.key, folder)
    finally:
        os.close(lock)


def _queue_again(store: Store, task_id: str, folder: Path) -> None:
    """Put the task back into the queue. The exit is removed first: the engine never sees an ended task there."""
    for name in (STOP_FILE, "hold.json", "collected.json"):
        directories.remove(folder / name)
    if run := read_json(folder / "run.json", Run):
        directories.move(folder / "run.json", folder / f"run.{run.attempt}.json")
    directories.remove(folder / "exit.json")
    if folder.parent != store.layout.tasks:
        directories.move(folder, store.layout.task(task_id))
