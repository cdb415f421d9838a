"""Runs without a room: `--engine-only` prints what the engine does, `run "OBJECTIVE"` the result of one task."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import TextIO

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine import settings
from lumen_tui.engine.driving import Driver, StopSignals, driving
from lumen_tui.engine.engine import BeatReport, Engine, EngineBusy
from lumen_tui.engine.events import UPGRADING
from lumen_tui.engine.port import RemotePort
from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.engine.settings import not_in_force
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.requests.tasks import CancelTask, NewTask
from lumen_tui.model.tasks import Status, TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout

_LONGEST = 600  # characters of an event's text on its line


class Output:
    """Writes what happens, one line each: for people (`text`) or for programs (`jsonl`).

    What is not in force of the settings goes to stderr as well, unless that is the same file: engine.log, a terminal.
    """

    def __init__(self, form: str) -> None:
        self._json = form == "jsonl"
        self._apart = not _same_file(sys.stdout, sys.stderr)

    def event(self, event: EngineEvent) -> None:
        """Print one engine event."""
        if event.kind == settings.EVENT and self._apart:
            print(f"lumen-tui: {one_line(event.text, _LONGEST)}", file=sys.stderr)
        if self._json:
            self._line({"type": "event", **msgspec.to_builtins(event)})
        else:
            task = f" {event.task_id}" if event.task_id else ""
            self._text(f"{event.at}  {event.kind:<14}{task} {one_line(event.text, _LONGEST)}")

    def beat(self, report: BeatReport) -> None:
        """Print one beat."""
        if self._json:
            self._line(
                {
                    "type": "beat",
                    "beat": report.beat,
                    "reason": report.reason,
                    "loop": report.loop,
                    "started": report.supervised.started,
                    "collected": report.supervised.collected,
                    "lost": report.supervised.lost,
                    "skipped": report.skipped,
                }
            )
            return
        loop = f"loop {report.loop}" if report.loop else f"no loop: {report.skipped}"
        self._text(f"beat {report.beat} ({report.reason}): {loop}")

    def _line(self, record: dict[str, object]) -> None:
        self._text(msgspec.json.encode(record).decode())

    @staticmethod
    def _text(line: str) -> None:
        """Print a line; a full disk must not end the engine, so what cannot be written is dropped.

        Past Python's buffer, which would keep it, and say it to be lost once more at the end.
        """
        try:
            os.write(sys.stdout.fileno(), f"{line}\n".encode(sys.stdout.encoding, "replace"))
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads has gone, so nobody wants the output
                raise


def _same_file(first: TextIO, second: TextIO) -> bool:
    """Return whether two streams lead to the same file."""
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except OSError:
        return False


_UPGRADE = 3600.0  # seconds for an upgrade, which saves the whole folder first


def run_engine(root: Path, *, beats: int = 0, log_format: str = "text") -> int:
    """Drive `root` until stopped, or for a number of beats. Returns the exit code."""
    output, manager = Output(log_format), ServiceManager.of(os.environ)

    def told(event: EngineEvent) -> None:
        output.event(event)
        if event.kind == UPGRADING:
            manager.status(event.text)
            manager.wait_longer(_UPGRADE)

    _give_memory_back()
    try:
        engine = Engine.open(root, listeners=(told,))
    except (EngineBusy, files.StoreError) as error:
        print(f"lumen-tui: {error}", file=sys.stderr)
        return 1
    from lumen_tui.engine.runner import Runner, RunOptions  # later than the workers are adopted: it takes a while

    runner = Runner(engine, RunOptions(beats=beats, listeners=[output.beat], manager=manager))
    code = asyncio.run(runner.run())
    trouble = f"; {engine.trouble}" if engine.trouble else ""
    print(f"lumen-tui: engine stopped ({runner.stop_reason}){trouble}", file=sys.stderr)
    return code


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h
_LARGE = 64 * 1024  # bytes


def _give_memory_back() -> None:
    """Let what is large be the system's again once it is free, for a process that runs for weeks.

    By itself glibc keeps what was read at the start: 4 of 44 MiB beside a million signals.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # another C library has no such call
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_M_ARENA_MAX, 1)


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
