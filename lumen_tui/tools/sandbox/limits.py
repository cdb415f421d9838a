"""Resource limits of one command, and the watch that enforces what the kernel cannot."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.roles import Limits
from lumen_tui.model.text import one_line
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.sandbox import usage
from lumen_tui.tools.sandbox.disks import MIB, Disks
from lumen_tui.tools.sandbox.usage import OpenDescriptor, ResourceUsage

if TYPE_CHECKING:
    from lumen_tui.model.config import SandboxConfig

_LEAST_FREE = 96 * MIB  # of free memory on the machine; below it a command that uses much is ended
_MOST_PROCESSES = 4096  # of one command that are looked at
_EXPENSIVE_EVERY = 5  # checks; the expensive ones run only in every fifth
_ROUNDS = 200  # of ending processes
_ROUND_SECONDS = 0.005
# What programs print when the kernel refuses them a resource.
_TOO_LARGE = lazy_re(rb"File too large|File size limit exceeded")
_NO_MEMORY = lazy_re(rb"MemoryError|Cannot allocate memory|bad_alloc|(?i:out of memory|memory exhausted)")
_TOO_OPEN = lazy_re(rb"Too many open files")
_NO_FORK = lazy_re(rb"(?i:can(?:no|')t fork|fork: )|can't start new thread")
_TOO_LONG = lazy_re(rb"CPU time limit exceeded")
_NO_SPACE = lazy_re(rb"No space left on device")
# What the kernel answers to what a sandbox refuses, with the text that programs print for it in the C locale.
_DENIALS = {
    number: os.strerror(number).lower().encode()
    for number in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENETUNREACH)
}


class Caps(Struct, frozen=True):
    """The most that one command may use, in seconds and bytes."""

    cpu_seconds: int = 900
    memory: int = 2048 * MIB
    processes: int = 256
    open_files: int = 1024
    file_size: int = 1024 * MIB
    disk: int = 4096 * MIB
    files: int = 100_000
    tmp: int = 512 * MIB


def caps(settings: SandboxConfig, limits: Limits) -> Caps:
    """Return the limits of the settings, with those that the role sets in their place."""
    return Caps(
        cpu_seconds=limits.cpu_seconds or settings.cpu_seconds,
        memory=(limits.memory_mb or settings.memory_mb) * MIB,
        processes=limits.processes or settings.processes,
        open_files=settings.open_files,
        file_size=settings.file_mb * MIB,
        disk=settings.disk_mb * MIB,
        files=settings.files,
        tmp=settings.tmp_mb * MIB,
    )


def exceeded_by_exit(code: int, most: Caps) -> str:
    """Return the limit for which the kernel ends a command with this exit code, as a sentence; else empty."""
    number = code - 128 if code > 128 else -code
    if number == signal.SIGXCPU:
        return _cpu_words(most)
    return f"it made a file of more than {most.file_size // MIB:,} MiB" if number == signal.SIGXFSZ else ""


def hints(output: bytes, most: Caps) -> list[str]:
    """Return the limits that the output seems to complain about: the kernel tells only the program itself."""
    messages = (
        (_TOO_LARGE, f"a file may have {most.file_size // MIB:,} MiB"),
        (_NO_MEMORY, f"a command may use {most.memory // MIB:,} MiB of memory"),
        (_TOO_OPEN, f"a process may have {most.open_files:,} open files"),
        (_NO_FORK, f"a command may have {most.processes:,} processes"),
        (_TOO_LONG, f"a command may use {most.cpu_seconds:,} seconds of processor time"),
        (_NO_SPACE, f"temporary files of a command may have {most.tmp // MIB:,} MiB where the tier is bubblewrap"),
    )
    return [words for pattern, words in messages if pattern.search(output)]


def denials(output: bytes) -> tuple[int, ...]:
    """Return the errors, as `errno` numbers them, with which the kernel denied something to a program that reported it.

    The kernel tells only the program itself: what it prints is the one trace there is.
    """
    printed = output.lower()
    return tuple(number for number, text in _DENIALS.items() if text in printed)


def _cpu_words(most: Caps) -> str:
    return f"it used more than {most.cpu_seconds:,} seconds of processor time"


class ResourceWatch:
    """Samples the processes of one command and tells which limit they broke.

    The kernel's limits hold for single processes, and some not at all for root; this one adds them up.
    """

    def __init__(self, most: Caps, roots: Iterable[str], state: str = "", own: str = "") -> None:
        """`state` is the folder where no file may be locked, except below `own`, since other writers would wait."""
        self._caps = most
        self._state = state
        self._own = own
        self._disks = Disks(roots, (state,) if state else (), most.disk, most.files)
        self._usage = ResourceUsage()
        self._shared = _of_the_machine("Shmem")
        self._looks = 0
        self._over = False  # whether the last check saw too much memory
        self._out_of_sight: set[str] = set()

    def check(self, pids: Iterable[int]) -> str:
        """Return why the command must end, or empty. `pids` are the processes that were started for it."""
        processes = descendants(pids, most=min(_MOST_PROCESSES, 4 * self._caps.processes))
        if len(processes) > self._caps.processes:
            return f"it had more than {self._caps.processes} processes"
        files = list(itertools.islice(usage.open_files(processes), usage.MOST + 1))
        if len(files) > usage.MOST:
            return f"it had more than {usage.MOST:,} open files"
        self._usage.sample(processes)
        if reason := self._memory(processes, files):
            return reason
        if self._usage.seconds > self._caps.cpu_seconds:
            return _cpu_words(self._caps)
        return self._disks.exceeded(self._usage, files) or self._harms_others(processes, files)

    def _memory(self, pids: list[int], open_files: list[OpenDescriptor]) -> str:
        files = usage.memory_files(open_files)
        used = self._usage.memory + sum(files.values())
        if files and used > self._caps.memory:  # files that are both open and mapped were counted twice
            mapped = usage.mapped_memory_files(pids)
            used -= sum(size for inode, size in mapped.items() if inode in files)
        over, self._over = self._over, used > self._caps.memory or self._hides_memory(pids, open_files, files)
        if over and self._over:  # in two checks: one reads process by process while pages move
            return f"it used more than {self._caps.memory // MIB:,} MiB of memory"
        if used > _LEAST_FREE and _of_the_machine("MemAvailable", _LEAST_FREE) < _LEAST_FREE:
            return f"the machine has hardly any memory left ({used // MIB:,} MiB of it were used by this command)"
        return ""

    def _hides_memory(self, pids: list[int], open_files: list[OpenDescriptor], files: dict[int, int]) -> bool:
        """Return whether memory files of the command escape the count.

        Others use memory as well, so both must hold: the machine has that much more in memory files, and the command
        has some that no process holds open (only mapped, or in transit through a socket).
        """
        more = _of_the_machine("Shmem") - self._shared - sum(files.values())
        if more <= self._caps.memory:
            return False
        return bool(usage.in_transit(open_files) or usage.mapped_memory_files(pids).keys() - files.keys())

    def _harms_others(self, pids: list[int], open_files: list[OpenDescriptor]) -> str:
        """Return why other programs would suffer from what the command holds, or empty."""
        unseen = {file.holder for file in open_files if file.path == usage.OUT_OF_SIGHT}
        hidden_twice, self._out_of_sight = unseen & self._out_of_sight, unseen
        if hidden_twice:
            return "it keeps out of sight what it has open"
        self._looks += 1
        if not self._looks % _EXPENSIVE_EVERY:
            if usage.in_transit(open_files) > usage.MOST_IN_TRANSIT:
                return f"it had more than {usage.MOST_IN_TRANSIT} open files on the way between its processes"
            if reason := usage.too_many_watches(open_files) or self._disks.exceeded_in_memory(pids):
                return reason
        return _foreign_lock(pids, open_files, self._state, self._own) if self._state else ""


def descendants(pids: Iterable[int], *, most: int = _MOST_PROCESSES) -> list[int]:
    """Return these processes and their descendants, at most about `most`."""
    tree: list[int] = []
    pending = list(pids)
    seen = set(pending)
    while pending and len(tree) <= most:
        pid = pending.pop()
        tree.append(pid)
        fresh = [child for child in children(pid) if child not in seen]
        seen.update(fresh)
        pending += fresh
    return tree


def end(pids: Iterable[int]) -> None:
    """KILL these processes and their descendants; STOP them first, so that none forks away meanwhile."""
    tops = list(pids)
    for _ in range(_ROUNDS):
        alive = [pid for pid in descendants(tops) if not _is_gone(pid)]
        if not alive:
            return
        for signal_number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                try:
                    os.kill(pid, signal_number)
                except (ProcessLookupError, PermissionError):
                    pass
        tops = list({*tops, *alive})
        time.sleep(_ROUND_SECONDS)


def wait_gone(pid: int) -> None:
    """Wait, up to a second, for a killed process to be gone."""
    for _ in range(_ROUNDS):
        if _is_gone(pid):
            return
        time.sleep(_ROUND_SECONDS)


def _is_gone(pid: int) -> bool:
    """Return whether a process has ended, reaped or not. Its first thread may end before the others."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return fields[0] in "ZX" and int(fields[17]) <= 1
    except (OSError, IndexError):
        return True


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process; empty where it is gone."""
    pids: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as listed:
                pids += [int(child) for child in listed.read().split()]
    except (OSError, ValueError):
        pass
    return pids


def _of_the_machine(name: str, unknown: int = 0) -> int:
    """Return one row of /proc/meminfo in bytes."""
    for line in usage.read_lines("/proc/meminfo"):
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return unknown


def _foreign_lock(pids: list[int], open_files: list[OpenDescriptor], folder: str, own: str) -> str:
    """Return why these processes must end: they lock a file in `folder`, outside `own`. Else empty.

    The kernel lets everybody lock what they can open. Writers there would wait for the command, and a dead worker whose
    lock it holds would seem alive.

    `open_files` are their descriptors.
    """
    for file in open_files:
        if _is_foreign(file.path, folder, own) and any(
            line.startswith("lock:") for line in usage.read_lines(file.facts)
        ):
            return _lock_words(file.path)
    return _lock_on_mapped_file(pids, folder, own)


def _lock_on_mapped_file(pids: list[int], folder: str, own: str) -> str:
    """Return the same for mapped files, which stay open, and locked, after their descriptor is closed."""
    locked = _locked_inodes(set(map(str, pids)))
    for pid in pids if locked else []:
        for line in usage.proc_lines(pid, "maps"):
            words = line.rstrip("\n").split(maxsplit=5)  # address, rights, offset, device, inode, name
            if len(words) == 6 and words[4] in locked and _is_foreign(words[5], folder, own):
                return _lock_words(words[5])
    return ""


def _locked_inodes(holders: set[str]) -> set[str]:
    """Return the inode numbers of the files that these processes locked."""
    inodes = set()
    for line in usage.read_lines("/proc/locks"):
        words = line.split()
        if len(words) > 5 and words[4] in holders:
            inodes.add(words[5].rpartition(":")[2])
    return inodes


def _is_foreign(path: str, folder: str, own: str) -> bool:
    return is_below(path, folder) and not (own and is_below(path, own))


def _lock_words(path: str) -> str:
    return f"it locked {one_line(path, 200)}, for which others would wait"
