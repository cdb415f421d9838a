"""`run "OBJECTIVE"`: one task without a room, and its result."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.driving import Driver, StopSignals, driving
from lumen_tui.engine.port import RemotePort
from lumen_tui.engine.settings import not_in_force
from lumen_tui.model.requests.tasks import CancelTask, NewTask
from lumen_tui.model.tasks import Status, TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout

_LOOK = 0.1  # seconds between two looks at the task
_PATIENCE = 150  # looks at a cancelled task that does not end


def run_task(root: Path, operator: str, request: NewTask) -> int:
    """Create the task, see it through, print result.md.

    Exit code 0 done, 1 failed or the state folder cannot be used, 2 bad input, 130 and 143 stopped.
    """
    port, layout = RemotePort(root, operator, client="cli"), Layout(root)
    try:
        if news := layout.create():
            _say(news)
        for wrong in not_in_force(layout):
            _say(wrong)
        task_id = port.submit(request).target
        return asyncio.run(_see_through(port, root, task_id))
    except ActionError as error:
        _say(str(error))
        return 2
    except StoreError as error:
        _say(str(error))
        return 1


def _say(text: str) -> None:
    print(f"lumen-tui: {one_line(text, 400)}", file=sys.stderr)


async def _see_through(port: RemotePort, root: Path, task_id: str) -> int:
    """Wait for the end of the task: under the engine that is running, else under one of our own."""
    stop = StopSignals()
    stop.listen()
    async with driving(root) as driver:  # who runs one task does not ask the main agent to spend anything
        code = await _follow(port, task_id, stop, driver)
    return (driver.running.result() if driver.running is not None else 0) or code


async def _follow(port: RemotePort, task_id: str, stop: StopSignals, driver: Driver) -> int:
    shown = waited = 0
    while True:
        detail = await asyncio.to_thread(port.task_detail, task_id)
        shown = _print_events(detail.events, shown)
        if detail.view.finished:
            break
        if driver.look():
            _say("the engine is gone; this command drives the task from here on")
        if driver.running is not None and driver.running.done():
            return driver.running.result() or 1
        if stop.number:
            if not waited:
                _cancel(port, task_id)
            waited += 1
            if stop.times > 1 or waited > _PATIENCE:
                _say("left before the task had ended; its engine ends it")
                return stop.code
        await asyncio.sleep(_LOOK)
    if detail.result:
        print(detail.result.rstrip())
    if detail.view.status is Status.DONE:
        return 0
    _say(f"the task {detail.view.status}: {detail.view.reason}")
    return stop.code if stop.number else 1


def _cancel(port: RemotePort, task_id: str) -> None:
    _say("stopping: the task is cancelled and its worker ended (once more leaves at once)")
    try:
        port.submit(CancelTask(task_id=task_id, reason="stopped from the keyboard"))
    except ActionError:
        pass  # it has just ended by itself


def _print_events(events: tuple[TaskEvent, ...], shown: int) -> int:
    for event in events[shown:]:
        if event.text:
            print(f"  {event.kind:<8} {one_line(event.text, 120)}", file=sys.stderr)
    return len(events)
