"""Processes by pid, start ticks and boot id together, because a pid alone is reused; and the ancestors of this one."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Set
from typing import NamedTuple


class ProcessId(NamedTuple):
    """One process of one boot. `start_ticks` is field 22 of /proc/<pid>/stat (proc(5))."""

    pid: int
    start_ticks: int
    boot_id: str


@functools.cache
def boot_id() -> str:
    """Return the kernel's random id of this boot; empty where there is none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """Return when `pid` started, in clock ticks since boot; 0 where there is no such process."""
    fields = _stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def state_letter(pid: int) -> str:
    """Return `R`, `S`, `T` (stopped), `Z` … of proc(5); empty where there is no such process."""
    fields = _stat_fields(pid)
    return fields[0] if fields else ""


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat after the command, which may itself hold spaces and brackets."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def identify(pid: int) -> ProcessId:
    """Return the identity of a running process."""
    return ProcessId(pid=pid, start_ticks=start_ticks(pid), boot_id=boot_id())


def is_same(process: ProcessId) -> bool:
    """Return whether that very process still runs (a zombie does not)."""
    return state_of(process) not in ("", "Z", "X")


def state_of(process: ProcessId) -> str:
    """Return the state letter of that very process; empty where it ended, also where its pid was reused."""
    if process.pid <= 0 or process.boot_id != boot_id():
        return ""
    fields = _stat_fields(process.pid)
    return fields[0] if len(fields) > 19 and int(fields[19]) == process.start_ticks != 0 else ""


def open_pidfd(process: ProcessId) -> int:
    """Return a descriptor that is readable once that very process ends; -1 where it has, or without pidfds."""
    try:
        fd = os.pidfd_open(process.pid)
    except (OSError, AttributeError, ValueError):
        return -1
    if is_same(process):
        return fd
    os.close(fd)
    return -1


def host() -> str:
    """Return this machine's name, for leases and lanes. Importing `socket` would cost each start 3 ms."""
    return os.uname().nodename


def myself() -> ProcessId:
    """Return the identity of this process."""
    return identify(os.getpid())


def name(process: ProcessId) -> str:
    """Return a process as one word for records: `pid-ticks-boot`, with the beginning of the boot's id."""
    return f"{process.pid}-{process.start_ticks}-{process.boot_id[:8]}"


def lives(name: str) -> bool:
    """Return whether the process that `name` gave this word still runs; False for any other text."""
    pid, _, remainder = name.partition("-")
    ticks, _, boot = remainder.partition("-")
    if not (pid.isdigit() and ticks.isdigit()) or boot != boot_id()[:8]:
        return False
    return is_same(ProcessId(int(pid), int(ticks), boot_id()))


def session_members(sessions: Set[int]) -> list[int]:
    """Return the pids of these sessions: workers and everything they started that did not leave them."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat_fields(int(name))) and int(fields[3]) in sessions:
            pids.append(int(name))
    return pids


def started_with(*words: str) -> list[int]:
    """Return the pids of processes whose command line holds these consecutive words."""
    needle = "".join(f"\0{word}" for word in words).encode() + b"\0"
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and needle in _command_line(name)]


def _command_line(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def lock_holders(path: str) -> list[int]:
    """Return the pids of our processes that hold the exclusive flock on `path`; this reads all of /proc.

    A process that merely has the file open, to see whether it is locked, is not among them.
    """
    locked = _stat(path)
    if locked is None:
        return []
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _holds(name, locked)]


def _holds(pid: str, locked: os.stat_result) -> bool:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False  # another user's, or gone
    opened = [
        name for name in names if (status := _stat(f"/proc/{pid}/fd/{name}")) and os.path.samestat(status, locked)
    ]
    return any(_locks(f"/proc/{pid}/fdinfo/{name}") for name in opened)


def _locks(info: str) -> bool:
    """Return whether the open file of an fdinfo path holds an exclusive flock: the `lock:` lines of proc(5)."""
    try:
        with open(info, encoding="ascii", errors="replace") as file:
            return any("FLOCK" in line and "WRITE" in line for line in file if line.startswith("lock:"))
    except OSError:
        return False


def kill_lock_holders(path: str) -> list[int]:
    """KILL the other processes that hold that lock and return their pids."""
    import signal  # takes a command 0.4 ms, and few kill

    pids = [pid for pid in lock_holders(path) if pid != os.getpid()]
    send(pids, signal.SIGKILL)
    return pids


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to each of these processes that still exists."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def signal_sessions(leaders: Iterable[ProcessId], number: int) -> None:
    """Send a signal to the whole session of each of `leaders` that is still that very process.

    /proc is read once for all of them: with 16 workers on a busy machine that saves a third of a second.
    """
    send(session_members({leader.pid for leader in leaders if is_same(leader)}), number)


_MOST_LEVELS = 12  # levels that are examined


def ancestors() -> list[str]:
    """Return `pid:start ticks` of each ancestor of this process, nearest first and without pid 1."""
    names: list[str] = []
    pid = os.getppid()
    while pid > 1 and len(names) < _MOST_LEVELS:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            break
        names.append(f"{pid}:{int(fields[19])}")
        pid = int(fields[1])
    return names


def levels_up(mine: list[str], theirs: tuple[str, ...]) -> int:
    """Return how many levels up the nearest common ancestor is; `_MOST_LEVELS` where there is none."""
    return next((level for level, process in enumerate(mine) if process in theirs), _MOST_LEVELS)
