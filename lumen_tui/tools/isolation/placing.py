"""Puts accepted files into the operator's folder: whole or not at all, with modes and links, following none."""

from __future__ import annotations

import os
import stat

from lumen_tui.model.changelist import FileChange, FileSide
from lumen_tui.tools.files import opening
from lumen_tui.tools.isolation import records

_RUN, _READ = 0o111, 0o444
_CHUNK = 1024 * 1024


class Unplaceable(Exception):
    """A file that cannot be put where the change has it; the text says why."""


def name_of(change: FileChange) -> str:
    """Return the path of a change below the top, as the file system has it. Raise Unplaceable for one that is none."""
    import base64

    name = os.fsdecode(base64.b64decode(change.raw)) if change.raw else change.path
    parts = name.split("/")
    if name.startswith("/") or not name or "\0" in name or {"", ".", ".."} & set(parts):
        raise Unplaceable("its name leads out of the folder")
    if any(part.lower().rstrip(". ") == ".git" or part.lower().startswith("git~") for part in parts):
        raise Unplaceable("it would be a part of .git")
    return name


def target_of(top: str, change: FileChange) -> str:
    """Return the absolute path of a change; Unplaceable where the way there leads through a link or a file."""
    name = name_of(change)
    real = os.path.realpath(top)
    place = real
    for part in name.split("/")[:-1]:
        place = os.path.join(place, part)
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            break
        if not stat.S_ISDIR(mode):
            raise Unplaceable(f"{part} on the way to it is {'a link' if stat.S_ISLNK(mode) else 'no folder'}")
    path = os.path.join(real, name)
    _check_case(path)
    return path


def _check_case(path: str) -> None:
    """Raise Unplaceable where a file system that ignores case would take another file for this one."""
    folder, name = os.path.split(path)
    if not os.path.lexists(path):
        return
    names = os.listdir(folder)
    if name not in names and (other := next((entry for entry in names if entry.lower() == name.lower()), "")):
        from lumen_tui.tools.isolation.copies import escaped

        raise Unplaceable(f"{escaped(other)} is there, and here names differ by more than case")


def side_there(path: str) -> FileSide | None:
    """Return what is at a target now. Unplaceable for a folder, a pipe and what cannot be read."""
    try:
        return records.side_of(path)
    except IsADirectoryError as error:
        raise Unplaceable("there is a folder, or no plain file, in its place") from error
    except OSError as error:
        raise Unplaceable(f"what is there cannot be read: {error.strerror}") from error


def mode_for(after: FileSide, there: FileSide | None) -> int:
    """Return the mode of an accepted file: that of the file that is there, which can be run if the task's can."""
    mode = there.mode if there is not None and not there.link else 0o644
    return mode | ((mode & _READ) >> 2) if after.mode & 0o100 else mode & ~_RUN


def put(path: str, side: FileSide | None, content: str) -> None:
    """Put a side at the absolute `path`, with exactly its mode; `content` is where its bytes are. OSError."""
    folder, name = os.path.split(path)
    if side is None:
        _remove(path)
        return
    with opening.folder(folder, make=True) as fd:
        temporary = f".{name[:100]}.{os.urandom(6).hex()}.tmp"
        try:
            if side.link:
                with open(content, "rb") as stream:
                    os.symlink(os.fsdecode(stream.read()), temporary, dir_fd=fd)
            else:
                _write(fd, temporary, side, content)
            os.replace(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        except BaseException:
            _discard(fd, temporary)
            raise
        os.fsync(fd)


def _write(fd: int, temporary: str, side: FileSide, content: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    out = os.open(temporary, flags, 0o600, dir_fd=fd)
    with os.fdopen(out, "wb") as stream, open(content, "rb") as source:
        while part := source.read(_CHUNK):
            stream.write(part)
        stream.flush()
        os.fchmod(out, side.mode & 0o777)
        os.fsync(out)


def _discard(fd: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=fd)
    except OSError:
        pass  # it was not made, or is in its place already


def _remove(path: str) -> None:
    """Remove a file; a folder that held nothing else goes with it, as git has it."""
    folder, name = os.path.split(path)
    try:
        with opening.folder(folder) as fd:
            os.unlink(name, dir_fd=fd)
            os.fsync(fd)
    except FileNotFoundError:
        return
