"""What was found last when the checks among a work unit's acceptance were run, after a task on it had ended."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from lumen_tui.model.acceptance import Acceptance
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.storage import directories, files
from lumen_tui.storage.layout import Layout


class UnitChecked(Struct, frozen=True, omit_defaults=True):
    """work/checked/WU-NNN.json"""

    wu_id: str
    task_id: str
    acceptance: Acceptance
    schema: int = 1


def read(layout: Layout, wu_id: str) -> UnitChecked | None:
    """Return what was found; None where nothing was run, or it cannot be read."""
    data = files.read(layout.unit_checked(wu_id))
    try:
        return None if data is None else decode_safe(data, UnitChecked)
    except UNDECODABLE:
        return None


def write(layout: Layout, record: UnitChecked) -> None:
    """Replace what was found before."""
    path = layout.unit_checked(record.wu_id)
    directories.make_folder(path.parent)
    files.replace(path, msgspec.json.encode(record))
