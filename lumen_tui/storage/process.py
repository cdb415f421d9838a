"""Who a process is: pid, start ticks and boot id together, because a pid alone comes round again."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessId:
    """One process of one boot. `start_ticks` is field 22 of /proc/<pid>/stat (proc(5))."""

    pid: int
    start_ticks: int
    boot_id: str


@functools.cache
def boot_id() -> str:
    """The kernel's random id of this boot; empty where there is none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int:
    """When `pid` started, in clock ticks since boot; 0 where there is no such process."""
    fields = _stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 else 0


def state_letter(pid: int) -> str:
    """`R`, `S`, `T` (stopped), `Z` … of proc(5); empty where there is no such process."""
    fields = _stat_fields(pid)
    return fields[0] if fields else ""


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the command, which may itself hold spaces and brackets."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def identify(pid: int) -> ProcessId:
    """The identity of a running process."""
    return ProcessId(pid=pid, start_ticks=start_ticks(pid), boot_id=boot_id())


def is_same(process: ProcessId) -> bool:
    """Whether that very process still runs (a zombie does not)."""
    return state_of(process) not in ("", "Z", "X")


def state_of(process: ProcessId) -> str:
    """The state letter of that very process; empty where it is gone, also where its pid is another's now."""
    if process.pid <= 0 or process.boot_id != boot_id():
        return ""
    fields = _stat_fields(process.pid)
    return fields[0] if len(fields) > 19 and int(fields[19]) == process.start_ticks != 0 else ""


def open_pidfd(process: ProcessId) -> int:
    """A descriptor that becomes readable when that very process ends; -1 where it has, or where there are none."""
    try:
        fd = os.pidfd_open(process.pid)
    except (OSError, AttributeError, ValueError):
        return -1
    if is_same(process):
        return fd
    os.close(fd)
    return -1


def host() -> str:
    """This machine's name, as those who hold a lease or a lane write it. `socket` would cost each start 3 ms."""
    return os.uname().nodename


def myself() -> ProcessId:
    """This process."""
    return identify(os.getpid())


def name(process: ProcessId) -> str:
    """A process as one word, for records: `pid-ticks-boot`, with the beginning of the boot's id."""
    return f"{process.pid}-{process.start_ticks}-{process.boot_id[:8]}"


def lives(name: str) -> bool:
    """Whether the process of such a word still runs; False for what is none."""
    pid, _, rest = name.partition("-")
    ticks, _, boot = rest.partition("-")
    if not (pid.isdigit() and ticks.isdigit()) or boot != boot_id()[:8]:
        return False
    return is_same(ProcessId(int(pid), int(ticks), boot_id()))


def session_members(sessions: Set[int]) -> list[int]:
    """Pids of the processes of these sessions: workers and everything they started that did not leave them."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat_fields(int(name))) and int(fields[3]) in sessions:
            found.append(int(name))
    return found


def started_with(*words: str) -> list[int]:
    """Pids of the processes whose command line holds these words, one after the other."""
    wanted = "".join(f"\0{word}" for word in words).encode() + b"\0"
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and wanted in _command_line(name)]


def _command_line(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def lock_holders(path: str) -> list[int]:
    """Pids of the processes of ours that hold the exclusive flock on `path`; all of /proc is looked through.

    Whoever merely has the file open, to see whether it is locked, is not among them.
    """
    wanted = _stat(path)
    if wanted is None:
        return []
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _holds(name, wanted)]


def _holds(pid: str, wanted: os.stat_result) -> bool:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False  # another user's, or gone
    opened = [name for name in names if (found := _stat(f"/proc/{pid}/fd/{name}")) and os.path.samestat(found, wanted)]
    return any(_locks(f"/proc/{pid}/fdinfo/{name}") for name in opened)


def _locks(info: str) -> bool:
    """Whether the open file behind it holds an exclusive flock: the `lock:` lines of proc(5)."""
    try:
        with open(info, encoding="ascii", errors="replace") as file:
            return any("FLOCK" in line and "WRITE" in line for line in file if line.startswith("lock:"))
    except OSError:
        return False


def kill_lock_holders(path: str) -> list[int]:
    """KILL what holds that lock, but for this process; returns the pids."""
    found = [pid for pid in lock_holders(path) if pid != os.getpid()]
    send(found, signal.SIGKILL)
    return found


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to each of these that is still there."""
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

    /proc is looked through once for all of them: with 16 workers on a busy machine that is a third of a second less.
    """
    send(session_members({leader.pid for leader in leaders if is_same(leader)}), number)
