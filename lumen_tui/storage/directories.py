"""Folders and names: made private, moved and taken away durably. What stands in the files is written by `files`."""

from __future__ import annotations

import os
import stat

from lumen_tui.storage import files


def make_folder(path: files.StrPath) -> None:
    """Create a private folder (0700) durably, with the parents it lacks; fine where it is there."""
    if os.path.isdir(path):
        return
    parent = files.parent(path)
    if not os.path.isdir(parent):
        make_folder(parent)
    try:
        os.mkdir(path, 0o700)
        files.sync_folder(parent)
    except FileExistsError as error:
        if not os.path.isdir(path):
            raise files.Refused(f"{path} is not a folder; move it away") from error
    except OSError as error:
        raise files.fail(path, error) from error


def close_to_others(path: files.StrPath) -> None:
    """Take every right away from everybody but the owner; fine where nothing is there. What a link names stays."""
    try:
        found = os.lstat(path)
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o077:
            os.chmod(path, stat.S_IMODE(found.st_mode) & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.fail(path, error) from error


def shared_above(path: files.StrPath) -> str:
    """The first folder above in which other users could put something else in the place of `path`, or nothing.

    They may rename what stands in a folder that all can write, unless its sticky bit is set.
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


def move(source: files.StrPath, target: files.StrPath) -> None:
    """Rename within the state folder, durably on both sides."""
    try:
        os.rename(source, target)
        files.sync_folder(files.parent(target))
        if files.parent(source) != files.parent(target):
            files.sync_folder(files.parent(source))
    except OSError as error:
        raise files.fail(target, error) from error


def remove(path: files.StrPath) -> None:
    """Take a file away durably; fine where there is none."""
    try:
        os.unlink(path)
        files.sync_folder(files.parent(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.fail(path, error) from error


def remove_folder(path: files.StrPath) -> None:
    """Take an empty folder away; one into which somebody has put something stays."""
    try:  # contextlib would cost the hot verbs 2 ms
        os.rmdir(path)
    except OSError:
        pass  # it is not empty, or not there


def make_durable(path: files.StrPath) -> None:
    """Sync what was appended to a file without syncing; fine where there is none."""
    try:
        fd = files.open_plain(path)
        try:
            os.fdatasync(fd)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.fail(path, error) from error


def replace_keeping_mode(path: files.StrPath, data: bytes) -> None:
    """As `files.replace`, for a person's own file: who may read it stays as it was. OSError, StoreError."""
    mode = stat.S_IMODE(os.stat(path).st_mode)

    def write(fd: int) -> None:
        files.write_all(fd, data)
        os.fchmod(fd, mode)

    files.take_place(files.write_sibling(path, write), path)
