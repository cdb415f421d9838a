"""The primitives that every state file goes through: append, replace, read, lock.

The rules (measured on ext4 and tmpfs; docs/state-files.md gives the reasons):

* An append takes the exclusive lock, checks that the path still is the file it opened, closes off a torn
  tail, writes whole lines in one `write()`, unlocks, and only then syncs and returns. Syncing outside the
  lock lets eight writers share the disk.
* A write that fails half-way is cut back to the old size while the lock is still held.
* A replace writes and syncs a sibling first, so a reader sees the old file or the new one, never a part.
* Nothing follows a link, opens a device or trusts a file of another user.

This module is on the path of the hot verbs: it imports nothing that they would not load anyway.
"""

from __future__ import annotations

import fcntl
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    StrPath = str | Path

MAX_LINE = 64 * 1024  # what we write
MAX_READ_LINE = 1024 * 1024  # what a reader takes before it reports and skips
_WRITE_CHUNK = 1024 * 1024  # a kill inside a larger write tears it
COMMON = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class StoreError(Exception):
    """A state file could not be used; the text says which one, why, and what to do."""


class Refused(StoreError):
    """The path is a link, a device, shared by hard links or owned by somebody else."""


class NotWritten(StoreError):
    """Nothing was acknowledged: the disk is full, read-only or failing."""


class LineTooLong(StoreError):
    """A record longer than MAX_LINE; large text belongs in a file of its own."""


_sealed: dict[str, str] = {}  # folders into which this process writes nothing, and why


def seal(root: StrPath, reason: str) -> None:
    """Let all writing below `root` fail with this reason from now on; an empty one lifts that."""
    if reason:
        _sealed[os.fspath(root)] = reason
    else:
        _sealed.pop(os.fspath(root), None)


def must_be_open(path: StrPath) -> None:
    """Raise Refused where `path` is in a folder that was sealed."""
    for root, reason in _sealed.items():
        if os.fspath(path).startswith(f"{root}/"):
            raise Refused(reason)


def fail(path: StrPath, error: OSError) -> StoreError:
    """Return the StoreError that says what to do about `error`."""
    import errno  # part of the interpreter: no file is opened for it

    if error.errno == errno.ELOOP:
        return Refused(f"{path} is a symbolic link; state files must be plain files: replace it")
    if error.errno in (errno.EISDIR, errno.ENXIO):
        return Refused(f"{path} is not a regular file; move it away")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NotWritten(f"{path}: the disk is full; nothing was written. Free some space and try again")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return NotWritten(f"{path}: not writable ({error.strerror}); nothing was written")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return NotWritten(f"{path}: too many files are open; nothing was written. Raise the limit (ulimit -n)")
    return NotWritten(f"{path}: {error.strerror or error}; nothing was acknowledged")


class failing:  # noqa: N801 - used like a function; contextlib would cost the hot verbs 2 ms
    """`with failing(path)`: an OSError inside becomes the StoreError that says what to do about it."""

    def __init__(self, path: StrPath) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise fail(self._path, error) from error


def plain(fd: int, path: StrPath) -> int:
    """Return `fd` where it is a plain file that only we own; else close it and raise Refused."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        reason = "is not a regular file; move it away"
    elif status.st_nlink > 1:
        reason = f"has {status.st_nlink} hard links; state files must have one"
    elif status.st_uid != os.geteuid():
        reason = f"belongs to user {status.st_uid}; state files must be yours"
    else:
        return fd
    os.close(fd)
    raise Refused(f"{path} {reason}")


def shared_above(path: StrPath) -> str:
    """Return the first folder above in which other users could replace `path`, or the empty string.

    They may rename what is in a world-writable folder, unless its sticky bit is set.
    """
    above = os.path.realpath(path)
    while above != (above := os.path.dirname(above)):
        try:
            mode = os.stat(above).st_mode
        except OSError:
            continue  # closed to us, and so to them
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return above
    return ""


def sync_folder(folder: StrPath) -> None:
    """Make the names in `folder` durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def parent(path: StrPath) -> str:
    """Return the folder that `path` is in."""
    return os.path.dirname(os.fspath(path)) or "."


def _open_log(path: StrPath) -> int:
    """Open a journal for appending; create it (0600, its name synced) where it is missing."""
    must_be_open(path)
    flags = os.O_RDWR | os.O_APPEND | COMMON
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        fd = os.open(path, flags | os.O_CREAT, 0o600)
        sync_folder(parent(path))
    return plain(fd, path)


def _is_current(fd: int, path: StrPath) -> bool:
    """Return whether `path` still names the open file; after a rewrite it does not."""
    opened = os.fstat(fd)
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)


