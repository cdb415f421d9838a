"""The replay of a task that a real worker did, from the task's screen."""

from __future__ import annotations

import os
import time

import msgspec
from lumen_program import start_worker
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Run
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.screens.task_detail import TaskDetailScreen

NOW = 1_790_000_000.0


def done(port: RemotePort, tmp_path) -> str:
    """Have a worker list a folder, without a model."""
    (tmp_path / "data").mkdir()
    task_id = port.submit(NewTask(objective=f"What are the 5 largest files in {tmp_path / 'data'}?")).target
    folder = Layout(port.root).task(task_id)
    files.replace(folder / "run.json", msgspec.json.encode(Run(attempt=1, started_at=times.iso(time.time()))))
    start_worker(folder, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}).wait()
    return task_id


async def test_a_task_is_replayed_from_its_screen(room, port, tmp_path):
    task_id = done(port, tmp_path)
    async with room(TaskDetailScreen(port, task_id, NOW)) as (app, pilot):
        await until(pilot, lambda: "Z replay" in app.shown)
        await pilot.press("Z")
        await until(pilot, lambda: "identical: 2 decisions" in app.shown)
        assert "the folder as it is now" in app.shown
        await pilot.press("escape")
        await until(pilot, lambda: "Z replay" in app.shown)
    assert not (port.root / "replays").exists()


async def test_what_cannot_be_replayed_is_said_there(room, port, tmp_path):
    task_id = done(port, tmp_path)
    async with room(TaskDetailScreen(port, task_id, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "Z replay" in app.shown)
        (Layout(port.root).task(task_id) / "spec.json").write_bytes(b"{")
        await pilot.press("Z")
        await until(pilot, lambda: "cannot be read" in app.shown)
