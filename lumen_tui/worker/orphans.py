"""Linux process settings: commands cannot outlive the worker, nor read its environment."""

from __future__ import annotations

import ctypes
import os

from lumen_tui.tools.sandbox import limits

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
        children = limits.children(os.getpid())
        if not children:
            return
        limits.end(children)
        for pid in children:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
