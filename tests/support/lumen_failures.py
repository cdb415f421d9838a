"""Work in a child process in which the n-th call on a state folder fails with an error, once or from then on.

What counts: a file that is opened, written, cut, synced or locked below the root, and a name there that is made,
changed or removed. Each call fails with what the system may answer to such a call.
"""

from __future__ import annotations

import errno
import fcntl
import os
import traceback
from pathlib import Path
from typing import Any

from lumen_kills import Act, CallWatch, repeat_random_names

_DISK = (errno.ENOSPC, errno.EIO)
_CLOSED = (errno.EROFS, errno.EACCES)
# What each kind of call may be answered.
ERRORS = {
    "open": (errno.EMFILE, errno.EIO, errno.EACCES), "create": (*_DISK, *_CLOSED, errno.EMFILE), "write": _DISK,
    "sync": (errno.EIO,), "cut": (errno.EIO,), "lock": (errno.ENOLCK,), "name": (*_DISK, *_CLOSED),
}  # fmt: skip
FINE, REFUSED, ODD = 0, 10, 1  # exit codes of the child
_NAMES = ("os.rename", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.remove", "os.chmod")
_NEVER = 1 << 30


class FailingCalls(CallWatch):
    """Lets one call fail, and with `for_good` all later ones that may be answered the same."""

    def __init__(self, root: str, at: int, error: int, *, for_good: bool, pipe: int) -> None:
        super().__init__(root, at, pipe)
        self._error, self._for_good = error, for_good
        self._begun = False

    def install(self) -> None:
        """Watch this process until it ends."""
        super().install()
        for name in ("fsync", "fdatasync"):
            setattr(os, name, self.watched("sync", getattr(os, name)))
        os.ftruncate = self.watched("cut", os.ftruncate)
        fcntl.flock = self._locking(fcntl.flock)

    def _locking(self, real: Any) -> Any:
        def flock(fd: int, operation: int) -> Any:
            if operation & ~fcntl.LOCK_NB in (fcntl.LOCK_EX, fcntl.LOCK_SH) and self.is_inside(fd):
                self.count("lock")
            return real(fd, operation)

        return flock

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count what opens a file or changes a name."""
        if event == "open":
            path, _, flags = arguments
            if self.is_inside(path) and not os.path.isdir(os.fspath(path) if not isinstance(path, int) else path):
                self.count("create" if flags & os.O_CREAT and not os.path.lexists(path) else "open")
        elif event in _NAMES and self.is_inside(arguments[0]):
            self.count("name")

    def count(self, name: str) -> None:
        """Fail where this call is the one, or behind it where that goes on."""
        kind = "write" if name in ("write", "pwrite", "writev", "sendfile", "copy_file_range") else name
        super().note(kind)
        if self.remaining == 0 or (self._begun and self._for_good and self._error in ERRORS[kind]):
            self._begun = True
            self.remaining -= 1
            raise OSError(self._error, os.strerror(self._error))
        self.remaining -= 1


def calls_of(root: Path, act: Act) -> list[str]:
    """Carry `act` out in a child process and return the kinds of its calls on the folder."""
    reading, writing = os.pipe()
    child = _forked(root, act, _NEVER, 0, for_good=False, pipe=writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        calls = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    return calls


def failed_at(call: int, error: int, root: Path, act: Act, *, for_good: bool) -> int:
    """Carry `act` out in a child whose n-th call (from 0) fails; return FINE, REFUSED, or ODD for a traceback."""
    _, status = os.waitpid(_forked(root, act, call, error, for_good=for_good, pipe=-1), 0)
    return os.waitstatus_to_exitcode(status)


def _forked(root: Path, act: Act, call: int, error: int, *, for_good: bool, pipe: int) -> int:
    child = os.fork()
    if child:
        return child
    from lumen_tui.actions.outcome import ActionError
    from lumen_tui.model.ids import BadId
    from lumen_tui.storage.files import StoreError
    from lumen_tui.storage.frontmatter import BadFile

    status = ODD
    try:
        repeat_random_names()
        FailingCalls(str(root), call, error, for_good=for_good, pipe=pipe).install()
        act()
        status = FINE
    except (ActionError, StoreError, BadId, BadFile):
        status = REFUSED  # what the command line and the room answer with a sentence
    except BaseException:  # noqa: BLE001 - a process ends here, and says how
        traceback.print_exc()
    finally:
        os._exit(status)
