"""A port in memory with plenty of rows, and a robot that uses the room as a person does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lumen_robot import Robot as RoomRobot
from lumen_terminal import Terminal

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.engine.port import RemotePort, TaskDetail
from lumen_tui.model.decay import DecayForecast, DecayRule, DecayView
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Artifact, EngineEvent, Health, Heartbeat, LeftOut, LoopState, Packet, TokenBudget
from lumen_tui.model.records import Alike, DiscoveryRow, Node, Signal, SignalRow
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Attention, Need, Revisions, Snapshot, WakeState
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Spec, Status, TaskEvent, TaskView, Usage
from lumen_tui.model.times import DAY, HOUR, MINUTE, iso
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp

NOW = 1_800_000_000.0


def task(key: str, status: Status, objective: str, role: str, model: str, **more: Any) -> TaskView:
    spec = Spec(id=f"tsk-{key}", objective=objective, role=role, model=model)
    return TaskView(spec=spec, status=status, **more)


def event(ago: float, kind: str, text: str, tool: str = "") -> TaskEvent:
    return TaskEvent(at=iso(NOW - ago), kind=kind, text=text, tool=tool)


def tasks() -> tuple[TaskView, ...]:
    tail = (event(3, "call", "du -x --max-depth=1 /var/log"), event(1, "result", "14 entries; 2.1 GB in journal/"),
            event(0, "call", "write_result"))  # fmt: skip
    return (
        task("7f5x0000", Status.WAITING, "restart the index service", "builder", "sonnet", started=NOW - 80,
             last_event=NOW - 72),
        task("7f2k0000", Status.RUNNING, "disk usage of /var/log", "researcher", "haiku", started=NOW - 41, tail=tail),
        task("7f3m0000", Status.STALLED, "add retry to the fetcher", "builder", "sonnet", started=NOW - 300,
             last_event=NOW - 130),
        task("7f4p0000", Status.QUEUED, "review the retry", "reviewer", "sonnet", waits_for=("tsk-7f3m0000",)),
        task("7ee80000", Status.FAILED, "fetch the status page", "researcher", "haiku", reason="429, gave up",
             started=NOW - 400, finished=NOW - 380),
        task("7f1a0000", Status.DONE, "weekly token report", "analyst", "haiku", started=NOW - 518,
             finished=NOW - 500, usage=Usage(900, 200, 0.01)),
        task("7f0b0000", Status.DONE, "largest files in /tmp", "researcher", "haiku", started=NOW - 702,
             finished=NOW - 700),
    )  # fmt: skip


def signals() -> tuple[SignalRow, ...]:
    rows = (
        ("P0", "WU-100", "Core", "agent-a", "New validation port: ValidationService", 5 * MINUTE, True),
        ("", "WU-101", "UI", "agent-b", "80 % done, integration tests left", 22 * MINUTE, True),
        ("", "WU-101", "UI", "agent-b", "Tests written, starting integration", HOUR, True),
        ("", "", "", "engine", "Decay archived 12 nodes", 2 * HOUR, True),
        ("", "WU-042", "Core", "agent-c", "Completed validation logic", 3 * HOUR, False),
        ("", "WU-042", "Core", "agent-c", "Validation started", 5 * HOUR, False),
    )
    return tuple(
        SignalRow(
            Signal(id=f"sig-{n:08d}", message=text, created_at=iso(NOW - age), sender=sender, wu_id=wu, lane=lane,
                   priority=priority),
            unread,
        )
        for n, (priority, wu, lane, sender, text, age, unread) in enumerate(rows)
    )  # fmt: skip


def discoveries() -> tuple[DiscoveryRow, ...]:
    rows = (
        (
            "P1",
            "Race condition in session manager",
            "WU-042",
            2 * DAY,
            ("auth", "race-condition"),
            ("mem-a41x0000", 93),
        ),
        ("P1", "Refresh token is logged in clear", "WU-042", 5 * HOUR, ("auth",), None),
        ("P2", "Retry budget is per call, not per task", "WU-100", 5 * HOUR, (), None),
        ("P2", "Health page shows yesterday", "", DAY, (), None),
        ("P3", "README misses the port", "", 9 * DAY, ("docs",), None),
        ("P3", "Two ways to parse dates", "WU-098", 12 * DAY, (), None),
        ("", "Nobody reads the weekly report", "", 40 * DAY, (), None),
    )
    return tuple(
        DiscoveryRow(
            Node(id=f"mem-{n:08d}", type="discovery", content=title, created_at=iso(NOW - age), wu_id=wu, tags=tags,
                 metadata={"priority": priority, "type": "bug"}),
            NOW - age, like,
        )
        for n, (priority, title, wu, age, tags, like) in enumerate(rows)
    )  # fmt: skip


def fading() -> tuple[DecayForecast, ...]:
    rule = DecayRule()
    rows = (("API changed", 6 * HOUR), ("Token refresh is silent", 3 * DAY), ("OTel propagates better", 5 * DAY),
            ("Zod over hand checks", 7 * DAY))  # fmt: skip
    return tuple(
        DecayForecast(f"mem-9{n:07d}", title, 0.1, NOW + left, NOW + left - rule.life_days * DAY)
        for n, (title, left) in enumerate(rows)
    )


def packets() -> tuple[Packet, ...]:
    took = (60, 90, 70, 140, 130, 240, 80, 60, 110, 200, 120, 125)
    return tuple(
        Packet(id=f"pkt-{n:08d}", loop=1475 + n, started_at=iso(NOW - 300 * (12 - n)),
               completed_at=iso(NOW - 300 * (11 - n) - 240), seconds=float(seconds), done=("disk report written",),
               next=("triage 3 discoveries",), made=(Artifact("report", "", "disk-usage.md"),))
        for n, seconds in enumerate(took)
    )  # fmt: skip


WAKE = """## Made
Disk report for /var/log; nothing is over its quota. Retry in the fetcher.

