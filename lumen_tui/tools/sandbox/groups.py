"""A control group that limits the processes of one command for root, to whom RLIMIT_NPROC does not apply.

Where no group can be made (root in a container), the watch alone counts.
"""

from __future__ import annotations

import os

_V1, _V2 = "/sys/fs/cgroup/pids", "/sys/fs/cgroup"
_PREFIX = "lumen-"


def make(most: int) -> str:
    """Make a group for at most `most` threads and return its folder; empty where none can be made or is needed."""
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
    """Remove an empty group; one that still holds a process stays until the next sweep."""
    try:
        if folder:
            os.rmdir(folder)
    except OSError:
        pass


def refused(folder: str) -> bool:
    """Return whether the kernel refused the group a process because of its limit."""
    try:
        with open(os.path.join(folder, "pids.events"), encoding="ascii") as events:
            return any(line.startswith("max ") and line.split()[1] != "0" for line in events)
    except (OSError, IndexError):
        return False  # no group, or a kernel that does not count


def with_group(folder: str, argv: list[str]) -> list[str]:
    """Prefix `argv` with a shell that enters the group first, and does not exec the command where it cannot."""
    if not folder:
        return argv
    return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', os.path.join(folder, "cgroup.procs"), *argv]


def _parents() -> list[str]:
    """Return the folders in which a group can be made: our own (version 1), or it and its parent (version 2)."""
    own = _own()
    folders = [_V1 + own["pids"]] if "pids" in own and os.path.isdir(_V1) else []
    if "" in own:
        place = os.path.normpath(_V2 + own[""])
        folders += [
            folder for folder in (place, os.path.dirname(place)) if folder.startswith(_V2) and _has_pids(folder)
        ]
    return folders


def _own() -> dict[str, str]:
    """Return our own groups by controller; version 2 under the empty name."""
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
    """Remove the groups of workers that were killed."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        pid = name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            drop(os.path.join(parent, name))
