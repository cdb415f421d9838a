"""Folders that take a worker long to walk through.

The machine's own folders differ: where none of them is large enough, the first test that needs one creates it, once for
all processes of a run, and it is removed with the run.
"""

from __future__ import annotations

import fcntl
import functools
import itertools
import os
import shutil
import tempfile
from pathlib import Path

_ENTRIES = 40_000  # about a second of the offline playbook's walk through folders with content
_FOLDERS, _EACH = 80, 1000  # the same of empty files
_FILES, _BEGINS, _SIZE = 300, b"text\n" * 2000, 200_000_000
_NAMED = "LUMEN_LONG_WALK"


def name_it() -> None:
    """Name the folder of the whole run, before processes are started that share it."""
    os.environ.setdefault(_NAMED, os.path.join(tempfile.gettempdir(), f"lumen-walk-{os.getpid()}"))


def remove() -> None:
    """Remove the folder at the end of the run, if it was named."""
    if path := os.environ.pop(_NAMED, ""):
        shutil.rmtree(path, ignore_errors=True)


@functools.cache
def long_walk() -> str:
    """Return a folder whose walk takes about a second."""
    for path in ("/usr/share", "/usr/lib"):
        entries = (name for _, folders, names in os.walk(path) for name in (*folders, *names))
        if next(itertools.islice(entries, _ENTRIES, None), None) is not None:
            return path
    return _create()


def _create() -> str:
    top = Path(os.environ[_NAMED])
    top.mkdir(exist_ok=True)
    with open(top / "made", "a", encoding="ascii") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        if not marker.tell():
            _fill(top)
            marker.write("yes")
    return str(top)


def _fill(top: Path) -> None:
    for folder in range(_FOLDERS):
        (top / str(folder)).mkdir()
        fd = os.open(top / str(folder), os.O_DIRECTORY)
        for number in range(_EACH):
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd))
        os.close(fd)


def endless(folder: Path) -> str:
    """Fill a new folder with sparse files of many gigabytes, whose lines cannot be counted within a test."""
    folder.mkdir()
    for number in range(_FILES):
        with open(folder / f"f{number}.txt", "wb") as file:
            file.write(_BEGINS)
            file.seek(_SIZE)
            file.write(b"\n")
    return str(folder)


def shorten(folder: str) -> None:
    """Shorten the files of an endless folder, so that counting their lines ends."""
    for name in os.listdir(folder):
        os.truncate(os.path.join(folder, name), len(_BEGINS))
