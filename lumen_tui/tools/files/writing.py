"""Files that a worker changes for its task: written whole or not at all, and never through a link.

They are not state files. A file keeps its mode and owner; its folder is opened part by part without following
links, so that nobody can put a link in the way between the check and the write.
"""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import ToolError
from lumen_tui.tools.files import opening

_MODE = 0o644
MAX_BYTES = 4 * 1024 * 1024  # of a file that is changed as a whole


class FileChange(Struct, frozen=True):
    """One file before and after; None where there is none. `path` is real and absolute."""

    path: str
    before: bytes | None
    after: bytes | None


def read_whole(path: str) -> bytes | None:
    """The content of a file that is to be changed; None where there is none. ToolError where it cannot be one."""
    try:
        fd = opening.file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(f"{one_line(path)} cannot be read: {error.strerror}") from error
    with os.fdopen(fd, "rb") as stream:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{one_line(path)} is not a regular file")
        if status.st_size > MAX_BYTES:
            raise ToolError(f"{one_line(path)} has {status.st_size:,} bytes; files up to {MAX_BYTES:,} are changed")
        return stream.read(MAX_BYTES + 1)


def _stat(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _new_mode(folder: int) -> int:
    """What a new file gets: nobody else sees it in a folder that is closed to them, such as a task's own."""
    return _MODE if stat.S_IMODE(os.fstat(folder).st_mode) & 0o077 else 0o600


def _put(fd: int, name: str, data: bytes) -> None:
    """Write `name` in an open folder through a synced sibling, with the mode and owner that it had."""
    before = _stat(fd, name)
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise OSError(f"{name} is not a regular file any more")
    temporary = f".{name[:100]}.{os.urandom(6).hex()}.tmp"
    out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
    try:
        with os.fdopen(out, "wb") as stream:
            if before is not None and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(out, before.st_uid, before.st_gid)
            os.fchmod(out, stat.S_IMODE(before.st_mode) & 0o777 if before is not None else _new_mode(fd))
            stream.write(data)
            stream.flush()
            os.fsync(out)
        os.replace(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        os.unlink(temporary, dir_fd=fd)
        raise
    os.fsync(fd)


def _apply(path: str, data: bytes | None) -> None:
    folder, name = os.path.split(path)
    with opening.folder(folder, make=data is not None) as fd:
        if data is None:
            os.unlink(name, dir_fd=fd)
        else:
            _put(fd, name, data)


def carry_out(changes: list[FileChange]) -> None:
    """Make all changes, or none where one fails. ToolError says which one, and what was put back.

    Files that differ from `before` are refused: somebody changed them since they were looked at.
    """
    for change in changes:
        if read_whole(change.path) != change.before:
            raise ToolError(f"{one_line(change.path)} was changed meanwhile: read it again; nothing was written")
    applied: list[FileChange] = []
    for change in changes:
        try:
            _apply(change.path, change.after)
        except OSError as error:
            undone = _put_back(applied)
            reason = error.strerror or str(error)
            raise ToolError(f"{one_line(change.path)} could not be written: {reason}; {undone}") from error
        applied.append(change)


def _put_back(applied: list[FileChange]) -> str:
    """Undo what was done; a sentence about it."""
    failed = []
    for change in reversed(applied):
        try:
            _apply(change.path, change.before)
        except OSError:
            failed.append(one_line(change.path))
    return f"could not be put back: {', '.join(failed)}" if failed else "nothing was changed"