## Mail and signals
Validation port is in (agent-a).

## Constraints
No network in workers until Monday.

## Next
- Triage 3 discoveries, then WU-101.
"""


def busy() -> Snapshot:
    """The room of the picture."""
    return Snapshot(
        root="/home/someone/state",
        taken=NOW,
        engine=EngineView(
            EngineLife.ALIVE,
            Heartbeat(beat=1487, phase="asleep", at=iso(NOW - 60), next_at=iso(NOW + 192), sandbox="bwrap"),
        ),
        loop=LoopState(
            loop=1486, completed_at=iso(NOW - 240), last_artifact=Artifact("report", "out/disk-usage.md"),
            health=Health("ok", "one retry on web fetch"), token_budget=TokenBudget("day", 100_000, 61_000, 39_000),
            abandoned=(LeftOut("a"), LeftOut("b")), decided_against=(LeftOut("c", "too dear"),),
        ),
        packets=packets(), wake=WakeState(WAKE, NOW - 240), tasks=tasks(), signals=signals(), unread=4,
        discoveries=discoveries(), discovery_counts={"P1": 2, "P2": 2, "P3": 2, "": 1}, fading=fading(),
        decay=DecayView(DecayRule(), 1500, 61, 4, 1204, 0, 214, (90, 80, 70, 55, 40, 30, 22, 15, 9, 5, 3, 2)),
        roles=(Role("researcher", "looks things up"), Role("builder", "changes things")), lanes=("Core", "UI"),
        spend=SpendView(0.42, 5.0, 61_000, 100_000),
        attention=(
            Attention(Need.P0_SIGNAL, "sig-00000000", "P0 signal from agent-a"),
            Attention(Need.FAILED, "tsk-7ee80000", "task 7ee8 failed: 429"),
            Attention(Need.STALLED, "tsk-7f3m0000", "task 7f3m is silent"),
        ),
        revisions=Revisions(1, 1, 1, 1, 1, 1, 1, 1),
    )  # fmt: skip


class MemoryPort:
    """A port without a disk: answers with what it was given and notes what it was asked."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.now_shown = snapshot
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refusal = ""
        self.taken = -1  # the newest change that the room's thread has handed over
        self.changed = 0
        self._news = threading.Event()

    def snapshot(self) -> Snapshot:
        return self.now_shown

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        while not stop.is_set():
            self._news.clear()
            newest = self.changed
            yield self.now_shown
            self.taken = newest
            while not stop.is_set() and not self._news.wait(0.02):
                pass

    def submit(self, request: Request) -> Done:
        if self.refusal:
            raise ActionError(self.refusal)
        given = msgspec.to_builtins(request)
        self.asked.append((given.pop("verb"), given))
        return Done(f"{request.verb} done")

    def task_detail(self, task_id: str) -> TaskDetail:
        view = next(view for view in self.now_shown.tasks if view.id == task_id)
        return TaskDetail(view, view.tail, "the result")

    def events(self, limit: int) -> list[EngineEvent]:
        return []

    def node(self, node_id: str) -> Node:
        found = [row.node for row in self.now_shown.discoveries if row.node.id == node_id]
        if not found:
            raise ActionError(f"there is no node {node_id}", missing=True)
        return found[0]

    def provenance(self, node_id: str) -> tuple[str, ...]:
        return ()

    def like(self, node_id: str) -> tuple[str, int] | None:
        return None

    def similar(self, node_id: str) -> list[Alike]:
        return []

    def decay_at(self, rule: DecayRule, now: float) -> tuple[DecayView, Sequence[DecayForecast]]:
        due = sum(row.touched < now - rule.life_days * DAY for row in self.now_shown.fading)
        return msgspec.structs.replace(self.now_shown.decay, rule=rule, due=due), self.now_shown.fading

    def undoable(self) -> str:
        return ""

    def recent_reasons(self, verb: str) -> tuple[str, ...]:
        return ()

    def change(self, **changes: Any) -> None:
        """Show something else from now on."""
        moved = Revisions(*(value + 1 for value in msgspec.structs.astuple(self.now_shown.revisions)))
        self.now_shown = msgspec.structs.replace(self.now_shown, revisions=moved, **changes)
        self.changed += 1
        self._news.set()


