"""What the processes of one command use: memory now, and in all processor time, and bytes that they wrote.

The kernel adds what a process used to what its parent's children used, but only where the parent asks how it ended. Of
one that ignores the end of its children (SIGCHLD) nothing is told any more, so what was last seen of them counts.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from msgspec import Struct

from lumen_tui.tools.sandbox import descriptors

_TICKS = os.sysconf("SC_CLK_TCK")
_ROUNDING = 2 / _TICKS  # seconds, of each process
_IGNORES_CHILDREN = 1 << (signal.SIGCHLD - 1)
_HELD = ("RssAnon", "RssShmem", "VmSwap")  # of memory, in /proc/PID/status


class ProcessSample(Struct, frozen=True):
    """A process at one look, with its collected children."""

    seconds: float  # of its own
    children: float  # seconds of those
    written: int  # bytes
    runs: bool  # or wants to


class ResourceUsage:
    """Adds up, look by look."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], ProcessSample] = {}
        self._lost_seconds, self._lost_bytes = 0.0, 0
        self._running = 0.0
        self._looked = time.monotonic()
        self.untold = False  # whether some process ignored the end of its children
        self.seconds, self.written, self.memory = 0.0, 0, 0

    def look(self, pids: Iterable[int]) -> None:
        """`pids` hold each parent before its children: so nothing is both a child's and added already."""
        now: dict[tuple[int, str], ProcessSample] = {}
        self.memory = 0
        for pid in pids:
            now.update(_look(pid))
            memory, untold = _status(pid)
            self.memory += memory
            self.untold = self.untold or untold
        self._lose(now)
        self._seen = now
        self.seconds = self._lost_seconds + sum(one.seconds + one.children for one in now.values())
        self.written = self._lost_bytes + sum(one.written for one in now.values())
        self._count_running(sum(one.runs for one in now.values()))

    def _lose(self, now: dict[tuple[int, str], ProcessSample]) -> None:
        """Count on what was seen of those that have gone, as far as nobody has it among their children's."""
        gone = [one for key, one in self._seen.items() if key not in now]
        if not gone:
            return
        both = [(self._seen[key], one) for key, one in now.items() if key in self._seen]
        seconds = sum(one.seconds + one.children - _ROUNDING for one in gone)
        self._lost_seconds += max(0.0, seconds - sum(one.children - before.children for before, one in both))
        taken = sum(one.written - before.written for before, one in both)
        self._lost_bytes += max(0, sum(one.written for one in gone) - taken)

    def _count_running(self, processes: int) -> None:
        """Of children that nobody asks for, and that end between two looks, this is all that is ever seen."""
        before, self._looked = self._looked, time.monotonic()
        if self.untold:
            self._running += min(processes, os.cpu_count() or 1) * (self._looked - before)
            self.seconds = max(self.seconds, self._running)


def _look(pid: int) -> dict[tuple[int, str], ProcessSample]:
    """The process under its number and the time it began at, as numbers are used again; nothing where it has gone."""
    try:
        fields = "".join(descriptors.read_lines(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        own, children = ((int(fields[at]) + int(fields[at + 1])) / _TICKS for at in (11, 13))
        return {(pid, fields[19]): ProcessSample(own, children, _written(pid), fields[0] == "R")}
    except (ValueError, IndexError):
        return {}


def _written(pid: int) -> int:
    """Bytes that it and its collected children sent to disks, less what was thrown away before it got there."""
    counts = dict(line.split(":") for line in descriptors.read_lines(f"/proc/{pid}/io"))
    return max(0, int(counts.get("write_bytes", 0)) - int(counts.get("cancelled_write_bytes", 0)))


def _status(pid: int) -> tuple[int, bool]:
    """Bytes that it holds and no file stands behind; and whether it ignores the end of its children."""
    for place in descriptors.threads(pid):
        told = dict(line.split(":", 1) for line in descriptors.read_lines(f"{place}/status") if ":" in line)
        held = [int(told[name].split()[0]) for name in _HELD if name in told]
        if held:
            return sum(held) * 1024, bool(int(told["SigIgn"], 16) & _IGNORES_CHILDREN)
    return 0, False
