"""Settings, roles, work units, sessions, tasks, the engine, and the derived files of index/."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.engine.doctor.finding import NOTE, PROBLEM, Finding
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.liveness import derive_engine
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.session import WorkSession
from lumen_tui.model.snapshot import EngineLife, Problem
from lumen_tui.model.tasks import Status
from lumen_tui.storage import directories, files, lease, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.process import ProcessId
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.store.tasks.task_index import TaskIndex
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work.work_units import list_units

_SQLITE = b"SQLite format 3\x00"


def documents(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report problems in what a person writes: settings, roles, work units, sessions."""
    yield from _as_findings("settings", load_config(layout)[1])
    yield from _as_findings("roles", list_roles(layout)[2])
    yield from _as_findings("work units", list_units(layout)[1])
    for path in sorted(layout.root.glob("sessions/[!.]*.json")):
        try:
            msgspec.json.decode(files.read(path) or b"", type=WorkSession)
        except (*UNDECODABLE, files.StoreError) as error:
            yield Finding("sessions", f"sessions/{path.name}", str(error), "mend the file or move it away")


def _as_findings(check: str, problems: Iterable[Problem]) -> Iterator[Finding]:
    for problem in problems:
        yield Finding(check, problem.where, problem.what, problem.hint or "mend the file")


def tasks(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report task folders that cannot be used, and workers that are lost."""
    index = TaskIndex(layout)
    index.refresh(now, {})
    yield from _as_findings("tasks", index.problems.values())
    driven = lease.is_held(layout)
    for view in index.live():
        if view.status is Status.LOST:
            hint = "the engine takes it up" if driven else "the next engine takes it up"
            yield Finding("tasks", f"tasks/{view.spec.id}", "its worker is gone without a word", hint, NOTE)


def engine(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report where the lock, the heartbeat and the process disagree."""
    beat = read_json(layout.heartbeat, Heartbeat)
    if layout.heartbeat.exists() and beat is None:
        yield Finding("engine", "heartbeat.json", "cannot be read", "the next beat writes it anew", NOTE)
    held = lease.is_held(layout)
    if beat is None:
        return
    recorded = ProcessId(beat.pid, beat.start_ticks, beat.boot_id)
    if not held and beat.phase != "stopped":
        alive = process.is_same(recorded)
        fault = (
            f"nobody holds the lock; {'its process lives all the same' if alive else 'the engine ended without a word'}"
        )
        hint = f"end process {beat.pid}, then start an engine" if alive else "the next engine recovers"
        yield Finding("engine", "heartbeat.json", fault, hint, PROBLEM if alive else NOTE)
    if not held:
        return
    holder = lease.read_lease(layout)
    if holder.epoch > beat.epoch > 0 or (holder.pid and beat.pid and holder.pid != beat.pid):
        fault = f"process {holder.pid} holds the lock, the heartbeat is of process {beat.pid}"
        yield Finding("engine", "engine.lock", fault, "wait for a beat; if it stays, stop that process")
    view = derive_engine(lock_held=True, heartbeat=beat, process_state=process.state_letter(beat.pid), now=now)
    if view.life in (EngineLife.LATE, EngineLife.HUNG):
        yield Finding("engine", "heartbeat.json", f"{view.life.value}: {view.why}", "stop it and start another")


def indexes(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report derived files that are not what their name says; they are made again when missing."""
    for path in sorted(layout.index.glob("[!.]*")):
        try:
            fault = _why_bad(path)
        except (files.StoreError, OSError) as error:
            yield Finding("index", f"index/{path.name}", str(error))
            continue
        if fault:
            if fix:
                directories.remove(path)
            mended = "removed; it is made anew" if fix else ""
            yield Finding("index", f"index/{path.name}", fault, mendable=True, mended=mended)


def _why_bad(path: Path) -> str:
    if path.suffix == ".json":
        try:
            msgspec.json.decode(files.read(path) or b"")
        except UNDECODABLE as error:
            return f"is not JSON: {error}"
    if path.suffix == ".db" and (head := files.read(path, len(_SQLITE))) and head != _SQLITE:
        return "is not a database"
    return ""
