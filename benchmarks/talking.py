"""G11: what a room sends in a minute in which three workers talk: real ones, on a model that is a script."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.state import make_state
from benchmarks.table import Row
from benchmarks.terminal import Terminal
from lumen_tui.actions.registry import perform
from lumen_tui.headless import demo, scripted_model
from lumen_tui.model.requests.roles import HireRole
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks.task_records import has_worker

_WORKERS = 3
_CONFIG = """[heartbeat]
every_minutes = 60.0

[models]
provider = "script"
haiku = "script-small"
routine = {{ main = "" }}

[room]
on_quit = "stop"
"""
_ROLE = """+++
purpose = "Looks through large folders, part by part."
tier = "haiku"
tools = ["disk_usage", "shell", "discover", "write_result"]
shell = "read"

[limits]
max_steps = 1000
+++

Look through large folders, part by part.
"""
_STARTED, _SETTLED = 60.0, 12.0  # seconds within which all workers run, and until their first words are old


def _ordered(root: Path, model: str) -> Store:
    """Make a state folder in which three talkative tasks wait for an engine."""
    now = time.time()
    store = Store(make_state(root, nodes=1000, signals=0, newest=now).root)  # a pane that is full keeps its lines
    store.layout.config.write_text(f"{_CONFIG}{demo.SCRIPT}".format(url=model), encoding="utf-8")
    perform(store, HireRole(name="surveyor", text=_ROLE), by="bench", now=now)
    for number in range(_WORKERS):
        order = NewTask(objective=f"{scripted_model.SURVEY} Part {number}", role="surveyor", folder=str(root.parent))
        perform(store, order, by="bench", now=now)
    return store


def _bytes_a_minute(store: Store, seconds: float, *options: str) -> float:
    """Open a room, wait for its workers, and count; raises TimeoutError where they do not start."""
    terminal = Terminal([sys.executable, "-m", "lumen_tui", "--state", str(store.root), *options])
    try:
        deadline = time.monotonic() + _STARTED
        while sum(map(has_worker, store.layout.tasks.glob("*"))) < _WORKERS:
            terminal.read(0.2)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{_WORKERS} workers did not start")
        _count(terminal, _SETTLED)
        return _count(terminal, seconds) * 60 / seconds
    finally:
        terminal.leave()


def _count(terminal: Terminal, seconds: float) -> int:
    end, count = time.monotonic() + seconds, 0
    while (remaining := end - time.monotonic()) > 0:
        count += len(terminal.read(remaining))
    return count


def measure(folder: Path, seconds: float) -> Iterator[Row]:
    """Yield the bytes a minute of a room at 120 x 40, in colour and plain."""
    model = scripted_model.ScriptedModel(str(folder))
    model.start()
    for name, options in (("", ()), (", --lean", ("--lean",))):
        root = folder / f"lumen-demo-talk{len(options)}" / "state"
        root.parent.mkdir()
        try:
            count = _bytes_a_minute(_ordered(root, model.url), seconds, *options)
            yield Row("G11", f"{_WORKERS} workers that talk, bytes a minute{name}", count, "B", 10_000)
        except TimeoutError as error:
            yield Row("G11", f"{_WORKERS} workers that talk{name}", skipped=str(error))
        finally:
            demo.drop_demo(root)
    model.shutdown()
