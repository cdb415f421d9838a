"""A state folder filled within seconds by really running the verbs, the engine and workers on playbooks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from lumen_tui.actions.registry import perform
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.model.times import DAY, HOUR, MINUTE, iso
from lumen_tui.storage import directories, files
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

_CONFIG = """[heartbeat]
every_minutes = 2
settle_seconds = 1

[room]
on_quit = "stop"
"""

_UNITS = (
    ("WU-042", "Sessions survive a restart", "Core", "P1"),
    ("WU-100", "One port for validation", "Core", "P2"),
    ("WU-101", "Settings page", "UI", "P2"),
)
_DISCOVERIES = (
    ("Race condition in the session manager when two agents start at once", "bug", "P1", "WU-042", 2 * DAY),
    ("Refresh token is logged in clear", "bug", "P1", "WU-042", 5 * HOUR),
    ("Race condition in session manager on parallel start", "bug", "P2", "", 3 * HOUR),
    ("Retry budget is per call, not per task", "idea", "P2", "WU-100", 9 * HOUR),
    ("Health page shows yesterday's figures", "bug", "P2", "", 1 * DAY),
    ("README misses the port", "idea", "P3", "", 9 * DAY),
    ("Two ways to parse dates", "question", "P3", "WU-101", 12 * DAY),
)
_SIGNALS = (
    ("Validation started", "agent-c", "WU-042", "Core", "", 5 * HOUR),
    ("Completed validation logic", "agent-c", "WU-042", "Core", "", 3 * HOUR),
    ("Tests written, starting integration", "agent-b", "WU-101", "UI", "", 1 * HOUR),
    ("80 % done, integration tests left", "agent-b", "WU-101", "UI", "", 22 * MINUTE),
    ("New validation port: ValidationService; WU-101 must rebase", "agent-a", "WU-100", "Core", "P0",
     5 * MINUTE),
)  # fmt: skip
_NOTES = (
    ("The API of the settings page changed", 99.4), ("Token refresh is silent", 96.5),
    ("OTel propagates better through headers", 94.6), ("Zod over hand-written checks", 92.8),
    ("The build needs 4 GB", 60.0), ("Retries double the wait", 45.0), ("Locale tests need C.UTF-8", 30.0),
    ("Staging runs on the new kernel", 21.0), ("Cache keys carry the version", 14.0), ("Use the bulk endpoint", 7.0),
    ("Lane Core waits for the port", 3.0), ("Two reviewers for auth", 0.5),
)  # fmt: skip


def fill(root: Path) -> None:
    """Make the state folder and fill it; a project to look at is made beside it."""
    layout, now = Layout(root), SystemClock().now()
    layout.create()
    files.replace(layout.config, _CONFIG.encode())
    files.replace(layout.demo_mark, msgspec.json.encode({"made_at": iso(now)}))
    project = _project(root.parent / "project")
    store = Store(root)
    _memory(store, now)
    _tasks(store, project, now)
    asyncio.run(_run(root))
    _do(store, NewTask(objective="What are the 8 largest files in /usr?"), now)
    _do(store, NewTask(objective=f"Find errors in {project / 'log'}", role="analyst", priority="P1"), now)


def _do(store: Store, request: Request, when: float, by: str = "operator") -> str:
    return perform(store, request, by=by, now=when).target


def _memory(store: Store, now: float) -> None:
    for wu_id, title, lane, priority in _UNITS:
        _do(store, NewWorkUnit(id=wu_id, title=title, lane=lane, priority=priority), now - 14 * DAY)
    for content, alias, priority, wu_id, age in _DISCOVERIES:
        _do(store, CreateNode(content=content, type=alias, priority=priority, wu_id=wu_id), now - age)
    for content, days in _NOTES:
        _do(store, CreateNode(content=content, type="note"), now - days * DAY)
    for message, sender, wu_id, lane, priority, age in _SIGNALS:
        request = SendSignal(message=message, wu_id=wu_id, lane=lane, priority=priority)
        _do(store, request, now - age, by=sender)


def _tasks(store: Store, project: Path, now: float) -> None:
    _do(store, NewTask(objective=f"What are the 5 largest files in {project}?"), now)
    _do(store, NewTask(objective=f"Find errors in {project / 'log'}", role="analyst"), now)
    _do(store, NewTask(objective=f"Count lines and files in {project / 'src'}", role="reviewer"), now)
    _do(store, NewTask(objective=f"Disk usage of {project}", model="haiku"), now)
    _do(store, NewTask(objective="Write a poem about the fetcher", role="builder"), now)


async def _run(root: Path) -> None:
    """Beat until all is done. A signal ends this process at once: who clears up is another one."""
    await Runner(Engine.open(root), RunOptions(until_idle=True, beats=12, signals=False)).run()


def _project(folder: Path) -> Path:
    """Make a small project for the workers to look at."""
    for name in ("log", "src", "data"):
        directories.make_folder(folder / name)
    lines = [f"2026-11-20T10:{i // 60:02d}:{i % 60:02d}Z INFO request {i} served in {i % 37} ms" for i in range(900)]
    lines[120] = "2026-11-20T10:02:00Z ERROR fetcher: connection reset by peer (attempt 1 of 3)"
    lines[480] = "2026-11-20T10:08:00Z ERROR fetcher: 429 Too Many Requests, giving up"
    files.replace(folder / "log" / "app.log", "\n".join(lines).encode() + b"\n")
    for index, size in enumerate((2_400_000, 910_000, 305_000, 77_000, 12_500)):
        files.replace(folder / "data" / f"part-{index}.bin", bytes(size))
    for index in range(6):
        source = "".join(f"def step_{line}() -> int:\n    return {line}\n\n\n" for line in range(10 * (index + 1)))
        files.replace(folder / "src" / f"module_{index}.py", source.encode())
    return folder
