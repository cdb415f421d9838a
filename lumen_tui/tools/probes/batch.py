"""Runs many probes in a child process, which is killed when its time is up."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.facts import Probe, Reading
from lumen_tui.tools.probes.kinds import failed
from lumen_tui.tools.probes.look import PASSED_ON
from lumen_tui.tools.sandbox import limits

_START = 20.0  # seconds in which the child has to be ready; probes have not begun then
_GRACE = 0.5  # seconds after the budget in which the child may end by itself
_MOST = 4 * 1024 * 1024  # bytes that it may say


class ProbeJob(Struct, frozen=True):
    """One probe of one fact."""

    fact_id: str
    probe: Probe


class ProbeOrder(Struct, frozen=True):
    """What the child gets: `seconds` for all of them together, `each` for one."""

    root: str
    seconds: float
    each: float
    jobs: tuple[ProbeJob, ...]


class ProbeEvent(Struct, frozen=True):
    """A line from the child: it is ready (no number), it begins a job, or the result of one."""

    job: int = -1
    reading: Reading | None = None


class Batch:
    """One child with its probes. `wait` blocks; `end` may be called from another thread."""

    def __init__(self, root: Path, jobs: Sequence[ProbeJob], *, seconds: float, each: float) -> None:
        self.jobs = tuple(jobs)
        self._seconds = seconds
        self._order = msgspec.json.encode(ProbeOrder(str(root), seconds, each, self.jobs))
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumen_tui.tools.probes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=env,
            umask=0o077,
        )

    def wait(self) -> list[tuple[ProbeJob, Reading]]:
        """Return the readings in order. Probes that were not reached are missing; one that hung is failed."""
        try:
            data = self._collect()
        finally:
            self.end()
        return self._results(data)

    def end(self) -> None:
        """End the child and all its descendants."""
        if self._child.poll() is None:  # its number is still its own
            limits.end([self._child.pid])
        self._child.wait()

    def _collect(self) -> bytes:
        child = self._child
        if child.stdin is None or child.stdout is None:
            return b""
        with child.stdout as output:
            try:
                with child.stdin as order:
                    order.write(self._order)
            except BrokenPipeError:
                return b""
            return _read(output.fileno(), self._seconds + _GRACE)

    def _results(self, data: bytes) -> list[tuple[ProbeJob, Reading]]:
        readings: dict[int, Reading] = {}
        for line in data.split(b"\n")[:-1]:
            try:
                event = msgspec.json.decode(line, type=ProbeEvent)
            except UNDECODABLE:
                continue
            if 0 <= event.job < len(self.jobs):
                readings[event.job] = event.reading or failed("stopped: the time for probes was over")
        return [(self.jobs[number], reading) for number, reading in readings.items()]


def _read(fd: int, seconds: float) -> bytes:
    """Read what the child writes until it ends, or until its time is over, which counts from when it is ready."""
    data = bytearray()
    deadline = time.monotonic() + _START
    ready = False
    while len(data) < _MOST and (remaining := deadline - time.monotonic()) > 0:
        if not select.select([fd], [], [], remaining)[0]:
            break
        part = os.read(fd, 65_536)
        if not part:
            break
        data += part
        if not ready:
            ready, deadline = True, time.monotonic() + seconds
    return bytes(data)


def run(root: Path, jobs: Sequence[ProbeJob], *, seconds: float, each: float) -> list[tuple[ProbeJob, Reading]]:
    """Make these probes and wait for them."""
    return Batch(root, jobs, seconds=seconds, each=each).wait() if jobs else []