def lock_log(path: StrPath) -> int:
    """Return an open, exclusively locked descriptor of the journal that is at `path` now."""
    while True:
        fd = _open_log(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_current(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _write_whole(fd: int, data: bytes, size: int) -> None:
    """Write all of `data` at the end or leave the file `size` bytes long."""
    try:
        write_all(fd, data)
    except BaseException:
        os.ftruncate(fd, size)
        raise


def append_locked(fd: int, data: bytes) -> int:
    """Append whole lines to a locked journal and return the offset at which they begin.

    A torn last line is closed off first, so that it spoils itself and nothing else.
    """
    size = os.fstat(fd).st_size
    torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    _write_whole(fd, b"\n" + data if torn else data, size)
    return size + torn


def append(path: StrPath, data: bytes, *, durable: bool = True) -> int:
    """Append `data`, one or more whole lines, and return the offset at which it begins once it is durable.

    Raise Refused, or NotWritten, after which nothing may be taken as recorded.
    """
    with locked_log(path, durable=durable) as fd:
        return append_locked(fd, data)


def journal_line(line: bytes, most: int = MAX_LINE) -> bytes:
    """Return `line` with its newline and without secrets. Raise LineTooLong where its journal does not take it."""
    from lumen_tui.model import secrets  # a command that only reads does not need it

    if secrets.may_hold(line):
        from lumen_tui.storage.redaction import clean_line  # only where a secret is possible, for the hot verbs

        line = clean_line(line)
    if len(line) >= most:
        raise LineTooLong(f"the record has {len(line):,} bytes, a journal takes {most:,}: put the text in a file")
    return line + b"\n"


class locked_log:  # noqa: N801 - used like a function; contextlib would cost the hot verbs 2 ms
    """`with locked_log(path) as fd`: a journal, locked for a read and an append that belong together.

    Synced on the way out where it is `durable`, after the lock is gone. OSErrors inside the block become StoreErrors.
    """

    def __init__(self, path: StrPath, *, durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        self._fd = -1

    def __enter__(self) -> int:
        with failing(self._path):
            self._fd = lock_log(self._path)
        return self._fd

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            with failing(self._path):
                if error is None:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
                    if self._durable:
                        os.fdatasync(self._fd)
        finally:
            os.close(self._fd)
        if isinstance(error, OSError):
            raise fail(self._path, error) from error


def _temporary(path: StrPath) -> tuple[int, str]:
    must_be_open(path)
    folder, name = os.path.split(os.fspath(path))
    temporary = os.path.join(folder or ".", f".{name}.{os.urandom(6).hex()}.tmp")
    return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | COMMON, 0o600), temporary


def discard(path: str) -> None:
    """Remove a temporary file that nobody needs, as far as possible."""
    try:
        os.unlink(path)
    except OSError:
        pass  # the next start removes it


def write_sibling(path: StrPath, write: Callable[[int], None], *, durable: bool = True) -> str:
    """Write a new file beside `path`, sync it where it is `durable`, and return its name.

    Raise StoreError, with nothing left behind.
    """
    with failing(path):
        fd, temporary = _temporary(path)
        try:
            try:
                write(fd)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
        except BaseException:
            discard(temporary)
            raise
    return temporary


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of `data`, however short the single writes are."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:_WRITE_CHUNK]) :]


def take_place(temporary: str, path: StrPath, *, durable: bool = True) -> None:
    """Rename a sibling to `path`, for good where it is `durable`. Raise StoreError, with nothing left behind."""
    with failing(path):
        try:
            os.replace(temporary, path)
        except BaseException:
            discard(temporary)
            raise
        if durable:
            sync_folder(parent(path))


def replace(path: StrPath, data: bytes, *, durable: bool = True) -> None:
    """Replace the content of `path`: readers see the old content or the new, whatever is killed when.

    What is not `durable` may be gone, or empty, once the machine itself has failed.
    """
    take_place(write_sibling(path, lambda fd: write_all(fd, data), durable=durable), path, durable=durable)


def open_plain(path: StrPath) -> int:
    """Return a descriptor for reading a plain file of ours.

    Raise FileNotFoundError, NotADirectoryError and PermissionError as they are, StoreError for anything else.
    """
    try:
        fd = os.open(path, os.O_RDONLY | COMMON)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise
    except OSError as error:
        raise fail(path, error) from error
    return plain(fd, path)


def read(path: StrPath, limit: int = 16 * 1024 * 1024) -> bytes | None:
    """Return the content, at most `limit` bytes; None where there is no file. Raise Refused for links and devices."""
    try:
        fd = open_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        parts = []
        size = os.fstat(fd).st_size + 1  # all at once: one piece is not copied again when it is joined
        while limit > 0 and (part := os.read(fd, min(limit, max(size, _WRITE_CHUNK)))):
            parts.append(part)
            limit -= len(part)
            size = 0
        return b"".join(parts)
    finally:
        os.close(fd)


def open_append(path: StrPath) -> int:
    """Return a descriptor for a program's own output (worker.log): created private, appended to, never a link."""
    must_be_open(path)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | COMMON, 0o600)
    except OSError as error:
        raise fail(path, error) from error
    os.set_blocking(plain(fd, path), True)
    return fd
