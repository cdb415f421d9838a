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
        self.children_unaccounted = False  # whether some process ignored the end of its children
        self.seconds, self.written, self.memory = 0.0, 0, 0

    def look(self, pids: Iterable[int]) -> None:
        """`pids` hold each parent before its children: so nothing is both a child's and added already."""
        samples: dict[tuple[int, str], ProcessSample] = {}
        self.memory = 0
        for pid in pids:
            samples.update(_look(pid))
            memory, untold = _status(pid)
            self.memory += memory
            self.children_unaccounted = self.children_unaccounted or untold
        self._lose(samples)
        self._seen = samples
        self.seconds = self._lost_seconds + sum(sample.seconds + sample.children for sample in samples.values())
        self.written = self._lost_bytes + sum(sample.written for sample in samples.values())
        self._count_running(sum(sample.runs for sample in samples.values()))

    def _lose(self, samples: dict[tuple[int, str], ProcessSample]) -> None:
        """Count on what was seen of those that have gone, as far as nobody has it among their children's."""
        ended = [sample for key, sample in self._seen.items() if key not in samples]
        if not ended:
            return
        pairs = [(self._seen[key], sample) for key, sample in samples.items() if key in self._seen]
        seconds = sum(sample.seconds + sample.children - _ROUNDING for sample in ended)
        self._lost_seconds += max(0.0, seconds - sum(sample.children - before.children for before, sample in pairs))
        taken = sum(sample.written - before.written for before, sample in pairs)
        self._lost_bytes += max(0, sum(sample.written for sample in ended) - taken)

    def _count_running(self, processes: int) -> None:
        """Of children that nobody asks for, and that end between two looks, this is all that is ever seen."""
        before, self._looked = self._looked, time.monotonic()
        if self.children_unaccounted:
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
        fields = dict(line.split(":", 1) for line in descriptors.read_lines(f"{place}/status") if ":" in line)
        amounts = [int(fields[name].split()[0]) for name in _HELD if name in fields]
        if amounts:
            return sum(amounts) * 1024, bool(int(fields["SigIgn"], 16) & _IGNORES_CHILDREN)
    return 0, False
