"""`--demo`: a throw-away state folder, filled by really running the verbs, the engine and its workers."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

import msgspec

from lumen_tui.actions.registry import perform
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.engine.supervisor import workers
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.requests.work import NewWorkUnit
from lumen_tui.model.tasks import Run
from lumen_tui.model.times import DAY, HOUR, MINUTE, iso
from lumen_tui.storage import directories, files, lease, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import has_worker, read_json

_PREFIX = "lumen-demo-"
_LOOK_SECONDS, _LOOKS = 0.05, 100  # at an engine that is ending

_CONFIG = """# A demo: thrown away when you are done with it.
[heartbeat]
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


def make_folder() -> Path:
    """Make a new throw-away folder; return where the state folder is going to be."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX)) / "state"


def fill(root: Path) -> None:
    """Make the state folder and fill it; progress goes to stderr."""
    base = root.parent
    print(f"lumen-tui: filling a demo in {base} with a real engine and real workers …", file=sys.stderr)
    layout, now = Layout(root), SystemClock().now()
    layout.create()
    files.replace(layout.config, _CONFIG.encode())
    files.replace(layout.demo_mark, msgspec.json.encode({"made_at": iso(now)}))
    project = _project(base / "project")
    store = Store(root)
    _memory(store, now)
    _tasks(store, project, now)
    asyncio.run(_run(root))
    _do(store, NewTask(objective="What are the 8 largest files in /usr?"), now)
    _do(store, NewTask(objective=f"Find errors in {project / 'log'}", role="analyst", priority="P1"), now)


class Sitter:
    """Removes the demo in `root` when its `with` block, or this process, ends.

    It is a process of its own that waits for the end of a pipe: after a hang-up nobody waits, and after a kill there is
    nobody in the room's own process to end an engine and to remove a folder.
    """

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui.headless.demo", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Sitter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def left_over(self) -> str:
        """Wait until the demo is removed; return what could not be, in words, or the empty string."""
        leftover = self._process.stdout.read() if self._process.stdout is not None else ""
        self._process.wait()
        return leftover.strip()


def drop_demo(root: Path) -> str:
    """End the engine and the workers of a demo and remove it; returns what is left, or the empty string."""
    layout, folder = Layout(root), root.parent
    if not folder.name.startswith(_PREFIX):
        return ""
    if not _end_engine(layout):
        return f"the demo stays in {root.parent}: an engine still drives it"
    asyncio.run(_end_workers(layout))
    shutil.rmtree(root.parent, ignore_errors=True)
    return f"some of the demo is left in {root.parent}: remove it by hand" if root.parent.exists() else ""


def _end_engine(layout: Layout) -> bool:
    """End the engine: TERM, wait, KILL. Return whether none is left; one just started does not hold the lease yet."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        process.send(_engines(layout), number)
        if _ended(layout):
            return True
    return False


def _engines(layout: Layout) -> list[int]:
    return process.started_with("--engine-only", "--state", str(layout.root))


def _ended(layout: Layout) -> bool:
    for _ in range(_LOOKS):
        if not _engines(layout) and not lease.is_held(layout):
            return True
        time.sleep(_LOOK_SECONDS)
    return False


async def _end_workers(layout: Layout) -> None:
    running = [folder for folder in layout.tasks.glob("*") if has_worker(folder)]
    runs = [(folder, read_json(folder / "run.json", Run)) for folder in running]
    jobs = [
        workers.end(folder, run, status="cancelled", reason="the demo was left", ask=1.0, term=1.0)
        for folder, run in runs
        if run is not None
    ]
    await asyncio.gather(*jobs, return_exceptions=True)


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


def main() -> int:
    """Wait until the room has ended, then clear the demo away."""
    sys.stdin.read()
    leftover = drop_demo(Path(sys.argv[1]))
    try:
        os.write(sys.stdout.fileno(), leftover.encode())
    except BrokenPipeError:
        return 1  # nobody waits for the answer
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
