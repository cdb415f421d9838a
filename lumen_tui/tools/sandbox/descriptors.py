"""The open descriptors of one command's processes, listed once for all limits and the check for locks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

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


def link_target(link: str) -> str:
    """Return the target of a link; empty where it cannot be read."""
    try:
        return os.readlink(link)
    except OSError:
        return ""


def read_lines(path: str) -> list[str]:
    """Return the lines of a file in /proc; empty where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as stream:  # unbuffered takes a third of the time
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.rstrip("\n").split("\n") if text else []
