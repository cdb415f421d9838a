"""Who a process is: pid, start ticks and boot id together, because a pid alone comes round again."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessId:
    """One process of one boot. `start_ticks` is field 22 of /proc/<pid>/stat (proc(5))."""

    pid: int
    start_ticks: int
    boot_id: str


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
    if process.pid <= 0 or process.boot_id != boot_id():
        return False
    ticks = start_ticks(process.pid)
    return ticks != 0 and ticks == process.start_ticks and state_letter(process.pid) != "Z"


def myself() -> ProcessId:
    """This process."""
    return identify(os.getpid())


def session_members(session: int) -> list[int]:
    """Pids of the processes of a session: a worker and everything it started that did not leave it."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat_fields(int(name))) and int(fields[3]) == session:
            found.append(int(name))
    return found


def signal_session(leader: ProcessId, number: int) -> bool:
    """Send a signal to the whole session of `leader`; False where that very process is gone."""
    if not is_same(leader):
        return False
    for pid in session_members(leader.pid):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
    return True
