"""The first tier: bubblewrap, with new namespaces, a read-only system, and only the granted folders writable.

bubblewrap resolves paths several times, and another command may swap folders and links meanwhile: it could mount a
folder that nobody granted, or the right one in another place. So it blocks once everything is mounted, and the kernel's
list of mounts (`mountinfo` of proc(5)) is compared with the request.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import time

from msgspec import Struct

import lumen_tui
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.sandbox.disks import MIB, PRIVATE_TMP
from lumen_tui.tools.sandbox.policy import Policy

# Without --new-session: the first process inside stays in the process group that ends with us, and its end ends all
# others; the command itself gets a session without a terminal (sandboxed_command.py).
_SPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
    "--cap-drop", "ALL",
)  # fmt: skip
*_TMP, _SHARED_MEMORY = PRIVATE_TMP
# /run is empty inside, except for programs (NixOS) and the resolver's configuration.
_OF_RUN = ("/run/current-system", "/run/booted-system", "/run/systemd/resolve")
# Kernel switches: root owns them, and still does without any capability.
_SWITCHES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
_SHM = 64 * MIB


def program(path: str) -> str:
    """Return the path of bubblewrap, or empty. `path` is a PATH."""
    return shutil.which("bwrap", path=path) or ""


def arguments(policy: Policy, cwd: str, *, status_fd: int, filter_fd: int, entered: bool = False) -> list[str]:
    """Return the arguments of bwrap, up to the `--` before the command. Later mounts cover earlier ones.

    `entered`: it begins in the task's network, in whose user namespace it is root whoever it is outside.
    """
    network = ["--uid", str(os.geteuid()), "--gid", str(os.getegid())] if entered else ["--unshare-net"]
    words = [*_SPACES, *([] if policy.network else network), "--ro-bind", "/", "/"]
    words += ["--dev", "/dev", "--size", str(_SHM), "--tmpfs", _SHARED_MEMORY, "--proc", "/proc", "--tmpfs", "/run"]
    for path in _OF_RUN:
        words += ["--ro-bind-try", path, path]
    words += ["--remount-ro", "/run"]
    for path in _SWITCHES:
        words += ["--ro-bind-try", path, path]
    outside = _read_only_in_tmp(policy, cwd)
    ways = _shared_tops(policy, outside)
    if policy.scratch:
        words += [word for folder in _TMP for word in _tmpfs(folder, policy.caps.tmp)]
        words += [word for folder in ways for word in ("--tmpfs", folder)]
        words += _read_only(outside)
    words += _writable(policy)
    for cover in policy.covers:
        words += ["--tmpfs", cover.folder]
        for name in cover.shown:
            path = os.path.join(cover.folder, name)
            words += ["--ro-bind-try", path, path]
        words += ["--remount-ro", cover.folder]
    if policy.scratch and any(is_below(policy.scratch, cover.folder) for cover in policy.covers):
        words += ["--bind", policy.scratch, policy.scratch]
    words += _hidden(policy)
    words += [word for folder in ways for word in ("--remount-ro", folder)]
    return [*words, "--chdir", cwd, "--json-status-fd", str(status_fd), "--seccomp", str(filter_fd)]


def _tmpfs(folder: str, size: int) -> list[str]:
    return ["--size", str(size), "--tmpfs", folder] if os.path.isdir(folder) else []


def _read_only_in_tmp(policy: Policy, cwd: str) -> list[str]:
    """Return what must be visible in the private /tmp: the folder in which the command starts, and programs."""
    own = (os.path.dirname(lumen_tui.__file__), sys.prefix, sys.base_prefix)  # a checkout may be there itself
    candidates = [cwd, *policy.shown, *own, *os.environ.get("PATH", "").split(os.pathsep)]
    return [
        path
        for path in dict.fromkeys(map(os.path.realpath, candidates))
        if os.path.isdir(path) and _in_own_tmp(path, policy) and path not in PRIVATE_TMP
    ]


def _shared_tops(policy: Policy, outside: list[str]) -> list[str]:
    """Return the folders in the private /tmp that lead to shown paths, or that were requested and not granted.

    They are read-only: files written there would be lost silently.
    """
    shown = [*policy.writable, *outside, *(cover.folder for cover in policy.covers)]
    tops = {
        os.path.join(tmp, os.path.relpath(path, tmp).split(os.sep)[0])
        for tmp in _TMP
        for path in (*shown, *(path for path, _ in policy.not_granted))
        if path != tmp and is_below(path, tmp)
    }
    return sorted(tops.difference(shown)) if policy.scratch else []


def _in_own_tmp(path: str, policy: Policy) -> bool:
    """Return whether a path is covered by the command's private /tmp."""
    shown = (*policy.writable, *(cover.folder for cover in policy.covers))
    return is_below_any(path, PRIVATE_TMP) and not is_below_any(path, shown)


