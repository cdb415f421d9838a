"""Paths of state files that hold something else: a folder, a link, a device, a second name of a file.

Every path that `Layout` names is examined, so that a new one is included by itself. Files of policy fail closed where
their own modules read them; the records in all others are out of reach, and `files` refuses to write them.
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
    """Return the files that may forbid something: while one cannot be read, nothing that it may forbid is done."""
    return frozenset(
        (layout.kill, layout.pause, layout.pauses, layout.approved_constitution, layout.config, layout.operator)
    )


def problems(layout: Layout) -> list[Problem]:
    """Return a problem for each misplaced file, with what to do about it."""
    closed = policy(layout)
    return [
        Problem(str(path.relative_to(layout.root)), reason, _CLOSED if path in closed else _OUT_OF_REACH)
        for path, reason in _misplaced(layout)
    ]


def records(layout: Layout) -> str:
    """Return why the first file of records is out of reach; empty where none is."""
    closed = policy(layout)
    return next((reason for path, reason in _misplaced(layout) if path not in closed), "")


def _misplaced(layout: Layout) -> Iterator[tuple[Path, str]]:
    for path in layout.files():
        try:
            status = os.lstat(path)
        except OSError:
            continue  # not there, or its folder is not: that is another problem
        if (not stat.S_ISREG(status.st_mode) or status.st_nlink > 1) and (reason := _refusal(path)):
            yield path, reason


def _refusal(path: Path) -> str:
    try:
        os.close(files.open_plain(path))
    except files.StoreError as error:
        return str(error)
    except OSError:
        pass  # it was removed meanwhile, or is closed to us
    return ""
