"""Folders and names: made private, moved and removed durably. The content of files is written by `files`."""

from __future__ import annotations

import os
import stat

from lumen_tui.storage import files


def make_folder(path: files.StrPath, *, durable: bool = True, below: files.StrPath = "") -> None:
    """Create a private folder (0700) durably, with missing parents; do nothing where it exists.

    The folder that it is `below` must be there, and is not made: one that is gone stays gone.
    """
    if os.path.isdir(path):
        return
    files.must_be_open(path)
    parent = files.parent(path)
    if not os.path.isdir(parent) and parent != os.fspath(below):
        make_folder(parent, durable=durable, below=below)
    try:
        os.mkdir(path, 0o700)
        if durable:
            files.sync_folder(parent)
    except FileExistsError as error:
        if not os.path.isdir(path):
            raise files.Refused(f"{path} is not a folder; move it away") from error
    except OSError as error:
        raise files.fail(path, error) from error


def close_to_others(path: files.StrPath) -> None:
    """Revoke every permission of everybody but the owner, if the path exists. The target of a link is untouched."""
    try:
        status = os.lstat(path)
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o077:
            os.chmod(path, stat.S_IMODE(status.st_mode) & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.fail(path, error) from error


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
    """Remove a file durably, if it exists."""
    try:
        os.unlink(path)
        files.sync_folder(files.parent(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.fail(path, error) from error


def remove_folder(path: files.StrPath) -> None:
    """Remove a folder if it is empty."""
    try:  # contextlib would cost the hot verbs 2 ms
        os.rmdir(path)
    except OSError:
        pass  # it is not empty, or not there


def make_durable(path: files.StrPath) -> None:
    """Sync what was appended to a file without syncing, if the file exists."""
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
    """Replace a person's own file and keep its mode. Raise OSError or StoreError."""
    mode = stat.S_IMODE(os.stat(path).st_mode)

    def write(fd: int) -> None:
        files.write_all(fd, data)
        os.fchmod(fd, mode)

    files.take_place(files.write_sibling(path, write), path)


def holder(folder: files.StrPath, name: str) -> str:
    """Return the nearest folder, from this one up, in which there is something of this name; empty without one."""
    place = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(place, name)):
        if place == "/":
            return ""
        place = os.path.dirname(place)
    return place


def discard_tree(path: files.StrPath) -> None:
    """Remove a folder of our making with all that is in it, as far as that goes: it holds nothing that is wanted."""
    for place, folders, names in os.walk(path, topdown=False):
        for name in names:
            files.discard(os.path.join(place, name))
        for folder in (os.path.join(place, name) for name in folders):
            if os.path.islink(folder):
                files.discard(folder)
            else:
                remove_folder(folder)
    remove_folder(path)
