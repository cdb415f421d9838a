"""A real state folder with questions in it, and the room over it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder
from lumen_robot import Robot as RoomRobot

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.storage import files, locks
from lumen_tui.storage.process import myself
from lumen_tui.store import approvals
from lumen_tui.tui.app import LumenApp

NOW = 1_800_000_000.0


class AttentionFolder(StateFolder):
    """A state folder, what is in it, and a port on it."""

    BY = "ann"

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()
        self.port = RemotePort(root, "ann", clock=self.clock)

    def task(self, objective: str = "ship it") -> str:
        return self.do("task.new", objective=objective, role="builder").target

    def ended(self, task_id: str, status: str = "failed", reason: str = "429, gave up", cap: str = "") -> None:
        """As a worker leaves its folder."""
        record = {
            "task_id": task_id,
            "status": status,
            "reason": reason,
            "cap": cap,
            "finished_at": times.iso(self.clock.wall - 60),
        }
        self.write(f"tasks/{task_id}/exit.json", record)

    def write(self, name: str, record: object) -> None:
        import msgspec

        files.replace(self.store.root / name, msgspec.json.encode(record))

    def ask(self, command: str = "make deploy", *, task: str = "", at: float = NOW - 300, **more: Any) -> Approval:
        """Put a question on file, as a worker does."""
        given = {"tool": "shell", "arguments": {"command": command, "cwd": "", "timeout": 120.0}, **more}
        call = call_hash(given["tool"], given["arguments"])
        task_id = task or self.task()
        request = Approval(
            id=approvals.id_for(task_id, call, 0), task_id=task_id, hash=call, asked_at=times.iso(at), role="builder",
            expires_at=times.iso(at + 3600), **{"summary": command, "rule": command, **given},
        )  # fmt: skip
        return approvals.ask(self.store.layout, request)

    def question(self, text: str = "Which port?", *options: str, task: str = "", **more: Any) -> Approval:
        """Put a question to the operator on file, as a worker does that has ended with it."""
        task_id = task or self.task()
        self.write(f"tasks/{task_id}/run.json", {"attempt": 1, "started_at": times.iso(NOW - 400)})
        asked = Approval(
            id=approvals.id_for(task_id, text, 0), task_id=task_id, tool="ask_operator", hash="00ff", role="builder",
            asked_at=times.iso(NOW - 300), expires_at=times.iso(NOW + 3300), summary=text, question=text,
            options=options, **{"default": "8080", **more},
        )  # fmt: skip
        approvals.ask(self.store.layout, asked)
        self.write(f"tasks/{task_id}/parked.json", {"attempt": 1, "question": asked.id, "at": times.iso(NOW - 300)})
        return asked

    def answer(self, request: Approval) -> Decision | None:
        return approvals.decision(self.store.layout, request.id)


class Robot(RoomRobot):
    async def rested(self) -> None:
        """Until a key may answer again."""
        await self.until(lambda: not self.app.screen.answers._rests)

    @property
    def needs(self) -> int:
        return len(self.app.room.snapshot.attention)


Open = Callable[..., AbstractAsyncContextManager[Robot]]


@pytest.fixture
def desk(tmp_path: Path) -> AttentionFolder:
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    return AttentionFolder(root)


@pytest.fixture
def driven(desk: AttentionFolder) -> Iterator[AttentionFolder]:
    """The folder with an engine on it, as far as its lock and its heartbeat say."""
    fd = locks.try_lock(desk.store.layout.engine_lock)
    assert fd is not None
    me = myself()
    times_of = {"at": times.iso(NOW), "next_at": times.iso(NOW + 100)}
    of_process = {"pid": me.pid, "boot_id": me.boot_id, "start_ticks": me.start_ticks}
    beat = {"beat": 1, "phase": "asleep", **times_of, **of_process}
    desk.write("heartbeat.json", beat)
    yield desk
    os.close(fd)


@pytest.fixture
def open_room() -> Open:
    """`async with open_room(desk) as room`: the picture is in."""

    @asynccontextmanager
    async def opened(desk: AttentionFolder, size: tuple[int, int] = (120, 40), **options: Any) -> AsyncIterator[Robot]:
        app = LumenApp(desk.port, operator="ann", clock=desk.clock.now, **options)
        async with app.run_test(size=size) as pilot:
            robot = Robot(app, pilot)
            await robot.until(lambda: app.room.snapshot.root and app.room.snapshot.loading == 1)
            yield robot

    return opened
