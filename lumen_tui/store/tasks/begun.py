"""Whether a task has begun a call that must not be repeated automatically: a change, or what a person allowed once.

Its worker notes it right before the first such call. So a task without that note can be retried whatever its role may
do. Where a worker did not keep such notes it is unknown, and counts as begun.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from lumen_tui.model.tasks import Run
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.store.tasks.task_records import read_json

_NAME = "begun.json"


class FirstUnrepeatableCall(Struct, frozen=True):
    """tasks/<id>/begun.json: the first call that must not be repeated."""

    at: str
    attempt: int
    tool: str


def note(folder: Path, attempt: int, tool: str, now: float) -> None:
    """Note that such a call begins now. StoreError where that cannot be written: make no call then."""
    if not os.path.lexists(folder / _NAME):
        files.replace(folder / _NAME, msgspec.json.encode(FirstUnrepeatableCall(iso(now), attempt, tool)))


def nothing_begun(folder: Path, attempt: int) -> bool:
    """Return whether no attempt up to this one began such a call."""
    if os.path.lexists(folder / _NAME):
        return False
    runs = (_run(folder, number) for number in range(1, attempt + 1))
    return all(run is not None and run.notes_begun for run in runs)


def _run(folder: Path, attempt: int) -> Run | None:
    """Return the record of an attempt: the present one's, or that of an earlier one."""
    present = read_json(folder / "run.json", Run)
    if present is not None and present.attempt == attempt:
        return present
    return read_json(folder / f"run.{attempt}.json", Run)
