"""What the processes of one command hold open. One look serves every limit that counts some of it, and the locks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MOST = 20_000  # open files of one command that are looked at
_MEMORY_FILE = "/memfd:"
_NOTICES = ("anon_inode:inotify", "anon_inode:[fanotify]")
MOST_NOTICES = 16  # of the 128 that most systems give to each user
MOST_IN_TRANSIT = 64
_TOUCHED = {"Rss:": 1024, "Anonymous:": -1024}  # what is private of it counts with the process's own memory
OUT_OF_SIGHT = "?"  # as a path: of a program that nobody may read, or that said that nobody may look
_WATCHES = "/proc/sys/fs/inotify/max_user_watches"


class OpenDescriptor(NamedTuple):
    """A descriptor: the process or thread below /proc that has it, its number there, and where it leads."""

    holder: str
    number: str
    path: str

    @property
    def facts(self) -> str:
        """The file in which the kernel tells of it."""
        return f"{self.holder}/fdinfo/{self.number}"


def threads(pid: int) -> Iterator[str]:
    """Where the kernel tells of a process, and then of each of its threads: the first one may have ended before the
    others. All have the same memory and, as the filter of system calls lets none part with them, descriptors."""
    yield f"/proc/{pid}"
    try:
        yield from (f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return  # it has ended


def proc_lines(pid: int, name: str) -> list[str]:
    """What a file of proc(5) tells of the memory of a process; nothing where it has ended."""
    return next(filter(None, (read_lines(f"{place}/{name}") for place in threads(pid))), [])


def open_files(pids: Iterable[int]) -> Iterator[OpenDescriptor]:
    """All descriptors of these processes; of one that does not let us look a single one without a number."""
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
    """Whether it holds nothing any more, and only waits for its parent to ask: then all of it belongs to root."""
    return not any(line.startswith("Vm") for line in read_lines(f"{place}/status"))


def memory_files(open_files: Iterable[OpenDescriptor]) -> dict[int, int]:
    """The memory files among them: the bytes that each takes, whoever wrote them, by the number of its inode."""
    opened = statuses(file for file in open_files if file.path.startswith(_MEMORY_FILE))
    return {status.st_ino: status.st_blocks * 512 for status in opened}


def statuses(open_files: Iterable[OpenDescriptor]) -> Iterator[os.stat_result]:
    """What stat(2) tells of the files that are still open; through the descriptor, as some have no name any more."""
    for file in open_files:
        try:
            yield os.stat(f"{file.holder}/fd/{file.number}")
        except OSError:
            continue


def mapped_memory_files(pids: Iterable[int]) -> dict[int, int]:
    """The same of what is mapped: the bytes that the processes have touched of each, added up."""
    sizes: dict[int, int] = {}
    for pid in pids:
        inode = 0
        for line in proc_lines(pid, "smaps"):
            words = line.split(maxsplit=5)
            if len(words) > 4 and not words[0].endswith(":"):  # where, rights, offset, device, inode, name
                inode = int(words[4]) if words[-1].startswith(_MEMORY_FILE) else 0
                sizes.setdefault(inode, 0)
            elif inode and words[0] in _TOUCHED:
                sizes[inode] += _TOUCHED[words[0]] * int(words[1])
    sizes.pop(0, None)
    return sizes


def too_many_watches(open_files: Iterable[OpenDescriptor]) -> str:
    """Why a command must end that leaves other programs of the user without notices of files; empty where not."""
    notices = [file for file in open_files if file.path in _NOTICES]
    if len(notices) > MOST_NOTICES:
        return f"it had more than {MOST_NOTICES} inotify instances, of which other programs need some as well"
    most = int(next(iter(read_lines(_WATCHES)), "0")) // 2
    if most and sum(len(read_lines(file.facts)) for file in notices) > most:
        return f"it watched more than {most:,} files and folders, of which other programs need to watch some as well"
    return ""


def in_transit(open_files: Iterable[OpenDescriptor]) -> int:
    """How many descriptors were sent through a socket and not taken yet: no process has them."""
    return sum(
        int(line.split()[1])
        for file in open_files
        if file.path.startswith("socket:")
        for line in read_lines(file.facts)
        if line.startswith("scm_fds:")
    )


def link_target(link: str) -> str:
    """Where a link leads; empty where that cannot be told."""
    try:
        return os.readlink(link)
    except OSError:
        return ""


def read_lines(path: str) -> list[str]:
    """What the kernel tells in a file; nothing where it tells nothing."""
    try:
        with open(path, "rb", buffering=0) as stream:  # a third of the time, which each look feels
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.rstrip("\n").split("\n") if text else []
