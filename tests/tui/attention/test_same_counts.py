"""The frame of the workers' pane, `status` and `task list` count the same tasks and call them the same."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from lumen_tui.__main__ import main
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.tasks import STATES, Run, TaskEvent
from lumen_tui.model.times import iso
from lumen_tui.storage import files, lease, locks
from lumen_tui.storage.process import boot_id

NOW = 1_800_000_000.0
QUEUED = 320  # more than a pane looks through


@pytest.fixture
def busy(desk: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One of each, two that run, a queue, and one that failed and was dealt with."""
    with ExitStack() as locked:
        for name, age, kind, data in (
            ("asks", 0, "waiting", {"approval": "apr-1"}), ("room", 0, "waiting", {"budget": True}),
            ("run-1", 0, "call", {}), ("run-2", 0, "call", {}), ("silent", 86400, "call", {}),
        ):  # fmt: skip
            begun(desk, locked, f"tsk-{name}", NOW - age, TaskEvent(iso(NOW - age), kind, "x", data=data))
        for number in range(QUEUED):
            spec(desk, f"tsk-{number:04d}")
        for name in ("tsk-new", "tsk-old"):
            spec(desk, name)
            desk.ended(name)
        month = desk.store.layout.archive / "2026" / "12"
        month.mkdir(parents=True)
        os.rename(desk.store.layout.task("tsk-old"), month / "tsk-old")
        monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
        monkeypatch.setattr("time.time", lambda: NOW)
        yield desk


def spec(desk: Any, name: str) -> None:
    desk.store.layout.task(name).mkdir(parents=True)
    desk.write(f"tasks/{name}/spec.json", {"id": name, "objective": "o", "created_at": iso(NOW - 90000)})


def begun(desk: Any, locked: ExitStack, name: str, at: float, event: TaskEvent) -> None:
    """A task whose lock somebody holds."""
    spec(desk, name)
    folder = desk.store.layout.task(name)
    fd = locks.try_lock(folder / "run.lock")
    assert fd is not None
    locked.callback(os.close, fd)
    desk.write(f"tasks/{name}/run.json", Run(1, iso(at)))
    files.append(folder / "events.jsonl", msgspec.json.encode(event) + b"\n")


async def test_the_pane_the_status_and_the_list_say_the_same(busy: Any, open_room: Any, capsys: Any) -> None:
    said = f"1 waiting · 2 running · 1 stalled · 1 for budget · {QUEUED} queued · 1 failed"
    main(["status"])
    assert f" · {said} · 0 unread" in capsys.readouterr().out
    main(["status", "--json"])
    counted = json.loads(capsys.readouterr().out)
    main(["task", "list", "--all"])
    states = Counter(re.split("  +", line)[1] for line in capsys.readouterr().out.splitlines())
    wanted = {"waiting": 1, "running": 2, "stalled": 1, "for budget": 1, "for tasks": 0, "queued": QUEUED}
    wanted |= {"failed": 1, "lost": 0}
    assert {state: counted[name] for state, name in STATES.items()} == wanted
    assert {state: states[state] for state in STATES} == {**wanted, "failed": 2}, "with the archived one"
    async with open_room(busy, size=(200, 50)) as room:
        await room.sees(said)


def test_status_says_running_and_queued_also_of_none(desk: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
    main(["status"])
    assert "DOWN no engine (no engine has run here yet) · 0 running · 0 queued · 0 unread" in capsys.readouterr().out


async def test_a_state_folder_that_is_gone_is_no_calm_room(
    desk: Any, open_room: Any, monkeypatch: Any, capsys: Any
) -> None:
    async with open_room(desk) as room:
        await room.sees("nothing needs you")
        desk.store.root.rename(desk.store.root.with_name("elsewhere"))
        await room.until(lambda: room.needs == 1)
        await room.sees("DOWN no state folder", "1 needs you")


def test_the_state_of_the_agent_is_the_same_word_in_the_shell(desk: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
    desk.do("kill", reason="a drill")
    main(["status", "--json"])
    said = json.loads(capsys.readouterr().out)["agent"]
    assert (said["state"], said["reason"]) == ("DOWN", "no engine has run here yet")


def test_a_machine_that_slept_makes_no_engine_late_in_the_shell(desk: Any, monkeypatch: Any, capsys: Any) -> None:
    """As in the room, nobody is woken for a beat that comes now."""
    monkeypatch.setenv("LUMEN_STATE", str(desk.store.root))
    ran, awake = time.clock_gettime(time.CLOCK_BOOTTIME) - 7200, time.monotonic() - 10
    desk.write(
        "heartbeat.json",
        Heartbeat(
            beat=7, at=iso(time.time() - 7200), next_at=iso(time.time() - 6900), next_in=300.0,
            running=ran, awake=awake, phase="asleep", boot_id=boot_id(), pid=os.getpid(),
        ),
    )  # fmt: skip
    held = lease.take_lease(desk.store.layout)
    assert held is not None
    main(["status"])
    assert capsys.readouterr().out.startswith("IDLE · 0 running")
    assert main(["status", "-q"]) == 0
    held.release()
