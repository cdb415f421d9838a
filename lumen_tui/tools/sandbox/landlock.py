"""The second tier: Landlock, for systems without bubblewrap or without user namespaces.

A launcher (`launcher.py`, the standard library alone) restricts itself and execs the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

from lumen_tui.tools.files.opening import is_below_any
from lumen_tui.tools.sandbox import chmod_broker, launcher, seccomp
from lumen_tui.tools.sandbox.policy import Policy

LEAST_ABI = 6  # an older one does not stop signals to the engine and abstract UNIX sockets
_DEVICES = ("null", "zero", "full", "random", "urandom")


def abi() -> int:
    """Return the Landlock version of the kernel; 0 without Landlock."""
    if not seccomp.supported() or not sys.platform.startswith("linux"):
        return 0
    version: int = ctypes.CDLL(None).syscall(launcher.CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(0, version)


def arguments(policy: Policy, cwd: str, *, status_fd: int) -> list[str]:
    """Return the launcher's command line, up to the command itself."""
    hidden = [*policy.hidden, *_uncovered_entries(policy)]
    protected = [*policy.protected, *hidden]
    roots = [root for root in policy.writable if not is_below_any(root, protected)]
    order: launcher.LaunchOrder = {
        "unsandboxed": False,
        "cwd": cwd,
        "status": status_fd,
        "network": policy.network,
        "hidden": hidden,
        "writable": roots,
        "protected": [*protected, *(cover.folder for cover in policy.covers)],
        "devices": [f"/dev/{name}" for name in _DEVICES],
        "processes": 4 * policy.caps.processes,
        "parent": os.getpid(),
        "filter": seccomp.program(families(policy), asked=chmod_broker.calls(os.uname().machine)).hex(),
    }
    return _launcher(order)


def unsandboxed() -> list[str]:
    """Return the launcher's command line for a command without a sandbox, whose processes still end with this one."""
    return _launcher({"unsandboxed": True, "parent": os.getpid()})


def _launcher(order: launcher.LaunchOrder) -> list[str]:
    return [sys.executable, "-I", "-S", launcher.__file__, json.dumps(order)]


def families(policy: Policy) -> tuple[int, ...]:
    """Return the allowed socket families: none without a network, as Landlock ignores UDP and UNIX sockets."""
    return seccomp.INTERNET if policy.network else ()


def _uncovered_entries(policy: Policy) -> list[str]:
    """Return the entries of covered folders that are not shown."""
    paths = []
    for cover in policy.covers:
        try:
            paths += [os.path.join(cover.folder, name) for name in os.listdir(cover.folder) if name not in cover.shown]
        except OSError:
            paths.append(cover.folder)
    return paths
