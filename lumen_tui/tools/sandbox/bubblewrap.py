"""The first tier: bubblewrap, with new namespaces, a read-only system, and only the granted folders writable."""

from __future__ import annotations

import os
import shutil
import sys

from lumen_tui.tools.files.below import is_below, is_below_any
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


def arguments(policy: Policy, cwd: str, *, status_fd: int, filter_fd: int) -> list[str]:
    """Return the arguments of bwrap, up to the `--` before the command. Later mounts cover earlier ones."""
    words = [*_SPACES, *([] if policy.network else ["--unshare-net"]), "--ro-bind", "/", "/"]
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
    candidates = [cwd, sys.prefix, sys.base_prefix, *os.environ.get("PATH", "").split(os.pathsep)]
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
    words = [word for path in policy.writable for word in ("--bind", path, path)]
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
