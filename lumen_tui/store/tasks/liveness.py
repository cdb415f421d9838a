"""Polling of a live task: what changed in its folder, and what the evidence says about its worker now."""

from __future__ import annotations

import os
from pathlib import Path

from lumen_tui.model import times
from lumen_tui.model.liveness import ASKS, WAIT, WorkerEvidence, derive_worker, wait_until
from lumen_tui.model.tasks import Exit, Run, Status, TaskEvent, derive_status
from lumen_tui.model.text import safe
from lumen_tui.storage import files, process
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.task_records import (
    CLAIM_FILE,
    DamagedTask,
    TaskFiles,
    has_worker,
    make_view,
    parked_status,
    read_json,
    read_spec,
    tail_events,
)

_WAIT_EVENTS = 100_000
_WAIT_BYTES = 16 * 1024 * 1024
_CHECKED_NEXT = "its worker is finished; what proves it is checked next"
_CHECKED = "its worker is finished; what proves it is being checked"
TICK = 0.1  # seconds within which a file system may give two changes the same stamp


def poll(task: TaskFiles, now: float, running: float, stall_after: float) -> bool:
    """Read what changed; return whether the view of the task is another now.

    `now` is wall time, `running` the time by which silence is measured; `stall_after` is in seconds.
    """
    _read_changes(task, now, running)
    ran = task.exit is None and task.run is not None
    held = ran and has_worker(task.folder)
    if ran and not held:  # it may have ended between the two checks
        task.claim = read_json(task.folder / CLAIM_FILE, Exit)
        task.exit = read_json(task.folder / "exit.json", Exit)
    ended = task.exit.status if task.exit else ""
    gone = task.run is not None and not held and not ended
    parked = parked_status(task.folder, task.run.attempt) if gone and task.run else None
    status = derive_status(
        exit_status=ended, ran=task.run is not None, lock_held=held, claimed=task.claimed, parked=parked
    )
    reason = _CHECKED_NEXT if task.claimed else ""
    if status.parked and task.tail:
        reason = task.tail[-1].text
    if status is Status.RUNNING:
        evidence = _evidence(task, now, running, stall_after)
        if evidence.gone and not has_worker(task.folder):
            return poll(task, now, running, stall_after)  # it ended between the two checks
        status, worker_reason = derive_worker(evidence)
        reason = worker_reason or (_CHECKED if task.claimed else "")
    view = make_view(task, status, reason=safe(reason))
    if view == task.view:
        return False
    task.view = view
    return True


def _evidence(task: TaskFiles, now: float, running: float, stall_after: float) -> WorkerEvidence:
    leader = task.leader
    last = task.tail[-1] if task.tail else None
    return WorkerEvidence(
        pid=leader.pid,
        state=process.state_of(leader),
        silent_for=running - task.heard,
        stall_after=stall_after,
        now=now,
        waits=last.text if last and last.kind in (WAIT, ASKS) else "",
        asks=last is not None and last.kind == ASKS,
        wait_until=wait_until(last),
        last=f"{last.kind} {last.tool}".strip() if last else "",
        last_at=task.last_event,
        held=task.hold.words if task.hold and not task.hold.over(now) else "",
    )


def _read_changes(task: TaskFiles, now: float, running: float) -> None:
    """Read new files by the folder's stamp, new events by the size of events.jsonl; nothing without a change."""
    try:
        stamp = (os.stat(task.folder).st_mtime_ns, os.stat(task.folder / "spec.json").st_mtime_ns)
    except OSError:
        return
    known = task.stamp
    was_fresh = task.fresh
    if stamp != known or was_fresh:
        task.stamp = stamp
        task.fresh = now - max(stamp) / 1e9 < TICK
        if known != (0, 0):
            _reread(task)
        _take_run(task, read_json(task.folder / "run.json", Run), now, running)
        task.exit = read_json(task.folder / "exit.json", Exit)
        task.claim = read_json(task.folder / CLAIM_FILE, Exit)
        task.hold = pauses.held(task.folder)
    size = _size(task.folder / "events.jsonl")
    if size != task.events_size:
        task.events_size = size
        task.tail = tail_events(task.folder)
        first = task.last_event == 0.0
        task.last_event = times.epoch(task.tail[-1].at) if task.tail else 0.0
        task.heard = _heard(task, now, running) if first else running


def _take_run(task: TaskFiles, run: Run | None, now: float, running: float) -> None:
    is_new = run is not None and (task.run is None or task.run.attempt != run.attempt)
    task.run = run
    if is_new:
        task.heard = _heard(task, now, running)


def _heard(task: TaskFiles, now: float, running: float) -> float:
    """Return when a task that is first seen now was last heard of, in running time, estimated by the wall clock."""
    return running - max(0.0, now - max(task.last_event, task.started))


def _reread(task: TaskFiles) -> None:
    try:
        task.spec = read_spec(task.folder)
    except (DamagedTask, files.StoreError, OSError):
        pass  # the last readable spec stays in force


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def waits_untimed(event: TaskEvent | None) -> bool:
    """Return whether an event says that its worker waits for a person, or for tasks that it ordered."""
    if event is None:
        return False
    return event.kind == ASKS or (event.kind == WAIT and (event.data.get("person") is True or "tasks" in event.data))


def died_waiting(folder: Path) -> int:
    """Count the attempts whose last event is that they wait for a person, or for tasks that they ordered."""
    last = {event.attempt: event for event in tail_events(folder, _WAIT_EVENTS, _WAIT_BYTES)}
    return sum(waits_untimed(event) for event in last.values())


def waited(folder: Path, attempt: int, now: float) -> float:
    """Return for how many seconds an attempt has waited so: time that does not count against its limit."""
    total = 0.0
    since = 0.0
    for event in tail_events(folder, _WAIT_EVENTS, _WAIT_BYTES):
        if event.attempt != attempt:
            continue
        at = times.epoch(event.at)
        total += max(0.0, at - since) if since else 0.0
        since = at if waits_untimed(event) else 0.0
    return total + (max(0.0, now - since) if since else 0.0)
