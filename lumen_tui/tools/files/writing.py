"""Files that a worker changes for its task: which ones it may, and how they are written whole or not at all.

They are not state files. A path is checked first and used later, and a command of the same task can put a link there in
between; so the folders of the real path are opened one by one without following links. A file keeps its mode and owner.
"""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.opening import is_below
from lumen_tui.tools.sandbox import secrets
from lumen_tui.tools.sandbox.policy import obeyed_by_git, own_code, sandbox_settings, workspace, writable_roots
from lumen_tui.tools.sandbox.protected_paths import RUN_LATER

_MODE = 0o644
MAX_BYTES = 4 * 1024 * 1024  # of a file that is changed as a whole


class FileWrite(Struct, frozen=True):
    """One file before and after; None where there is none. `path` is real and absolute."""

    path: str
    before: bytes | None
    after: bytes | None


def read_whole(path: str) -> bytes | None:
    """Return the content of a file to be changed; None where there is none. ToolError where it cannot be changed."""
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
    """Return the mode of a new file: nobody else sees it in a folder that is closed to them, such as a task's own."""
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


def carry_out(changes: list[FileWrite]) -> None:
    """Make all changes, or none where one fails. ToolError says which one, and what was put back.

    Files that differ from `before` are refused: somebody changed them since they were looked at.
    """
    for change in changes:
        if read_whole(change.path) != change.before:
            raise ToolError(f"{one_line(change.path)} was changed meanwhile: read it again; nothing was written")
    applied: list[FileWrite] = []
    for change in changes:
        try:
            _apply(change.path, change.after)
        except OSError as error:
            undone = _put_back(applied)
            reason = error.strerror or str(error)
            raise ToolError(f"{one_line(change.path)} could not be written: {reason}; {undone}") from error
        applied.append(change)


def _put_back(applied: list[FileWrite]) -> str:
    """Undo what was done; a sentence about it."""
    failed = []
    for change in reversed(applied):
        try:
            _apply(change.path, change.before)
        except OSError:
            failed.append(one_line(change.path))
    return f"could not be put back: {', '.join(failed)}" if failed else "nothing was changed"


def may_write(context: Context, path: str) -> str:
    """Return why `path` (absolute, or relative to the task's files) must not be changed, or empty."""
    if not path or "\0" in path:
        return "the path is empty or holds a NUL character"
    try:
        root, below = _place(context, path)
        _check_parts(below)
        _check_file(os.path.join(root, below))
    except ToolError as error:
        return str(error)
    return ""


def _place(context: Context, path: str) -> tuple[str, str]:
    """Return the granted root that holds `path` and the path relative to it; ToolError where none does."""
    if not context.rules.write:
        raise ToolError("this task may not change files")
    named = os.path.normpath(os.path.join(workspace(context), os.path.expanduser(path)))
    real = os.path.join(os.path.realpath(os.path.dirname(named)), os.path.basename(named))
    roots = [workspace(context), *writable_roots(context, sandbox_settings(context))[0]]
    for root in sorted(roots, key=len, reverse=True):
        if is_below(real, root) and real != root:
            _check_owner(context, root, real)
            _check_bare(root, os.path.relpath(real, root))
            return root, os.path.relpath(real, root)
    raise ToolError(
        f"{one_line(path, 200)} is not in a folder that this task may change: {', '.join(roots)}. "
        "The operator can add one to [sandbox] writable in lumen.toml, or to the role's writable"
    )


def _check_owner(context: Context, root: str, real: str) -> None:
    """Raise ToolError for the state folder and the program itself, also below a granted folder."""
    for protected in (os.path.realpath(context.store.root), *own_code()):
        if is_below(real, protected) and not is_below(root, protected):
            raise ToolError(f"{one_line(real, 200)} belongs to lumen itself and is not changed by workers")


def _check_bare(root: str, below: str) -> None:
    """Raise ToolError for files that git obeys in a bare repository, or that would turn the folder into one."""
    parts, folder = below.split(os.sep), root
    for number, part in enumerate(parts):
        if secrets.BARE.issubset(secrets.names(folder)) and obeyed_by_git("/".join(parts[number:])):
            raise ToolError(f"{one_line(below, 200)}: git would run or obey it later; workers do not change it")
        folder = os.path.join(folder, part)
    if parts[-1] == "HEAD" and parts[-2:-1] != [".git"]:
        raise ToolError(f"{one_line(below, 200)}: with it git may take the folder for a repository and obey it")


def _check_parts(path: str) -> None:
    """Raise ToolError for protected names, compared without case: some file systems ignore it."""
    parts = path.casefold().split(os.sep)
    for number, part in enumerate(parts):
        inside_git = "/".join(parts[number + 1 :])
        if part == ".git" and (not inside_git or obeyed_by_git(inside_git)):
            raise ToolError(f"{one_line(path, 200)}: git would run or obey it later; workers do not change it")
    if any(part in RUN_LATER for part in parts):
        raise ToolError(f"{one_line(path, 200)}: programs run what is there when they are started beside it")
    if secrets.is_env_file(parts[-1]):
        raise ToolError(f"{one_line(path, 200)} is where secrets are kept, and is not changed")


def _check_file(path: str) -> None:
    """Raise ToolError unless the path is absent, a folder, or a plain file with one name."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ToolError(f"{one_line(path, 200)} cannot be looked at: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(f"{one_line(path, 200)} is a link; name the file itself")
    if not stat.S_ISDIR(status.st_mode) and (not stat.S_ISREG(status.st_mode) or status.st_nlink > 1):
        problem = "has a second name (a hard link)" if stat.S_ISREG(status.st_mode) else "is no plain file"
        raise ToolError(f"{one_line(path, 200)} {problem}, and is not changed")
