"""Opens what is at a real path, following no link on the way. Standard library alone: the launcher imports it.

The path of a tool call is checked first and used later, and a command of the same task may swap folders and links in
between. It gets an error then, and never what a link leads to.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_FOLDER_MODE = 0o755
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WAY = _FOLDER | getattr(os, "O_PATH", 0)  # needs no right to list it
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def folder(path: str, *, make: bool = False) -> Iterator[int]:
    """Yield a descriptor of the folder with the real path `path`; missing parts are made where `make` says so."""
    fd = _opened(path, _FOLDER, make=make)
    try:
        yield fd
    finally:
        os.close(fd)


def file(path: str) -> int:
    """Return a descriptor for reading the file with the real path `path`; never waits for a pipe's other end."""
    fd = os.open(path, os.O_RDONLY | _FILE)
    if _path_of(fd) == path:
        return fd  # a fifth of the time, which a search through many files feels
    os.close(fd)
    above, name = os.path.split(path)
    fd = _opened(above, _WAY, make=False)
    try:
        return os.open(name, os.O_RDONLY | _FILE, dir_fd=fd)
    finally:
        os.close(fd)


def _path_of(fd: int) -> str:
    """Return the path of an open file, as the kernel says; empty where it does not."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def _opened(path: str, last: int, *, make: bool) -> int:
    parts = [part for part in path.split("/") if part]
    fd = os.open("/", _WAY if parts else last)
    for number, part in enumerate(parts, start=1):
        above = fd
        try:
            fd = _enter(above, part, last if number == len(parts) else _WAY, make=make)
        finally:
            os.close(above)
    return fd


def _enter(above: int, name: str, flags: int, *, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, _FOLDER_MODE, dir_fd=above)
    return os.open(name, flags, dir_fd=above)


def is_below(path: str, root: str) -> bool:
    """Return whether the real path `path` is `root` or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def is_below_any(path: str, roots: Iterable[str]) -> bool:
    """Return whether the real path `path` is one of `roots` or below one."""
    return any(is_below(path, root) for root in roots)
