"""What leaves the state folder: a backup of 10,000 work units while it is in use, spans of 1,000 ended tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.table import Row
from lumen_tui.engine.traces import TraceExporter
from lumen_tui.model.loop import TASK_ENDED, EngineEvent
from lumen_tui.model.outward_config import TracesConfig
from lumen_tui.model.tasks import Exit, Spec, TaskEvent
from lumen_tui.storage import directories, files
from lumen_tui.storage.backup import write_backup
from lumen_tui.storage.journal import Journal, encode
from lumen_tui.storage.layout import Layout

UNITS, TASKS, CALLS = 10_000, 1000, 10
_AT = "2026-11-21T10:00:00.000Z"
_UNIT = b'+++\ntitle = "One of many"\nlane = "Core"\n+++\n' + 40 * b"What is known of it so far. "


def measure(folder: Path) -> Iterator[Row]:
    """Time both on folders of their own."""
    yield from _backup(folder)
    yield _traces(folder)


def _backup(folder: Path) -> Iterator[Row]:
    layout = Layout(folder / "backup-state")
    layout.create()
    for number in range(UNITS):
        path = layout.work_unit(f"WU-{number:05d}")
        files.take_place(
            files.write_sibling(path, lambda fd: files.write_all(fd, _UNIT), durable=False), path, durable=False
        )
    Journal(layout.signals).append_all({"id": f"sig-{number:013d}", "message": "a signal"} for number in range(100_000))
    began = time.process_time()
    manifest = write_backup(layout, str(folder / "backup.tar.gz"), (), 1.0)
    took = time.process_time() - began
    yield Row("P7", f"CPU of a backup of {UNITS:,} work units, 100,000 signals", 1000 * took)
    yield Row("P7", "for which writers of journals waited meanwhile", manifest.held_ms, goal=1000)


def _traces(folder: Path) -> Row:
    layout = Layout(folder / "traces-state")
    layout.create()
    events = [TaskEvent(_AT, kind, tool="shell") for _ in range(CALLS) for kind in ("call", "result")]
    lines = b"".join(map(encode, events))
    for number in range(TASKS):
        task = f"tsk-{number:013d}"
        directories.make_folder(layout.task(task))
        files.replace(
            layout.task(task) / "spec.json", msgspec.json.encode(Spec(id=task, objective="o", role="builder"))
        )
        files.replace(layout.task(task) / "exit.json", msgspec.json.encode(Exit(task, "done", _AT)))
        files.append(layout.task(task) / "events.jsonl", lines, durable=False)
        Journal(layout.events).append(EngineEvent(number + 1, _AT, TASK_ENDED, task_id=task))
    exporter, began, sent = TraceExporter(layout, TracesConfig()), time.process_time(), 0
    while (batch := exporter.batch()).spans:
        sent += len(batch.spans)
        files.replace(layout.traces, msgspec.json.encode(batch.cursor))
    took = time.process_time() - began
    return Row("Q7", f"CPU of {sent // TASKS} spans of an ended task", 1000 * took / TASKS, goal=5)