class PaneRobot:
    """One pane, as a person sees it."""

    def __init__(self, robot: Robot, scope: str) -> None:
        self._robot = robot
        self._pane = robot.app.room.pane(scope)

    def focus(self) -> PaneRobot:
        self._robot.app.room.go_to(self._pane)
        return self

    async def press(self, *keys: str) -> PaneRobot:
        await self._robot.press(*keys)
        return self

    @property
    def text(self) -> str:
        return self._robot.region_text(self._pane.region)

    @property
    def marked(self) -> Sequence[str]:
        assert self._pane.rows is not None
        return list(self._pane.rows.marks.keys)


class Robot(RoomRobot):
    """Knows panes, and a port in memory."""

    def __init__(self, app: LumenApp, pilot: Any, port: Any) -> None:
        super().__init__(app, pilot)
        self.port = port

    def pane(self, scope: str) -> PaneRobot:
        return PaneRobot(self, scope)

    async def settle(self) -> None:
        """Until the room shows what a port in memory last had, and has nothing in hand."""
        if isinstance(self.port, MemoryPort):
            await self.until(lambda: self.port.taken == self.port.changed)
        await super().settle()

    @property
    def header(self) -> str:
        return self.lines[0]

    @property
    def footer(self) -> str:
        return self.lines[-1]

    def region_text(self, region: Any) -> str:
        return "\n".join(line[region.x : region.right] for line in self.lines[region.y : region.bottom])


@asynccontextmanager
async def opened(
    snapshot: Snapshot | None = None, size: tuple[int, int] = (120, 40), port: Any = None, **options: Any
) -> AsyncIterator[Robot]:
    port = port or MemoryPort(snapshot or busy())
    app = LumenApp(port, operator="someone", clock=lambda: NOW, **options)
    async with app.run_test(size=size) as pilot:
        robot = Robot(app, pilot, port)
        await robot.settle()
        yield robot


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours, in the place of an engine."""
    with subprocess.Popen([sys.executable, "-c", ""]) as started:
        yield started


@pytest.fixture
def open_room() -> Any:
    """`async with open_room(size=(80, 24)) as room: ...`"""
    return opened


@pytest.fixture
def busy_snapshot() -> Snapshot:
    """The room of the picture: rows in every pane."""
    return busy()


@pytest.fixture
def empty_snapshot() -> Snapshot:
    """A state folder on its first day."""
    return Snapshot(root="/home/someone/state", taken=NOW)


@pytest.fixture
def frozen_room() -> Any:
    """Makes a room that shows one snapshot under a clock that stands still."""

    def make(snapshot: Snapshot, **options: Any) -> LumenApp:
        return LumenApp(MemoryPort(snapshot), operator="someone", clock=lambda: NOW, **options)

    return make


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A real state folder with a few rows in it."""
    root = tmp_path / "state"
    Layout(root).create()
    port = RemotePort(root, "me")
    for number in range(4):
        port.submit(CreateNode(content=f"something noticed, number {number}", priority="P2"))
        port.submit(SendSignal(message=f"a note, number {number}"))
    return root


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for terminal in made:
        os.close(terminal.fd)
