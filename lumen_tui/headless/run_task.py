"""`lumen-tui run "OBJECTIVE"`: one task, driven to its end, its result on stdout and its progress on stderr."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from lumen_tui.engine.engine import Engine, EngineBusy
from lumen_tui.engine.outcome import ActionError
from lumen_tui.engine.port import RemotePort
from lumen_tui.engine.runner import Runner, RunOptions
from lumen_tui.model.tasks import Status, TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.store.layout import Layout

_LOOK = 0.1  # seconds between two looks at the task


def run_task(root: Path, operator: str, arguments: dict[str, Any]) -> int:
    """Create the task, see it through, print result.md. Exit code 0 done, 1 failed, 2 bad input, 130 stopped."""
    Layout(root).create()
    port = RemotePort(root, operator)
    try:
        task_id = port.submit("task.new", **arguments).target
    except ActionError as error:
        print(f"lumen-tui: {error}", file=sys.stderr)
        return 2
    try:
        return asyncio.run(_see_through(port, root, task_id))
    except KeyboardInterrupt:
        port.submit("task.cancel", task_id=task_id, reason="stopped from the keyboard")
        return 130


async def _see_through(port: RemotePort, root: Path, task_id: str) -> int:
    """Wait for the end of the task: under the engine that is running, else under one of our own."""
    engine = Engine(root)
    try:
        engine.open()
    except EngineBusy:
        return await _follow(port, task_id)
    runner = Runner(engine, RunOptions())
    running = asyncio.get_running_loop().create_task(runner.run())
    code = await _follow(port, task_id, running)
    runner.request_stop("done")
    stopped = await running
    return stopped or code


async def _follow(port: RemotePort, task_id: str, running: asyncio.Task[int] | None = None) -> int:
    shown = 0
    while True:
        detail = await asyncio.to_thread(port.task_detail, task_id)
        shown = _tell(detail.events, shown)
        if detail.view.finished:
            break
        if running is not None and running.done():
            return running.result() or 1
        await asyncio.sleep(_LOOK)
    if detail.result:
        print(detail.result.rstrip())
    if detail.view.status is Status.DONE:
        return 0
    print(f"lumen-tui: the task {detail.view.status}: {detail.view.reason}", file=sys.stderr)
    return 1


def _tell(events: tuple[TaskEvent, ...], shown: int) -> int:
    for event in events[shown:]:
        if event.text:
            print(f"  {event.kind:<8} {one_line(event.text, 120)}", file=sys.stderr)
    return len(events)
