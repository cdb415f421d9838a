"""A real worker asks, and is answered from the keyboard."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import text, tool
from lumen_program import Child, start_worker
from lumen_questions import asking_role, events_of

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.storage import files, locks
from lumen_tui.store import approvals

ROOT = Path(__file__).resolve().parents[3]
COMMAND = {"command": "echo made > made.txt"}
BUILDER = asking_role("shell", "write_result")


class Worker:
    """A task folder and processes on it, started as the engine does."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self.folder = root / "tasks" / "tsk-one"
        self.folder.mkdir()
        self._write("spec.json", {"id": "tsk-one", "objective": "make it", "role": "builder"})
        self._env = {"PATH": os.environ["PATH"], "HOME": str(root), "PYTHONPATH": str(ROOT), **environ}
        self.child = self._start(1)

    def _start(self, attempt: int) -> Child:
        self._write("run.json", {"attempt": attempt, "started_at": times.iso(time.time())})
        fd = locks.try_lock(self.folder / "run.lock")
        assert fd is not None
        child = start_worker(self.folder, self._env, fd)
        os.close(fd)
        return child

    def go_on(self) -> None:
        """Start the next one, as the one before has left the task to wait."""
        assert self.child.wait(20) == 3
        self.child = self._start(2)

    def _write(self, name: str, record: object) -> None:
        files.replace(self.folder / name, json.dumps(record).encode())

    @property
    def made(self) -> bool:
        return (self.folder / "files" / "made.txt").exists()

    @property
    def answers(self) -> list[str]:
        return [event["text"] for event in events_of(self.folder) if event["kind"] == "answered"]


@pytest.fixture
def worker(desk: Any, api: Any) -> Iterator[Worker]:
    desk.store.layout.role("builder").write_text(BUILDER)
    desk.port = RemotePort(desk.store.root, "ann")
    desk.clock.now = time.time
    api.say(tool("shell", **COMMAND), tool("write_result", text="done"), text("ok"))
    with ExitStack() as stack:
        started = Worker(desk.store.root, api.anthropic_env)
        stack.callback(lambda: started.child.wait())
        stack.callback(lambda: started.child.kill())
        yield started


def answered(desk: Any) -> bool:
    return not approvals.undecided(desk.store.layout)


async def test_yes_lets_it_go_on_and_cannot_be_taken_back_then(worker: Worker, desk: Any, open_room: Any) -> None:
    async with open_room(desk) as room:
        await room.sees("1 needs you")
        await room.press("n", "enter")
        await room.sees("Approval request: 1 of 1", "make it", COMMAND["command"], "it may do harm")
        await room.press("y")
        await room.until(lambda: answered(desk))
        worker.go_on()
        await room.until(lambda: worker.made)
        assert worker.answers == ["allowed by ann"]
        await room.press("u")
        await room.sees("a worker has acted on this answer already")
        await room.until(lambda: worker.child.poll() is not None)
    assert approvals.undecided(desk.store.layout) == []


async def test_no_goes_back_with_its_reason(worker: Worker, desk: Any, open_room: Any) -> None:
    async with open_room(desk, size=(80, 24)) as room:
        await room.sees("1 needs you")
        await room.press("exclamation_mark", "d")
        await room.sees("Deny")
        await room.press("r", *"later", "enter")
        await room.until(lambda: answered(desk))
        worker.go_on()
        await room.until(lambda: worker.answers)
        assert worker.answers == ["refused by ann: later"]
        await room.sees("nothing needs you")
        assert not worker.made
