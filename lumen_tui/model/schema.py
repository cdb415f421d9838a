"""The number of a state folder's form: which version may write into it, and what an upgrade did.

It grows where a version writes what the one before it would not understand. A folder without the record is of number 1.
"""

from msgspec import Struct

from lumen_tui import STATE_SCHEMA

FIRST = 1  # of folders without a record: up to version 0.2


class StateSchema(Struct, frozen=True):
    """The record in `schema.json`. Its first field is written first: the hot verbs read no more than that."""

    schema: int
    program: str = ""  # the version that wrote it
    at: str = ""
    before: int = 0  # the number before the last upgrade; 0 where there was none
    backup: str = ""  # what that upgrade saved, by its path below the state folder


def newer(record: StateSchema, root: str) -> str:
    """Return why this version must not write into a folder, and what to do; empty where it may."""
    if record.schema <= STATE_SCHEMA:
        return ""
    key = " --identity FILE" if record.backup.endswith(".age") else ""
    back = f", or go back to before its upgrade: `lumen-tui restore {root}/{record.backup} --replace{key}`"
    return (
        f"{root} is of lumen-tui {record.program} (state schema {record.schema}, this version knows {STATE_SCHEMA}): "
        f"it can be read and not be written; install that version{back if record.backup else ''}"
    )
