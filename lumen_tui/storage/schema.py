"""`schema.json`: which version a state folder is of. What a newer one wrote is read and never written.

The refusal is in `storage.files`, through which all writing goes: whoever opens a folder calls `heed` first, and from
then on the process writes nothing there, whichever verb, server or hook wants to.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui import STATE_SCHEMA, __version__
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.schema import FIRST, StateSchema, newer
from lumen_tui.storage import files


def read_schema(path: Path) -> StateSchema:
    """Return the record of a folder; of number 1 where there is none. Raise StoreError where it cannot be used."""
    try:
        data = files.read(path)
        return StateSchema(FIRST) if data is None else decode_safe(data, StateSchema)
    except (OSError, *UNDECODABLE) as error:
        raise files.Refused(
            f"{path} cannot be read ({error}), so nothing is written: remove it where no later version used the "
            "folder, and the next engine upgrades it again"
        ) from error


def heed(path: Path) -> str:
    """Return why nothing may be written into the folder, and let all of this process's writing there fail with it.

    Empty where it may be written, as again after an older state was restored.
    """
    try:
        reason = newer(read_schema(path), str(path.parent))
    except files.StoreError as error:
        reason = str(error)
    files.seal(path.parent, reason)
    return reason


def write_schema(path: Path, record: StateSchema) -> None:
    """Say durably which version the folder is of. Raise StoreError."""
    files.replace(path, msgspec.json.encode(record) + b"\n")


def begin(path: Path) -> None:
    """Say of a new folder that this version began it."""
    write_schema(path, StateSchema(STATE_SCHEMA, __version__))