def _read_only(paths: list[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind", path, path)]


def _writable(policy: Policy) -> list[str]:
    """Mount the granted folders and, over them, the protected paths. A mount cannot be renamed or removed."""
    granted = [path for path in policy.writable if path != policy.temporary]  # which has a private /tmp instead
    words = [word for path in granted for word in ("--bind", path, path)]
    words += [word for path in policy.pinned for word in ("--bind", path, path)]
    return words + [word for path in policy.protected for word in ("--ro-bind", path, path)]


def _hidden(policy: Policy) -> list[str]:
    words: list[str] = []
    for path in policy.hidden:
        covered = any(is_below(path, cover.folder) for cover in policy.covers) and not is_below(path, policy.scratch)
        if covered or is_below(path, "/run") or (policy.scratch and _in_own_tmp(path, policy)):
            continue
        if os.path.isdir(path):
            words += ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]
        elif os.path.lexists(path) and _is_within_reach(path):
            words += ["--ro-bind", "/dev/null", path]
    return words


def _is_within_reach(path: str) -> bool:
    """Return whether a command can reach a file that we see.

    A command of root has no capability and is bound by the modes of folders; what it cannot reach, bubblewrap cannot
    cover either.
    """
    if os.geteuid() != 0:
        return True
    groups, folder = {os.getegid(), *os.getgroups()}, os.path.dirname(path)
    while folder != "/":
        status = os.stat(folder)
        bit = 0o100 if status.st_uid == 0 else 0o010 if status.st_gid in groups else 0o001
        if not status.st_mode & bit and "system.posix_acl_access" not in os.listxattr(folder):
            return False
        folder = os.path.dirname(folder)
    return True


READY = "/dev/.lumen"  # mounted last, in a private folder of the command
_CLOSED = ("--remount-ro", "/dev")  # otherwise it would be memory without a limit
_TIMEOUT = 20.0  # seconds
_POLL = 0.001


class Mount(Struct, frozen=True):
    """One mount: the device, the folder or file of it, and whether it is read-only."""

    device: str
    root: str
    read_only: bool


def with_barrier(arguments: list[str], block_fd: int) -> list[str]:
    """Return the arguments of bwrap, extended to wait after the last mount until `block_fd` can be read."""
    return [*arguments, "--ro-bind", "/dev/null", READY, *_CLOSED, "--block-fd", str(block_fd)]


def check(arguments: list[str], pid: int, end_fd: int) -> str:
    """Return why the first process inside, `pid`, must not continue, or empty.

    `end_fd` becomes readable once that process has ended.
    """
    actual = _mounts_when_ready(pid, end_fd)
    if actual is None:
        return ""  # it ended earlier and gives the reason itself
    own = _read_mounts("self")
    mismatches = [
        target
        for kind, source, target in _requested(arguments)
        if not _is_as_requested(kind, source, target, own, actual)
    ]
    return f"{mismatches[0]} was changed while its sandbox was set up: try again" if mismatches else ""


def _requested(arguments: list[str]) -> list[tuple[str, str, str]]:
    """Return the requested mounts (option, source, target) below writable folders, in order."""
    mounts = []
    for at, word in enumerate(arguments):
        if word in ("--bind", "--ro-bind"):
            mounts.append((word, arguments[at + 1], arguments[at + 2]))
        elif word == "--tmpfs":
            mounts.append((word, "", arguments[at + 1]))
    writable = [target for kind, source, target in mounts if kind == "--bind" and source == target]
    last = {mount[2]: mount for mount in mounts}  # covers the earlier ones
    return [mount for mount in last.values() if is_below_any(mount[2], writable)]


def _is_as_requested(kind: str, source: str, target: str, own: dict[str, Mount], actual: dict[str, Mount]) -> bool:
    mount = actual.get(target)
    if mount is None:
        return False
    if source != target:
        return (mount.device, mount.root) != _source_of(target, own)
    return (mount.device, mount.root) == _source_of(target, own) and (kind == "--bind" or mount.read_only)


def _source_of(path: str, own: dict[str, Mount]) -> tuple[str, str]:
    """Return the device of a real path and its path on that device."""
    point = max((point for point in own if is_below(path, point)), key=len)
    mount = own[point]
    relative = os.path.relpath(path, point)
    return mount.device, mount.root if relative == os.curdir else os.path.join(mount.root, relative)


def _mounts_when_ready(pid: int, end_fd: int) -> dict[str, Mount] | None:
    """Return the mounts of a process once the last one is there; None where it ends before."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        try:
            mounts = _read_mounts(str(pid))
        except OSError:
            return None
        if READY in mounts:
            return mounts
        if select.select([end_fd], [], [], _POLL)[0]:
            return None
    raise TimeoutError(f"its sandbox was not set up after {_TIMEOUT:.0f} s")


def _read_mounts(pid: str) -> dict[str, Mount]:
    """Return the mounts by mount point; of several at one point the last, which covers the others."""
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        rows = [line.split(" ") for line in table]
    return {_unescape(row[4]): Mount(row[2], _unescape(row[3]), "ro" in row[5].split(",")) for row in rows}


def _unescape(text: str) -> str:
    """Decode the octal escapes of proc(5) for blanks and backslashes."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
