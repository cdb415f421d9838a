"""Recorded work in numbers: tasks that real workers did once, and copies of their records under other names."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any

import msgspec

from lumen_tui.model.acceptance import CheckResult, Finding, judge
from lumen_tui.model.tasks import Exit, Spec
from lumen_tui.model.times import iso
from lumen_tui.model.transcript import session_id
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import claims, task_files

TESTED = ("shell", {"command": "true"})
DONE = ("write_result", {"text": "ok"})
NOW = 1_800_000_000.0


def settle(task: Any, *, proved: bool) -> None:
    """Give a task the end that its checks would have given it."""
    ended = task_files.read_exit(task.folder)
    assert ended is not None
    finding = Finding.HOLDS if proved else Finding.FAILS
    claims.settle(task.folder, ended, judge((CheckResult("command: make test", finding),), iso(NOW)), NOW)


def copied(layout: Layout, original: str, names: Iterable[str]) -> None:
    """Copy the records of a task under other ids, each of a work unit of its own."""
    folder = layout.task(original)
    spec = msgspec.json.decode((folder / "spec.json").read_bytes(), type=Spec)
    ended = msgspec.json.decode((folder / "exit.json").read_bytes(), type=Exit)
    for number, name in enumerate(names):
        other = layout.task(name)
        shutil.copytree(folder, other)
        unit = f"WU-{number + 1:03}"
        changed = msgspec.structs.replace(spec, id=name, wu_id=unit)
        (other / "spec.json").write_bytes(msgspec.json.encode(changed))
        (other / "exit.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(ended, task_id=name)))
        for attempt in range(1, ended.attempt + 1):
            transcript = layout.transcript(session_id(spec, attempt))
            if transcript.exists():
                shutil.copy(transcript, layout.transcript(session_id(changed, attempt)))
