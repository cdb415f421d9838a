"""What the processes of one command use: memory now; processor time and bytes written in total.

The kernel adds the usage of an ended process to its parent's children only if the parent waits for it. Where a parent
ignores SIGCHLD that usage is lost, so the last sample of each child counts.
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
    """One sample of a process and its reaped children."""

    seconds: float  # its own
    children: float  # seconds of its reaped children
    written: int  # bytes
    runs: bool  # running or runnable


class ResourceUsage:
    """Adds up resource usage over successive samples."""

    def __init__(self) -> None:
        self._samples: dict[tuple[int, str], ProcessSample] = {}
        self._lost_seconds = 0.0
        self._lost_bytes = 0
        self._running = 0.0
        self._sampled_at = time.monotonic()
        self.children_unaccounted = False  # whether some process ignored SIGCHLD
        self.seconds = 0.0
        self.written = 0
        self.memory = 0

    def sample(self, pids: Iterable[int]) -> None:
        """Take a sample. `pids` has each parent before its children, so that no usage counts twice."""
        samples: dict[tuple[int, str], ProcessSample] = {}
        self.memory = 0
        for pid in pids:
            samples.update(_sample_process(pid))
            memory, untold = _status(pid)
            self.memory += memory
            self.children_unaccounted = self.children_unaccounted or untold
        self._count_ended(samples)
        self._samples = samples
        self.seconds = self._lost_seconds + sum(sample.seconds + sample.children for sample in samples.values())
        self.written = self._lost_bytes + sum(sample.written for sample in samples.values())
        self._count_running(sum(sample.runs for sample in samples.values()))

    def _count_ended(self, samples: dict[tuple[int, str], ProcessSample]) -> None:
        """Add the last sample of ended processes, as far as no parent reaped them and so has it already."""
        ended = [sample for key, sample in self._samples.items() if key not in samples]
        if not ended:
            return
        pairs = [(self._samples[key], sample) for key, sample in samples.items() if key in self._samples]
        seconds = sum(sample.seconds + sample.children - _ROUNDING for sample in ended)
        self._lost_seconds += max(0.0, seconds - sum(sample.children - before.children for before, sample in pairs))
        taken = sum(sample.written - before.written for before, sample in pairs)
        self._lost_bytes += max(0, sum(sample.written for sample in ended) - taken)

    def _count_running(self, processes: int) -> None:
        """Estimate the time of children that nobody waits for and that end between two samples."""
        before, self._sampled_at = self._sampled_at, time.monotonic()
        if self.children_unaccounted:
            self._running += min(processes, os.cpu_count() or 1) * (self._sampled_at - before)
            self.seconds = max(self.seconds, self._running)


def _sample_process(pid: int) -> dict[tuple[int, str], ProcessSample]:
    """Return the sample under (pid, start time), as pids are reused; empty where the process is gone."""
    try:
        fields = "".join(descriptors.read_lines(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        own, children = ((int(fields[at]) + int(fields[at + 1])) / _TICKS for at in (11, 13))
        return {(pid, fields[19]): ProcessSample(own, children, _written(pid), fields[0] == "R")}
    except (ValueError, IndexError):
        return {}


def _written(pid: int) -> int:
    """Return the bytes that a process and its reaped children wrote to disks, less what was cancelled."""
    counts = dict(line.split(":") for line in descriptors.read_lines(f"/proc/{pid}/io"))
    return max(0, int(counts.get("write_bytes", 0)) - int(counts.get("cancelled_write_bytes", 0)))


def _status(pid: int) -> tuple[int, bool]:
    """Return the bytes of anonymous memory of a process, and whether it ignores SIGCHLD."""
    for place in descriptors.threads(pid):
        fields = dict(line.split(":", 1) for line in descriptors.read_lines(f"{place}/status") if ":" in line)
        amounts = [int(fields[name].split()[0]) for name in _HELD if name in fields]
        if amounts:
            return sum(amounts) * 1024, bool(int(fields["SigIgn"], 16) & _IGNORES_CHILDREN)
    return 0, False
