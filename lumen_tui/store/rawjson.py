"""JSON lines and files for commands that must start fast: read with the C scanner alone, written by hand."""

from __future__ import annotations

from lumen_tui.model.jsontext import dumps
from lumen_tui.store import files
from lumen_tui.store.inbox import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]

__all__ = ["decode", "line", "read"]


def line(record: Raw) -> bytes:
    """The record as a line of a journal, checked for length."""
    data = dumps(record).encode()
    if len(data) < files.MAX_LINE:
        return files.check_line(data)
    from lumen_tui.store import journal  # writes other letters than ASCII in fewer bytes

    return journal.encode(record)


def read(path: files.StrPath) -> Raw | None:
    """The JSON object in a file; None where there is none, or it holds none."""
    try:
        return decode(files.read(path) or b"")
    except (files.StoreError, OSError):
        return None
