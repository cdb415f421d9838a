"""The engine: beats, many tasks, recovery after a kill, memory, dispatch of a task (G8, G9, G10, G12)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.state import make_state
from benchmarks.table import Row, share
from lumen_tui.engine.engine import Engine
from lumen_tui.model.loop import Heartbeat, Pause
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Spec
from lumen_tui.storage import files, lease
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import read_json

_TASKS = 10_000
_LOAD = 20  # programs that are busy beside an engine that starts
_BEATS = """
import asyncio, sys, time
from pathlib import Path
from lumen_tui.engine.engine import Engine
from lumen_tui.engine.supervisor.supervisor import TaskSupervisor
recover = TaskSupervisor.recover
def timed(supervisor, now):
    adopted = recover(supervisor, now)
    print(time.perf_counter() - began)
    return adopted
TaskSupervisor.recover = timed
began = time.perf_counter()
engine = Engine.open(Path(sys.argv[1]))
async def beats():
    began = time.perf_counter()
    while engine.supervisor.index.loading:
        engine.poll(time.time())
    print(time.perf_counter() - began)
    for _ in range(21):
        began = time.process_time()
        engine.beat(time.time())
        print(time.process_time() - began)
asyncio.run(beats())
"""


_IDLE = """
import asyncio, os, sys, time
from pathlib import Path
from lumen_tui.engine.engine import Engine
root = Path(sys.argv[1])
engine = Engine.open(root)
def sizes():
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*") if path.is_file()}
async def beats():
    for _ in range(3):
        engine.beat(time.time())
    before = sizes()
    for _ in range(21):
        began = time.process_time()
        engine.beat(time.time())
        print(time.process_time() - began)
    after = sizes()
    changed = {path.name: size for path, (at, size) in after.items() if before.get(path) != (at, size)}
    print(changed.pop("heartbeat.json"), sum(changed.values()))
asyncio.run(beats())
"""
_CALLS = """
import contextlib, statistics, sys, time
from pathlib import Path
from lumen_tui.storage.journal import Journal
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import Stopper
folder = Path(sys.argv[1])
stopper = Stopper(folder, time.monotonic, time.time)
events = Recorder(Journal(folder / "events.jsonl"), 1, time.time, lambda text: text, stopper.guard)
taken = []
for _ in range(300):
    began = time.perf_counter()
    events.event("call", "list_dir /etc", tool="list_dir")
    events.event("result", "114 entries", tool="list_dir")
    taken.append(time.perf_counter() - began)
