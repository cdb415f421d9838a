"""JSON lines and files for commands that must start fast: read with the C scanner alone, written by hand."""

from __future__ import annotations

from _json import make_scanner

from lumen_tui.model.jsontext import dumps
from lumen_tui.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Raw = dict[str, Any]


class _Rules:
    """What the C scanner asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


_scan = make_scanner(_Rules())  # type: ignore[arg-type]  # typeshed knows the class alone, C asks for its attributes


def decode(data: bytes) -> Raw | None:
    """The JSON object in `data`, None where it holds none."""
    try:
        text = data.strip().decode()
        found, end = _scan(text, 0)
    except (ValueError, StopIteration, RecursionError, SystemError):  # the last: `json` itself is not loaded
        return None
    return found if isinstance(found, dict) and end == len(text) else None


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
