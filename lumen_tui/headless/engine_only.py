"""`--engine-only`: drives a folder without a room, and prints what the engine does.

Whatever an engine does not need for its lease is imported behind it: beside a load every millisecond counts ten times.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from lumen_tui.engine import settings
from lumen_tui.engine.engine import Engine, EngineBusy
from lumen_tui.engine.events import UPGRADING
from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.text import one_line
from lumen_tui.storage import files

if TYPE_CHECKING:
    from lumen_tui.engine.beats import BeatReport

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
    """Drive `root` until stopped, or for a number of beats. Returns the exit code.

    What is imported on the way, before the lease and behind it, makes nothing that could be collected: an eighth of the
    start.
    """
    gc.disable()
    output, manager = Output(log_format), ServiceManager.of(os.environ)

    def told(event: EngineEvent) -> None:
        output.event(event)
        if event.kind == UPGRADING:
            manager.status(event.text)
            manager.wait_longer(_UPGRADE)

    give_memory_back()
    try:
        engine = Engine.open(root, listeners=(told,))
    except (EngineBusy, files.StoreError) as error:
        print(f"lumen-tui: {error}", file=sys.stderr)
        return 1
    import asyncio

    from lumen_tui.engine.runner import Runner, RunOptions  # later than the workers are adopted: it takes a while

    gc.freeze()
    gc.enable()
    runner = Runner(engine, RunOptions(beats=beats, listeners=[output.beat], manager=manager))
    code = asyncio.run(runner.run())
    trouble = f"; {engine.trouble}" if engine.trouble else ""
    print(f"lumen-tui: engine stopped ({runner.stop_reason}){trouble}", file=sys.stderr)
    return code


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h
_LARGE = 64 * 1024  # bytes


def give_memory_back() -> None:
    """Let what is large be the system's again once it is free, for a process that runs for weeks.

    By itself glibc keeps what was read at the start: 4 of 44 MiB beside a million signals.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # another C library has no such call
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE)
        libc.mallopt(_M_ARENA_MAX, 1)