print(statistics.median(taken))
"""


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    yield from _many_tasks(folder / "tasks")
    yield from _recovery(folder / "recovery")
    yield _restart_under_load(folder / "load")
    yield _memory(folder / "memory-of-the-engine")
    yield from _dispatch(folder / "dispatch")
    yield from _zygote_memory(folder / "zygote")
    yield from _idle(folder / "idle")


def _many_tasks(root: Path) -> Iterator[Row]:
    layout = Layout(root)
    layout.create()
    for number in range(_TASKS):
        task = layout.tasks / f"task-{number:05d}"
        task.mkdir(mode=0o700)
        spec = Spec(id=task.name, objective=f"job {number}", created_at="2026-11-21T10:00:00Z")
        (task / "spec.json").write_bytes(msgspec.json.encode(spec))
    files.replace(layout.pause, msgspec.json.encode(Pause(at="2026-11-21T10:00:00Z")))
    finished = subprocess.run([sys.executable, "-c", _BEATS, str(root)], capture_output=True, text=True, check=True)
    first, remaining, *beats = [1000 * float(line) for line in finished.stdout.split()]
    yield Row("G8", f"beat over {_TASKS:,} unchanged tasks, CPU p50", share(beats, 50), goal=2)
    yield Row("G8", f"recovery over {_TASKS:,} tasks: the living adopted", first, goal=100)
    yield Row("", f"the rest of {_TASKS:,} tasks read, in the background", remaining)


def start(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "lumen_tui", "--engine-only", "--state", str(root)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def asleep(layout: Layout, pid: int) -> bool:
    beat = read_json(layout.heartbeat, Heartbeat)
    return beat is not None and beat.pid == pid and beat.phase == "asleep"


def until(check: object, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not check():  # type: ignore[operator]
        if time.monotonic() > end:
            raise TimeoutError("the engine did not answer")
        time.sleep(0.002)


def _recovery(root: Path) -> Iterator[Row]:
    """Kill an engine, then take its folder over: within a warm process, and with a new one."""
    layout = Layout(root)
    layout.create()
    warm: list[float] = []
    cold: list[float] = []
    Engine.open(root).close("measured")  # this process is a warm one: everything is imported
    for _ in range(9):
        child = start(root)
        until(lambda pid=child.pid: asleep(layout, pid))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        began = time.perf_counter()
        engine = Engine.open(root)
        warm.append(1000 * (time.perf_counter() - began))
        engine.close("measured")
        began = time.perf_counter()
        again = start(root)
        until(lambda: lease.is_held(layout))
        cold.append(1000 * (time.perf_counter() - began))
        again.terminate()
        again.wait()
    yield Row("G9", "recovery after SIGKILL, warm, p99 of 9", share(warm, 99), goal=50)
    yield Row("G9", "a new engine holds the lease, p99 of 9", share(cold, 99), goal=150)


def _restart_under_load(root: Path) -> Row:
    """Kill an engine beside as many busy programs as make a load of 20, and time until the next one has the lease."""
    layout = Layout(root)
    layout.create()
    taken: list[float] = []
    child = start(root)
    until(lambda: asleep(layout, child.pid))
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(_LOAD)]
    try:
        for _ in range(9):
            child.kill()
            child.wait()
            began = time.perf_counter()
            child = start(root)
            until(lambda: lease.is_held(layout))
            taken.append(1000 * (time.perf_counter() - began))
    finally:
        for process in (child, *busy):
            process.kill()
            process.wait()
    return Row("G9", f"a new engine holds the lease beside a load of {_LOAD}, p99 of 9", share(taken, 99), goal=1000)


def _memory(root: Path) -> Row:
    layout = make_state(root, nodes=100_000, signals=1_000_000, newest=time.time())
    child = start(layout.root)
    try:
        until(lambda: asleep(layout, child.pid), seconds=120)
        until(layout.transitions.exists, seconds=120)  # its reader of the queue has read all, and found what is urgent
        rollup = Path(f"/proc/{child.pid}/smaps_rollup").read_text(encoding="utf-8")
        pss = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    finally:
        child.terminate()
        child.wait()
    return Row("G10", "engine that follows the queue of 100,000 nodes, 1,000,000 signals, PSS", pss / 1024, "MiB", 40)


def _dispatch(root: Path) -> Iterator[Row]:
    """Time the way from a task's file to its worker's first event and to its result, under a sleeping engine."""
    for name, minutes in (("cold", 0), ("warm", 10)):
        layout = Layout(root / name)
        layout.create()
        layout.config.write_text(f"[workers]\nwarm_minutes = {minutes}\n", encoding="utf-8")
        first, whole = _dispatched(layout, warm=minutes > 0)
        yield Row("", f"a task's file to its worker's first event, {name}, p50", share(first, 50), goal=150)
        yield Row("", f"a task's file to its result collected, {name}, p50", share(whole, 50))
    yield from _calls(root / "calls")


def _dispatched(layout: Layout, *, warm: bool) -> tuple[list[float], list[float]]:
    from lumen_tui.engine.port import RemotePort

    child = start(layout.root)
    port = RemotePort(layout.root, "bench")
    first: list[float] = []
    whole: list[float] = []
    try:
        until(lambda: asleep(layout, child.pid))
        if warm:
            until(lambda: has_zygote(child.pid))
        for _ in range(9):
            began = time.perf_counter()
            task_id = port.submit(NewTask(objective="What are the 3 largest files in /etc?")).target
            events = layout.task(task_id) / "events.jsonl"
            until(lambda path=events, name=task_id: path.exists() or any(layout.archive.glob(f"*/*/{name}")))
            first.append(1000 * (time.perf_counter() - began))
            until(lambda name=task_id: any(layout.archive.glob(f"*/*/{name}/result.md")))
            whole.append(1000 * (time.perf_counter() - began))
    finally:
        child.terminate()
        child.wait()
    return first, whole


def has_zygote(engine: int) -> bool:
    """Return whether the engine has a zygote that waits for requests."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text(encoding="utf-8", errors="replace").partition(") ")
        except OSError:
            continue
        if name.endswith("(lumen-zygote") and fields.split()[:2] == ["S", str(engine)]:
            return True
    return False


def _zygote_memory(root: Path) -> Iterator[Row]:
    """Measure the memory of a ready zygote."""
    from lumen_tui.engine.supervisor import workers
    from lumen_tui.engine.supervisor.zygote import ZygoteClient

    root.mkdir()
    for kind in ("offline", "anthropic"):
        zygote = ZygoteClient(root / "zygote.log")
        zygote.launch(kind, workers.worker_env(()), 60.0)
        until(lambda zygote=zygote, kind=kind: zygote.usable(kind))
        yield Row("", f"zygote for {kind} workers, PSS", zygote.pss / 1024, "MiB")
        zygote.kill()


def _idle(root: Path) -> Iterator[Row]:
    """Measure a beat with nothing to do: processor time, and what it writes."""
    layout = Layout(root)
    layout.create()
    finished = subprocess.run([sys.executable, "-c", _IDLE, str(root)], capture_output=True, text=True, check=True)
    *beats, written, others = finished.stdout.split()
    yield Row("G12", "idle beat, CPU p50", share([1000 * float(line) for line in beats], 50), goal=5)
    yield Row("G12", "idle beat, bytes into files other than the heartbeat", float(others), "B", 0)
    yield Row("", "idle beat, bytes into the heartbeat", float(written), "B")


def _calls(root: Path) -> Iterator[Row]:
    """Measure what a tool call costs beside the tool: both of its events, durable, and the rules."""
    layout = Layout(root)
    layout.create()
    finished = subprocess.run([sys.executable, "-c", _CALLS, str(root)], capture_output=True, text=True, check=True)
    yield Row("", "overhead of a tool call, two durable events, p50", 1000 * float(finished.stdout.split()[0]))
