"""The first tier: bubblewrap. New namespaces, a read-only system, and only the granted folders writable."""

from __future__ import annotations

import os
import shutil
import sys

from lumen_tui.tools.files.below import is_below, is_below_any
from lumen_tui.tools.sandbox.disks import MIB, PRIVATE_TMP
from lumen_tui.tools.sandbox.policy import Policy

# Not among them: --new-session. The first process inside stays in the group that ends with us, and its end is the end
# of all inside; the command itself gets a session without a terminal (cell.py).
_SPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
    "--cap-drop", "ALL",
)  # fmt: skip
*_TMP, _SHARED_MEMORY = PRIVATE_TMP
# Below /run, which is empty inside, these are shown where they are: programs (NixOS) and the resolver's answers.
_OF_RUN = ("/run/current-system", "/run/booted-system", "/run/systemd/resolve")
# The kernel's own switches: their owner is root, and a root without any capability is that owner still.
_SWITCHES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
_SHM = 64 * MIB


def program(path: str) -> str:
    """Where bubblewrap is, or empty. `path` is a PATH."""
    return shutil.which("bwrap", path=path) or ""


def arguments(policy: Policy, cwd: str, *, status_fd: int, filter_fd: int) -> list[str]:
    """What bwrap is told, up to the `--` before the command. Later mounts lie over earlier ones."""
    words = [*_SPACES, *([] if policy.network else ["--unshare-net"]), "--ro-bind", "/", "/"]
    words += ["--dev", "/dev", "--size", str(_SHM), "--tmpfs", _SHARED_MEMORY, "--proc", "/proc", "--tmpfs", "/run"]
    for path in _OF_RUN:
        words += ["--ro-bind-try", path, path]
    words += ["--remount-ro", "/run"]
    for path in _SWITCHES:
        words += ["--ro-bind-try", path, path]
    outside = _outside(policy, cwd)
    ways = _ways(policy, outside)
    if policy.scratch:
        words += [word for folder in _TMP for word in _memory(folder, policy.caps.tmp)]
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


def _memory(folder: str, size: int) -> list[str]:
    return ["--size", str(size), "--tmpfs", folder] if os.path.isdir(folder) else []


def _outside(policy: Policy, cwd: str) -> list[str]:
    """What else must be seen of a /tmp that is the command's own: the folder it starts in, and programs."""
    candidates = [cwd, sys.prefix, sys.base_prefix, *os.environ.get("PATH", "").split(os.pathsep)]
    return [
        path
        for path in dict.fromkeys(map(os.path.realpath, candidates))
        if os.path.isdir(path) and _in_own_tmp(path, policy) and path not in PRIVATE_TMP
    ]


def _ways(policy: Policy, outside: list[str]) -> list[str]:
    """The folders in a /tmp of its own through which it gets to what stands there outside as well, and those which it
    was meant to get and does not: they take no files, or what is written there would be lost without a word."""
    shown = [*policy.writable, *outside, *(cover.folder for cover in policy.covers)]
    tops = {
        os.path.join(tmp, os.path.relpath(path, tmp).split(os.sep)[0])
        for tmp in _TMP
        for path in (*shown, *(path for path, _ in policy.not_granted))
        if path != tmp and is_below(path, tmp)
    }
    return sorted(tops.difference(shown)) if policy.scratch else []


def _in_own_tmp(path: str, policy: Policy) -> bool:
    """Whether it stands where the command has memory of its own instead."""
    shown = (*policy.writable, *(cover.folder for cover in policy.covers))
    return is_below_any(path, PRIVATE_TMP) and not is_below_any(path, shown)


def _read_only(paths: list[str]) -> list[str]:
    return [word for path in paths for word in ("--ro-bind", path, path)]


def _writable(policy: Policy) -> list[str]:
    """The granted folders, and over them what stays as it is. A mount cannot be renamed or removed."""
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
    """Whether a command gets to a file that we see. A root's keeps to the modes of folders, as it has no capability;
    what it cannot get to bubblewrap cannot cover either."""
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
