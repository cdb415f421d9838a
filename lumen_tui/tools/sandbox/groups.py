"""A control group that counts the processes of one command: for root, whom no other limit of the kernel holds.

Everybody else gets RLIMIT_NPROC. Where no group can be made (root in a container), the watch alone looks.
"""

from __future__ import annotations

import os

_V1, _V2 = "/sys/fs/cgroup/pids", "/sys/fs/cgroup"
_PREFIX = "lumen-"


def make(most: int) -> str:
    """The folder of a new group for at most `most` threads; empty where there is none to be had, or none is needed."""
    if os.getuid() != 0:
        return ""
    for parent in _parents():
        _sweep(parent)
        folder = os.path.join(parent, f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
        try:
            os.mkdir(folder)
        except OSError:
            continue
        if _set(os.path.join(folder, "pids.max"), str(most)):
            return folder
        drop(folder)
    return ""


def drop(folder: str) -> None:
    """Take an empty group away; one that still holds a process stays until the next sweep."""
    try:
        if folder:
            os.rmdir(folder)
    except OSError:
        pass


def refused(folder: str) -> bool:
    """Whether the kernel refused it a process, since it had as many as it may."""
    try:
        with open(os.path.join(folder, "pids.events"), encoding="ascii") as events:
            return any(line.startswith("max ") and line.split()[1] != "0" for line in events)
    except (OSError, IndexError):
        return False  # no group, or a kernel that does not count


def with_group(folder: str, argv: list[str]) -> list[str]:
    """`argv` behind a shell that enters the group first; the command is not begun where it cannot."""
    if not folder:
        return argv
    return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', os.path.join(folder, "cgroup.procs"), *argv]


def _parents() -> list[str]:
    """Where a group can be made: in our own (version 1), or beside or in it (version 2)."""
    own = _own()
    folders = [_V1 + own["pids"]] if "pids" in own and os.path.isdir(_V1) else []
    if "" in own:
        place = os.path.normpath(_V2 + own[""])
        folders += [
            folder for folder in (place, os.path.dirname(place)) if folder.startswith(_V2) and _has_pids(folder)
        ]
    return folders


def _own() -> dict[str, str]:
    """Our groups by controller; version 2 under the empty name."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as listed:
            rows = [line.rstrip("\n").split(":", 2) for line in listed]
    except OSError:
        return {}
    return {name: path for _, names, path in rows for name in names.split(",")}


def _has_pids(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "cgroup.subtree_control"), encoding="ascii") as control:
            return "pids" in control.read().split()
    except OSError:
        return False


def _set(path: str, value: str) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(fd, value.encode()) > 0
    except OSError:
        return False
    finally:
        os.close(fd)


def _sweep(parent: str) -> None:
    """Take away what workers that were killed left behind."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        pid = name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            drop(os.path.join(parent, name))
