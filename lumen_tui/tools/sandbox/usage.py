"""What the processes of one command hold and use: open descriptors, memory, processor time, bytes written.

Descriptors are listed once for all limits and the check for locks. The kernel adds the usage of an ended process to its
parent's children only if the parent waits for it. Where a parent ignores SIGCHLD that usage is lost, so the last sample
of each child counts.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from lumen_tui.tools.sandbox.protected_paths import link_target

MOST = 20_000  # open files of one command that are examined
_MEMORY_FILE = "/memfd:"
_WATCHERS = ("anon_inode:inotify", "anon_inode:[fanotify]")
MOST_WATCHERS = 16  # of the 128 that most systems give to each user
MOST_IN_TRANSIT = 64
_TOUCHED = {"Rss:": 1024, "Anonymous:": -1024}  # its private part counts as anonymous memory of the process
OUT_OF_SIGHT = "?"  # as a path: the process is unreadable or not dumpable
_WATCHES = "/proc/sys/fs/inotify/max_user_watches"


class OpenDescriptor(NamedTuple):
    """A descriptor: the folder below /proc of its process or thread, its number there, and its target."""

    holder: str
    number: str
    path: str

    @property
    def facts(self) -> str:
        """The file in which the kernel describes it."""
        return f"{self.holder}/fdinfo/{self.number}"


def threads(pid: int) -> Iterator[str]:
    """Yield the folder of a process below /proc, then those of its threads: the first thread may end before the others.

    All share memory and, since the seccomp filter forbids unsharing them, descriptors.
    """
    yield f"/proc/{pid}"
    try:
        yield from (f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return  # it has ended


def proc_lines(pid: int, name: str) -> list[str]:
    """Return the lines of a memory file of proc(5), such as `maps`; empty where the process has ended."""
    return next(filter(None, (read_lines(f"{place}/{name}") for place in threads(pid))), [])


def open_files(pids: Iterable[int]) -> Iterator[OpenDescriptor]:
    """Yield the descriptors of these processes; for an unreadable process a single one without a number."""
    for pid in pids:
        for place in threads(pid):
            try:
                numbers = os.listdir(f"{place}/fd")
            except PermissionError:
                if _has_ended(place):
                    continue
                yield OpenDescriptor(place, "", OUT_OF_SIGHT)
                break
            except OSError:
                break  # it has ended
            yield from (
                OpenDescriptor(place, number, path)
                for number in numbers
                if (path := link_target(f"{place}/fd/{number}"))
            )
            if numbers:
                break


def _has_ended(place: str) -> bool:
    """Return whether the process is a zombie, whose files in /proc belong to root."""
    return not any(line.startswith("Vm") for line in read_lines(f"{place}/status"))


def memory_files(open_files: Iterable[OpenDescriptor]) -> dict[int, int]:
    """Return the bytes of each memory file among them, by inode."""
    opened = statuses(file for file in open_files if file.path.startswith(_MEMORY_FILE))
    return {status.st_ino: status.st_blocks * 512 for status in opened}


def statuses(open_files: Iterable[OpenDescriptor]) -> Iterator[os.stat_result]:
    """Yield stat(2) of the files that are still open; through the descriptor, as some have no name any more."""
    for file in open_files:
        try:
            yield os.stat(f"{file.holder}/fd/{file.number}")
        except OSError:
            continue


def mapped_memory_files(pids: Iterable[int]) -> dict[int, int]:
    """Return the bytes of each mapped memory file that the processes have touched, by inode."""
    sizes: dict[int, int] = {}
    for pid in pids:
        inode = 0
        for line in proc_lines(pid, "smaps"):
            words = line.split(maxsplit=5)
            if len(words) > 4 and not words[0].endswith(":"):  # address, rights, offset, device, inode, name
                inode = int(words[4]) if words[-1].startswith(_MEMORY_FILE) else 0
                sizes.setdefault(inode, 0)
            elif inode and words[0] in _TOUCHED:
                sizes[inode] += _TOUCHED[words[0]] * int(words[1])
    sizes.pop(0, None)
    return sizes


def too_many_watches(open_files: Iterable[OpenDescriptor]) -> str:
    """Return why a command must end that uses up the user's inotify instances or watches; else empty."""
    watchers = [file for file in open_files if file.path in _WATCHERS]
    if len(watchers) > MOST_WATCHERS:
        return f"it had more than {MOST_WATCHERS} inotify instances, of which other programs need some as well"
    most = int(next(iter(read_lines(_WATCHES)), "0")) // 2
    if most and sum(len(read_lines(file.facts)) for file in watchers) > most:
        return f"it watched more than {most:,} files and folders, of which other programs need to watch some as well"
    return ""


def in_transit(open_files: Iterable[OpenDescriptor]) -> int:
    """Count the descriptors that were sent through a socket and not received yet: no process holds them."""
    return sum(
        int(line.split()[1])
        for file in open_files
        if file.path.startswith("socket:")
        for line in read_lines(file.facts)
        if line.startswith("scm_fds:")
    )


def read_lines(path: str) -> list[str]:
    """Return the lines of a file in /proc; empty where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as stream:  # unbuffered takes a third of the time
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.rstrip("\n").split("\n") if text else []


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
        fields = "".join(read_lines(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        own, children = ((int(fields[at]) + int(fields[at + 1])) / _TICKS for at in (11, 13))
        return {(pid, fields[19]): ProcessSample(own, children, _written(pid), fields[0] == "R")}
    except (ValueError, IndexError):
        return {}


def _written(pid: int) -> int:
    """Return the bytes that a process and its reaped children wrote to disks, less what was cancelled."""
    counts = dict(line.split(":") for line in read_lines(f"/proc/{pid}/io"))
    return max(0, int(counts.get("write_bytes", 0)) - int(counts.get("cancelled_write_bytes", 0)))


def _status(pid: int) -> tuple[int, bool]:
    """Return the bytes of anonymous memory of a process, and whether it ignores SIGCHLD."""
    for place in threads(pid):
        fields = dict(line.split(":", 1) for line in read_lines(f"{place}/status") if ":" in line)
        amounts = [int(fields[name].split()[0]) for name in _HELD if name in fields]
        if amounts:
            return sum(amounts) * 1024, bool(int(fields["SigIgn"], 16) & _IGNORES_CHILDREN)
    return 0, False
