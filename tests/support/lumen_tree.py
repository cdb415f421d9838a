"""Folders that take a worker long to look through.

What the machine's own folders hold is another thing on each: where none of them is large enough, one is made by the
first test that wants it, once for all processes of a run, and goes with the run.
"""

from __future__ import annotations

import fcntl
import functools
import itertools
import os
import shutil
import tempfile
from pathlib import Path

_ENTRIES = 40_000  # about a second of the offline playbook's walk through folders in which something stands
_FOLDERS, _EACH = 80, 1000  # the same of empty files
_FILES, _BEGINS, _SIZE = 300, b"text\n" * 2000, 200_000_000
_NAMED = "LUMEN_LONG_WALK"


def name_it() -> None:
    """Once for the whole run, before processes are started that share it."""
    os.environ.setdefault(_NAMED, os.path.join(tempfile.gettempdir(), f"lumen-walk-{os.getpid()}"))


def remove() -> None:
    """At the end of the run, also of one that ended before it had a name for them."""
    if named := os.environ.pop(_NAMED, ""):
        shutil.rmtree(named, ignore_errors=True)


@functools.cache
def long_walk() -> str:
    """A folder whose walk lasts, but not for seconds after a test has seen it."""
    for path in ("/usr/share", "/usr/lib"):
        entries = (name for _, folders, names in os.walk(path) for name in (*folders, *names))
        if next(itertools.islice(entries, _ENTRIES, None), None) is not None:
            return path
    return _made()


def _made() -> str:
    top = Path(os.environ[_NAMED])
    top.mkdir(exist_ok=True)
    with open(top / "made", "a", encoding="ascii") as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        if not made.tell():
            _fill(top)
            made.write("yes")
    return str(top)


def _fill(top: Path) -> None:
    for folder in range(_FOLDERS):
        (top / str(folder)).mkdir()
        fd = os.open(top / str(folder), os.O_DIRECTORY)
        for number in range(_EACH):
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd))
        os.close(fd)


def endless(folder: Path) -> str:
    """Fill a new folder with texts of many gigabytes that take no room, whose lines nobody counts within a test."""
    folder.mkdir()
    for number in range(_FILES):
        with open(folder / f"f{number}.txt", "wb") as file:
            file.write(_BEGINS)
            file.seek(_SIZE)
            file.write(b"\n")
    return str(folder)


def shorten(folder: str) -> None:
    """Let whoever counts the lines of an endless folder come to the end."""
    for name in os.listdir(folder):
        os.truncate(os.path.join(folder, name), len(_BEGINS))
