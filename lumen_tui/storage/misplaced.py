"""What stands in the place of a state file and is none: a folder, a link, a device, a second name of a file.

Every path that `Layout` names is looked at, so that a new one is in it by itself. What holds back (policy) fails closed
where its own module reads it; of all others what is kept there is out of reach, and writing it is refused by `files`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.model.snapshot import Problem
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout

_CLOSED = "until then nothing that it may forbid is done"
_OUT_OF_REACH = "put the file back where there was one; until then nothing can be kept in it"


def policy(layout: Layout) -> frozenset[Path]:
    """The files that forbid: while one of them cannot be read, what it may forbid is not done."""
    return frozenset(
        (layout.kill, layout.pause, layout.pauses, layout.approved_constitution, layout.config, layout.operator)
    )


def problems(layout: Layout) -> list[Problem]:
    """Each of them, with what to do about it."""
    closed = policy(layout)
    return [
        Problem(str(path.relative_to(layout.root)), why, _CLOSED if path in closed else _OUT_OF_REACH)
        for path, why in _look(layout)
    ]


def records(layout: Layout) -> str:
    """Why the first file of record is out of reach; empty where none is."""
    closed = policy(layout)
    return next((why for path, why in _look(layout) if path not in closed), "")


def _look(layout: Layout) -> Iterator[tuple[Path, str]]:
    for path in layout.files():
        try:
            there = os.lstat(path)
        except OSError:
            continue  # not there, or its folder is not: that is another problem
        if (not stat.S_ISREG(there.st_mode) or there.st_nlink > 1) and (why := _why(path)):
            yield path, why


def _why(path: Path) -> str:
    try:
        os.close(files.open_plain(path))
    except files.StoreError as error:
        return str(error)
    except OSError:
        pass  # it went meanwhile, or is closed to us
    return ""
