"""How much one command may use, and the eye that is kept on it while it runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from msgspec import Struct

from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.roles import Limits
from lumen_tui.tools.sandbox import locking

MIB = 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")
_LEAST_FREE = 96 * MIB  # of the machine's memory; below it a command that uses some is ended
_MOST_LOOKED_AT = 4096  # processes of one command
_ROUNDS, _ROUND_SECONDS = 200, 0.005  # of ending them


class Caps(Struct, frozen=True):
    """The most that one command may use. Seconds and bytes."""

    cpu_seconds: int = 900
    memory: int = 2048 * MIB
    processes: int = 256
    open_files: int = 1024
    file_size: int = 1024 * MIB
    disk: int = 4096 * MIB
    tmp: int = 512 * MIB


def caps(settings: SandboxConfig, limits: Limits) -> Caps:
    """What the settings say, and where the role says something, the role."""
    return Caps(
        cpu_seconds=limits.cpu_seconds or settings.cpu_seconds, memory=(limits.memory_mb or settings.memory_mb) * MIB,
        processes=limits.processes or settings.processes, open_files=settings.open_files,
        file_size=settings.file_mb * MIB, disk=settings.disk_mb * MIB, tmp=settings.tmp_mb * MIB,
    )  # fmt: skip


class Watch:
    """Looks at the processes of one command, and says which limit they broke.

    The kernel's own limits hold for single processes, and for root some do not hold at all; the sums stand here.
    """

    def __init__(self, most: Caps, roots: Iterable[str], state: str = "", own: str = "") -> None:
        """`state` is where no file may be locked, but below `own`: who else writes there would wait for the lock."""
        self._caps, self._state, self._own = most, state, own
        self._disks = {path: free for path in roots if (free := _free(path)) >= 0}

    def look(self, pids: Iterable[int]) -> str:
        """Why the command has to end, or empty. `pids` are the processes that were started for it."""
        found = descendants(pids, most=min(_MOST_LOOKED_AT, 4 * self._caps.processes))
        if len(found) > self._caps.processes:
            return f"it had more than {self._caps.processes} processes"
        memory = sum(map(_memory, found))
        if memory > self._caps.memory:
            return f"it used more than {self._caps.memory // MIB:,} MiB of memory"
        if memory > _LEAST_FREE and _available() < _LEAST_FREE:
            return f"the machine has hardly any memory left ({memory // MIB:,} MiB of it were used by this command)"
        if sum(map(_cpu, found)) > self._caps.cpu_seconds:
            return f"it used more than {self._caps.cpu_seconds:,} seconds of processor time"
        return self._disk(found) or (locking.held(found, self._state, self._own) if self._state else "")

    def _disk(self, pids: list[int]) -> str:
        """Others write as well, so both must be true: the disk got fuller, and the command wrote as much."""
        for path, before in self._disks.items():
            now = _free(path)
            short = min(before, _LEAST_FREE) // 2
            if before - now <= self._caps.disk and not 0 <= now < short:
                continue
            wrote = sum(map(_written, pids))
            if wrote > min(self._caps.disk, max(0, short - now) or self._caps.disk):
                return f"it filled the disk: it wrote {wrote // MIB:,} MiB, and may write {self._caps.disk // MIB:,}"
        return ""


def descendants(pids: Iterable[int], *, most: int = _MOST_LOOKED_AT) -> list[int]:
    """These processes and all below them, at most about `most`."""
    found: list[int] = []
    left = list(pids)
    seen = set(left)
    while left and len(found) <= most:
        pid = left.pop()
        found.append(pid)
        new = [child for child in children(pid) if child not in seen]
        seen.update(new)
        left += new
    return found


def end(pids: Iterable[int]) -> None:
    """KILL these processes and all below them; stopped first, so that nothing forks away meanwhile."""
    tops = list(pids)
    for _ in range(_ROUNDS):
        found = [pid for pid in descendants(tops) if not _is_gone(pid)]
        if not found:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    pass
        tops = list({*tops, *found})
        time.sleep(_ROUND_SECONDS)


def wait_gone(pid: int) -> None:
    """Wait a little for a process that was killed to be gone."""
    for _ in range(_ROUNDS):
        if _is_gone(pid):
            return
        time.sleep(_ROUND_SECONDS)


def _is_gone(pid: int) -> bool:
    """Whether it has ended, also where nobody has collected it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (OSError, IndexError):
        return True


def children(pid: int) -> list[int]:
    """The children of a process, of all its threads; empty where it has gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as listed:
                found += [int(child) for child in listed.read().split()]
    except (OSError, ValueError):
        pass
    return found


def _memory(pid: int) -> int:
    """Bytes that it holds and no file stands behind."""
    total = 0
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                    total += int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return total


def _cpu(pid: int) -> float:
    """Seconds that it and its collected children have run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15]) / _TICKS
    except (OSError, ValueError):
        return 0.0


def _written(pid: int) -> int:
    """Bytes that it and its collected children sent to disks, less what was thrown away before it got there."""
    counts = {}
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as listed:
            for line in listed:
                name, _, value = line.partition(":")
                counts[name] = int(value)
    except (OSError, ValueError):
        pass
    return max(0, counts.get("write_bytes", 0) - counts.get("cancelled_write_bytes", 0))


def _available() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as meminfo:
            for line in meminfo:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _LEAST_FREE


def _free(path: str) -> int:
    """Bytes free on the disk of `path`, -1 where that cannot be told."""
    try:
        found = os.statvfs(path)
    except OSError:
        return -1
    return found.f_bavail * found.f_frsize
