"""Hosts: cordoned, drained, taken back, removed. This is what the operator wants, and the link does it."""

from __future__ import annotations

import msgspec

from lumen_tui.actions import checks, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.hosting import ANY, HostEntry, resources_of
from lumen_tui.model.records import Change
from lumen_tui.model.requests.hosts import CordonHost, DrainHost, RemoveHost, UncordonHost
from lumen_tui.model.tasks import ALIVE, Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings import hosts
from lumen_tui.store.tasks.task_index import TaskIndex

KIND = "host"  # of a change


def cordon(store: Store, request: CordonHost, *, by: str, now: float) -> Done:
    """Write why nothing begins there; a reason that is given again replaces the one before."""
    words = _words(request.reason, by, "cordoned")
    return _change(store, request.name, "host.cordon", f"host {request.name} {words}", by, now, cordon=words)


def drain(store: Store, request: DrainHost, *, by: str, now: float) -> Done:
    """Write that nothing begins there, and that it leaves then."""
    words = _words(request.reason, by, "drained")
    summary = f"host {request.name} {words}: it leaves once nothing runs there"
    return _change(store, request.name, "host.drain", summary, by, now, cordon=words, leaves=True)


def uncordon(store: Store, request: UncordonHost, *, by: str, now: float) -> Done:
    """Take the reason away."""
    if not _entry(store, request.name).cordon:
        raise ActionError(f"host {request.name} is not cordoned", missing=True)
    summary = f"host {request.name} takes tasks again"
    return _change(store, request.name, "host.uncordon", summary, by, now, cordon="", leaves=False)


def remove(store: Store, request: RemoveHost, *, by: str, now: float) -> Done:
    """Take a host out of the registry, unless a task runs there."""
    entry = _entry(store, request.name)
    index = TaskIndex(store.layout)
    index.refresh(now, {})
    if at_work := [view.id for view in index.of_status(ALIVE) if view.host == entry.name]:
        raise ActionError(f"host {entry.name} has {len(at_work)} at work: `hosts drain {entry.name}` first")
    change = Change(KIND, entry.name, before=msgspec.to_builtins(entry), after=None)
    return _record(store, change, "host.remove", f"host {entry.name} removed", by, now)


def _words(reason: str, by: str, what: str) -> str:
    return f"{what} by {by}" + (f": {checks.reason(reason)}" if reason else "")


def _entry(store: Store, name: str) -> HostEntry:
    known = {entry.name: entry for entry in hosts.entries(store.layout)}
    if name not in known:
        raise ActionError(f"there is no host {one_line(name, 60)!r}: `hosts list` names them", missing=True)
    return known[name]


def _change(store: Store, name: str, verb: str, summary: str, by: str, now: float, **fields: object) -> Done:
    before = _entry(store, name)
    sides = (msgspec.to_builtins(entry) for entry in (before, msgspec.structs.replace(before, **fields)))
    return _record(store, Change(KIND, name, *sides), verb, summary, by, now)


def _record(store: Store, change: Change, verb: str, summary: str, by: str, now: float) -> Done:
    action = edits.new_action(verb, [change], summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        put_host(store, change)
    return Done(summary=summary, target=change.key, action_id=action.id)


def host_now(store: Store, change: Change) -> Side | None:
    """For undo: the entry of the host."""
    known = {entry.name: entry for entry in hosts.entries(store.layout)}
    entry = known.get(change.key)
    side: Side | None = None if entry is None else msgspec.to_builtins(entry)
    return side


def put_host(store: Store, change: Change) -> None:
    """For undo: put the entry as it was."""
    entry = None if change.after is None else msgspec.convert(change.after, HostEntry)
    hosts.change(store.layout, change.key, lambda _: entry)


def known_host(store: Store, name: str) -> str:
    """Return the name of a registered host, or `any`; empty stays empty. ActionError."""
    return name if name in ("", ANY) else _entry(store, name).name


def checked_resources(spec: Spec) -> tuple[str, ...]:
    """Return what a task takes of its host, each resource once. ActionError, ValueError."""
    if spec.resources and not spec.host:
        raise ActionError("resources are those of a host: name one, or `any`, with --host")
    return tuple(f"{name}={count}" for name, count in resources_of(spec.resources).items())
