"""Probes that a text suggests, and many of them made in a child process, which is killed when its time is up.

A text suggests one where it names a path, a version, a port, a unit or an address.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.facts import Probe, Reading, check_probe, failed, parse_probe, probe_words
from lumen_tui.model.patterns import lazy_re

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "VIRTUAL_ENV", "PYTHONPATH")
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
    task_id: str = ""  # whose rules hold for them; empty: those of facts
    folder: str = ""  # where commands begin; empty: in the state folder


class ProbeEvent(Struct, frozen=True):
    """A line from the child: it is ready (no number), it begins a job, or the result of one."""

    job: int = -1
    reading: Reading | None = None


class Batch:
    """One child with its probes. `wait` blocks; `end` may be called from another thread."""

    def __init__(
        self, root: Path, jobs: Sequence[ProbeJob], *, seconds: float, each: float, task_id: str = "", folder: str = ""
    ) -> None:
        import subprocess  # 3 ms, which whoever only asks for suggestions does without

        self.jobs = tuple(jobs)
        self._seconds = seconds
        self._order = msgspec.json.encode(ProbeOrder(str(root), seconds, each, self.jobs, task_id, folder))
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
        from lumen_tui.tools.sandbox import limits

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


def run(
    root: Path, jobs: Sequence[ProbeJob], *, seconds: float, each: float, task_id: str = "", folder: str = ""
) -> list[tuple[ProbeJob, Reading]]:
    """Make these probes and wait for them; `task_id` is a task whose rules bound them, `folder` where they begin."""
    return Batch(root, jobs, seconds=seconds, each=each, task_id=task_id, folder=folder).wait() if jobs else []


_URL = lazy_re(r"https?://[^\s\"'<>`)\]]+[^\s\"'<>`)\].,;:!?]")
_PATH = lazy_re(r"(?<![\w./:~-])(~?/(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*[\w@+-]|~?/\w+)")
_VERSION = lazy_re(r"(?<![\w./-])v?(\d+(?:\.\d+){1,3})(?![\w./-]*\w)")
_PORT = lazy_re(
    r"\bports?\s+(?:number\s+)?(\d{2,5})\b|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):(\d{2,5})\b", re.IGNORECASE
)
_UNIT = lazy_re(r"(?<![\w./-])([\w@-]+\.(?:service|socket|timer))\b")
_PROGRAM = lazy_re(
    r"\b([a-z][a-z0-9+_-]{1,30})`?\s+(?:version\s+|is\s+(?:at\s+)?(?:version\s+)?)?v?(\d+(?:\.\d+){1,3})\b",
    re.IGNORECASE,
)
_UNITS = "/sys/fs/cgroup/system.slice"  # a unit that is active has a folder here
_MOST_SUGGESTED = 4


def suggest(text: str) -> list[Probe]:
    """At most four probes, the most telling first. Whether they hold nobody has looked."""
    probes: dict[str, Probe] = {}
    for words in _words(text[:20_000]):
        try:
            probe = parse_probe(words, f"p{len(probes) + 1}")
            check_probe(probe)
        except ValueError:
            continue
        probes.setdefault(probe_words(probe), probe)
        if len(probes) >= _MOST_SUGGESTED:
            break
    return list(probes.values())


def _words(text: str) -> Iterator[str]:
    bare = _URL.sub(" ", text)
    paths = _PATH.findall(bare)
    versions = _VERSION.findall(bare)
    for address in _URL.findall(text):
        yield f"http {address} = 200"
    for path in paths:
        yield from (f"text {path} = {version}" for version in versions[:1])
        yield f"file {path}"
    for plain, local in _PORT.findall(bare):
        yield f"port {plain or local}"
    for unit in _UNIT.findall(bare):
        yield f"file {_UNITS}/{unit}"
    for program, version in _PROGRAM.findall(bare):
        import shutil  # 2 ms, with the archives that it knows

        if not paths and shutil.which(program.lower()):
            yield rf"output {program.lower()} --version ~ (?<![\d.]){re.escape(version)}(?![\d])"
