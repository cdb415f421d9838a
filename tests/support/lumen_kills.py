"""Work in a child process that is killed (SIGKILL to itself) before one of its calls that change a state folder.

Such a call makes, removes, renames, cuts or writes a file or a folder below the root, or changes its mode. What only
reads, locks or syncs leaves nothing behind that a kill could show.
"""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PATHS = {"os.rename": 2, "os.link": 2, "os.symlink": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.chmod": 1,
          "os.truncate": 1}  # fmt: skip
_WRITES = ("write", "pwrite", "writev", "sendfile", "copy_file_range")
_NEVER = 1 << 30
Act = Callable[[], object]


class Failed(Exception):
    """The act raised an error."""


def state_calls(root: Path, act: Act) -> list[str]:
    """Carry `act` out in a child process and return the calls by which it changed the folder. Raise Failed."""
    reading, writing = os.pipe()
    child = _forked(root, act, _NEVER, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        calls = pipe.read().decode().splitlines()
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise Failed(f"exit code {status} after {calls}")
    return calls


def killed_before(call: int, root: Path, act: Act) -> bool:
    """Carry `act` out in a child killed before its n-th call (from 0) that changes the folder; whether it came so far.

    Raise Failed where it fails instead: else a sweep that kills nothing would pass.
    """
    _, status = os.waitpid(_forked(root, act, call, -1), 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise Failed("it failed before it was killed")
    return os.WIFSIGNALED(status)


def _forked(root: Path, act: Act, fatal: int, pipe: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        repeat_random_names()
        CallWatch(str(root), fatal, pipe).install()
        act()
        status = 0
    except BaseException:
        if pipe < 0:
            traceback.print_exc()
        raise
    finally:
        os._exit(status)


def repeat_random_names() -> None:
    """Let every run of an act make the same ids, so that their results can be compared."""
    made = 0

    def urandom(size: int) -> bytes:
        nonlocal made
        made += 1
        return hashlib.shake_128(b"%d" % made).digest(size)

    os.urandom = urandom


class CallWatch:
    """Counts the calls that change the folder, writes their names to `pipe`, and kills the process before one."""

    def __init__(self, root: str, fatal: int, pipe: int) -> None:
        self._root, self.remaining, self._pipe = root, fatal, pipe
        self._write = os.write

    def install(self) -> None:
        """Watch this process until it ends."""
        for name in _WRITES:
            setattr(os, name, self.watched(name, getattr(os, name)))
        sys.addaudithook(self.audit)

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(fd: int, *arguments: Any, **named: Any) -> Any:
            if self.is_inside(fd):
                self.count(name)
            return real(fd, *arguments, **named)

        return call

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_CREAT | os.O_TRUNC) and self.is_inside(path) and _is_made_or_cut(path, flags):
                self.count("open")
        elif any(self.is_inside(path) for path in arguments[: _PATHS.get(event, 0)]):
            self.count(event)

    def is_inside(self, path: object) -> bool:
        """Return whether this path, or that of this descriptor, is below the folder, or relative to one that may be."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        return text.startswith(f"{self._root}/") or not text.startswith(("/", "pipe:", "socket:"))

    def note(self, name: str) -> None:
        """Write the name of a call to the pipe, where there is one."""
        if self._pipe >= 0:
            self._write(self._pipe, f"{name}\n".encode())

    def count(self, name: str) -> None:
        """Kill the process where this call is the one."""
        self.note(name)
        if self.remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.remaining -= 1


def _is_made_or_cut(path: Any, flags: int) -> bool:
    if isinstance(path, int):
        return False  # a file object around a descriptor: `open` was before
    try:
        status = os.lstat(path)
    except OSError:
        return True
    return bool(flags & os.O_TRUNC and stat.S_ISREG(status.st_mode) and status.st_size)
