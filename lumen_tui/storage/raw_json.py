"""JSON lines and files for commands that must start fast: read with the C scanner alone, written by hand."""

from __future__ import annotations

import os
from _json import make_scanner

from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Raw = dict[str, Any]


_WINDOW = 1024 * 1024  # bytes of a journal's end in which a text is looked for


def _finite(number: str) -> float:
    """A float as JSON can say it: 1e400 would be infinity, which no other reader takes. ValueError."""
    value = float(number)
    if value - value != 0.0:
        raise ValueError(f"{number[:20]} is out of range")
    return value


class _Rules:
    """What the C scanner asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = staticmethod(_finite)
    parse_int = int


_scan = make_scanner(_Rules())  # type: ignore[arg-type]  # typeshed knows the class alone, C asks for its attributes


def decode(data: bytes) -> Raw | None:
    """Decode a JSON object; None where there is none that every reader can take, as msgspec's decoders judge it."""
    try:
        text = data.strip().decode()
        record, end = _scan(text, 0)
        if "\\ud" in text or "\\uD" in text:
            _refuse_lone_surrogates(record)
    except (ValueError, StopIteration, RecursionError, SystemError):  # the last: `json` itself is not loaded
        return None
    return record if isinstance(record, dict) and end == len(text) else None


def _refuse_lone_surrogates(value: Any) -> None:
    """Raise UnicodeEncodeError for half a character, which can be written nowhere: no file, database or terminal."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for key, inner in value.items():
            key.encode()
            _refuse_lone_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            _refuse_lone_surrogates(inner)


def line(record: Raw) -> bytes:
    """The record as a line of a journal, checked for length."""
    data = dumps(record).encode()
    if len(data) < files.MAX_LINE:
        return files.check_line(data)
    from lumen_tui.storage import journal  # writes other letters than ASCII in fewer bytes

    return journal.encode(record)


def read(path: files.StrPath) -> Raw | None:
    """The JSON object in a file; None where there is none, or it holds none."""
    try:
        return decode(files.read(path) or b"")
    except (files.StoreError, OSError):
        return None


def same_text(path: files.StrPath, node_id: str) -> Raw | None:
    """The newest other node that says word for word what this one says; looks at the journal's end alone.

    None where there is none there, or where it was deleted; an end that cannot be read is a hint less.
    """
    try:
        data = _end(path)
    except (OSError, files.StoreError):
        return None
    mine = _newest(data, node_id) or {}
    passed_over = {node_id}
    for record in _mentioning(data, mine.get("content")):
        other = record.get("id")
        if not isinstance(other, str) or other in passed_over:
            continue
        passed_over.add(other)
        now = _newest(data, other) or record
        if now.get("content") == mine["content"] and _status(now) != "deleted":
            return now
    return None


def _end(path: files.StrPath) -> bytes:
    fd = files.open_plain(path)
    try:
        return os.pread(fd, _WINDOW, max(0, os.fstat(fd).st_size - _WINDOW))
    finally:
        os.close(fd)


def _newest(data: bytes, node_id: str) -> Raw | None:
    return next((record for record in _mentioning(data, node_id) if record.get("id") == node_id), None)


def _mentioning(data: bytes, text: object) -> Iterator[Raw]:
    """Records in whose lines this text stands as a value, the last one first."""
    if not isinstance(text, str):
        return
    for quoted in dict.fromkeys((dumps(text).encode(), b'"' + text.encode() + b'"')):
        at = len(data) if quoted in data else -1  # far quicker than from the end, and mostly the answer
        while (at := data.rfind(quoted, 0, at)) >= 0:
            at = data.rfind(b"\n", 0, at) + 1
            if record := decode(data[at : data.find(b"\n", at)]):
                yield record


def _status(record: Raw) -> object:
    meta = record.get("metadata")
    return meta.get("status") if isinstance(meta, dict) else None
