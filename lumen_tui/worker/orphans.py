"""Linux process settings: commands cannot outlive the worker, nor read its environment."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_PR_SET_DUMPABLE = 4
_ROUNDS = 20


def adopt() -> None:
    """Make orphans of this process its own children, so that they can be found at the end.

    It also stops being dumpable: its memory and /proc/<pid>/environ, where keys stand, are closed to its commands.
    """
    try:
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # not Linux: process groups alone


def end_all() -> None:
    """KILL every child there is, and what they leave, until none is left."""
    for _ in range(_ROUNDS):
        children = _children()
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError, PermissionError):
                pass


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as listed:
            return [int(pid) for pid in listed.read().split()]
    except (OSError, ValueError):
        return []
