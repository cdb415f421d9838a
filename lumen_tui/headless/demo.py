"""`--demo`: a throw-away state folder from a recording of real work, with workers at work on it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

import msgspec

from lumen_tui.actions.registry import perform
from lumen_tui.engine.supervisor import workers
from lumen_tui.headless import recording, scripted_model
from lumen_tui.model.requests.roles import HireRole
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.snapshot import DemoMark
from lumen_tui.model.tasks import Run, Spec
from lumen_tui.model.times import iso
from lumen_tui.storage import files, lease, process
from lumen_tui.storage.clock import SystemClock
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import has_worker, read_json, tail_events

_PREFIX = "lumen-demo-"
_BY = "demo"
_LOOK_SECONDS, _LOOKS = 0.05, 100  # at an engine that is ending

# The server that answers for a model, and what its answers would cost.
SCRIPT = """[models.endpoints.script]
kind = "anthropic"
base_url = "{url}"

[models.prices]
script-small = {{ input = 0.1, output = 0.5 }}
script-medium = {{ input = 2.0, output = 10.0 }}
script-large = {{ input = 4.0, output = 20.0 }}
"""
_CONFIG = """# A demo: thrown away when you are done with it.
[heartbeat]
every_minutes = 2
settle_seconds = 2

[workers]
limit = 6

[models]  # a script on this machine, see demo.json
provider = "script"
haiku = "script-small"
sonnet = "script-medium"
opus = "script-large"
routine = {{ main = "" }}

[budget]
day_tokens = 20_000_000  # the survey alone uses half of it, in twenty minutes

[approvals]
ask = ["custom:high", "shell:any"]

[evolution]
versions = "copies"

[room]
on_quit = "stop"
"""
_ROLE = """+++
purpose = "{purpose}"
tier = "haiku"
tools = ["read_file", "list_dir", "grep", "disk_usage", "shell", "discover", "write_result"]
shell = "read"

[limits]
timeout_seconds = 14400.0
stall_seconds = 120.0
max_steps = 1000
max_output_bytes = 100000000
+++

{purpose}
"""
_SURVEYOR, _WATCHER = "surveyor", "watcher"
_ROLES = (
    HireRole(name=_SURVEYOR, text=_ROLE.format(purpose="Looks through large folders, part by part.")),
    HireRole(name=_WATCHER, text=_ROLE.format(purpose="Waits for one line in a log and reports it.")),
)
_TASKS = (
    (scripted_model.SURVEY, _SURVEYOR, "P2"),
    (scripted_model.PUSH, "builder", "P1"),
    (scripted_model.WATCH, _WATCHER, "P2"),
    (scripted_model.ASK, _SURVEYOR, "P1"),
)
_ABOUT = (
    "This is a demo: two weeks of real work of an engine and its workers, recorded on {day} and moved to end now. "
    "Four workers are at work since you came; their model is a script on this machine. Leaving removes all of it."
)


def make_folder() -> Path:
    """Make a new throw-away folder; return where the state folder is going to be."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX)) / "state"


def fill(root: Path, model: str) -> None:
    """Unpack the recording as the state folder, let it end now, and order what is done live; `model` is its server."""
    layout, store, now = Layout(root), Store(root), SystemClock().now()
    recorded = recording.unpack(recording.ARCHIVE, root.parent, now)
    files.replace(layout.config, f"{_CONFIG}{SCRIPT}".format(url=model).encode())
    files.replace(layout.demo_mark, msgspec.json.encode(DemoMark(iso(now), iso(recorded))))
    for role in _ROLES:
        perform(store, role, by=_BY, now=now)
    for objective, role_name, priority in _TASKS:
        request = NewTask(objective=objective, role=role_name, priority=priority, folder=str(root.parent / "project"))
        perform(store, request, by=_BY, now=now)
    perform(store, SendSignal(message=_ABOUT.format(day=iso(recorded)[:10])), by=_BY, now=now)


class Sitter:
    """Serves the demo's model, and removes the demo in `root` when its `with` block, or this process, ends.

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

    def model(self) -> str:
        """Wait until the model can be asked; return its address."""
        return self._process.stdout.readline().strip() if self._process.stdout is not None else ""

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
    return process.started_with("--state", str(layout.root), "--engine-only")


def _ended(layout: Layout) -> bool:
    for _ in range(_LOOKS):
        if not _engines(layout) and not lease.is_held(layout):
            return True
        time.sleep(_LOOK_SECONDS)
    return False


def _hang_watcher(layout: Layout) -> None:
    """Stop the process of the worker that waits, once it does: one worker of the demo stands still for good."""
    while True:
        time.sleep(_LOOK_SECONDS)
        for folder in layout.tasks.glob("*"):
            spec, run = read_json(folder / "spec.json", Spec), read_json(folder / "run.json", Run)
            if spec is None or run is None or not run.pid or spec.objective != scripted_model.WATCH:
                continue
            if any(event.kind == "call" for event in tail_events(folder)):
                process.send([run.pid], signal.SIGSTOP)
                return


async def _end_workers(layout: Layout) -> None:
    running = [folder for folder in layout.tasks.glob("*") if has_worker(folder)]
    runs = [(folder, read_json(folder / "run.json", Run)) for folder in running]
    process.send([run.pid for _, run in runs if run is not None and run.pid], signal.SIGCONT)
    jobs = [
        workers.end(folder, run, status="cancelled", reason="the demo was left", ask=1.0, term=1.0)
        for folder, run in runs
        if run is not None
    ]
    await asyncio.gather(*jobs, return_exceptions=True)


def main() -> int:
    """Serve the model until the room has ended, then clear the demo away."""
    root = Path(sys.argv[1])
    model = scripted_model.ScriptedModel(str(root.parent / "project"))
    model.start()
    threading.Thread(target=_hang_watcher, args=(Layout(root),), daemon=True).start()
    print(model.url, flush=True)
    sys.stdin.read()
    leftover = drop_demo(root)
    try:
        os.write(sys.stdout.fileno(), leftover.encode())
    except BrokenPipeError:
        return 1  # nobody waits for the answer
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
