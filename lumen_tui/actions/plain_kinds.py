"""Kinds of changes whose sides are files of work units, roles and tasks, or the journal of actions alone."""

from __future__ import annotations

from lumen_tui.actions import tasks, work
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.records import Change
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.store.settings import roles
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work.work_units import retire_unit


def work_now(store: Store, change: Change) -> Side | None:
    return work.unit_side(store.layout, change.key)


def may_work(store: Store, change: Change) -> None:
    if change.after is None:
        work.must_be_unused(store, change.key)
    elif work.retired_side(store.layout, change.key) != change.after:
        raise ActionError(f"work/retired/{change.key}.md is gone or was changed: nothing was done")


def put_work(store: Store, change: Change) -> None:
    may_work(store, change)
    if change.after is None:
        retire_unit(store.layout, change.key)
    else:
        work.bring_back(store.layout, change.key)


def role_now(store: Store, change: Change) -> Side | None:
    return dict(roles.role_texts(store.layout, change.key))


def put_role(store: Store, change: Change) -> None:
    roles.put_role_texts(store.layout, change.key, change.after or {"hired": None, "retired": None})


def _spec(store: Store, change: Change) -> Spec:
    spec = task_files.read_spec(store.layout, change.key)
    if spec is None:
        raise ActionError(f"task {change.key} is no longer there")
    return spec


def task_now(store: Store, change: Change) -> Side | None:
    return tasks.some_fields(_spec(store, change), change.before or ())


def put_task(store: Store, change: Change) -> None:
    spec = _spec(store, change)
    tasks.put(store, tasks.with_fields(spec, change.after or {}), spec)


def noted(_: Store, change: Change) -> Side | None:
    """Return the change's `before`: such a change exists in the journal of actions alone, and so does its undo."""
    return change.before
