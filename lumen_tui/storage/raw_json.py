"""JSON lines and files without the `json` package, for commands that must start fast.

Also the begin and end lines of an action that takes several writes, which `checkpoint` and `create` write themselves.
"""

from __future__ import annotations

import os

from lumen_tui.model import jsontext
from lumen_tui.model.jsontext import decode, dumps
from lumen_tui.storage import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lumen_tui.model.jsontext import Raw

_WINDOW = 1024 * 1024  # bytes of a journal's end that are searched for a text


def line(record: Raw) -> bytes:
    """Return the record as a line of a journal. Raise files.LineTooLong."""
    data = dumps(record).encode()
    if len(data) < files.MAX_LINE:
        return files.journal_line(data)
    from lumen_tui.storage import journal  # writes other letters than ASCII in fewer bytes

    return journal.encode(record)


def read(path: files.StrPath) -> Raw | None:
    """Return the JSON object in a file; None where there is no file or no object in it."""
    try:
        return decode(files.read(path) or b"")
    except (files.StoreError, OSError):
        return None


def same_text(path: files.StrPath, node_id: str) -> Raw | None:
    """Return the newest other node with exactly the text of this one, within the end of the journal.

    None where there is none, it was deleted, or the file cannot be read.
    """
    try:
        data = _end(path)
    except (OSError, files.StoreError):
        return None
    node = _newest(data, node_id) or {}
    seen = {node_id}
    for record in _mentioning(data, node.get("content")):
        other = record.get("id")
        if not isinstance(other, str) or other in seen:
            continue
        seen.add(other)
        newest = _newest(data, other) or record
        if newest.get("content") == node["content"] and _status(newest) != "deleted":
            return newest
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
    """Yield the records whose lines hold this text as a value, the last one first."""
    if not isinstance(text, str):
        return
    for quoted in dict.fromkeys((dumps(text).encode(), b'"' + text.encode() + b'"')):
        at = len(data) if quoted in data else -1  # `in` is far quicker than `rfind` and mostly enough
        while (at := data.rfind(quoted, 0, at)) >= 0:
            at = data.rfind(b"\n", 0, at) + 1
            if record := decode(data[at : data.find(b"\n", at)]):
                yield record


def _status(record: Raw) -> object:
    meta = record.get("metadata")
    return meta.get("status") if isinstance(meta, dict) else None


BEGUN = b'"stage":"begun"'
_LARGEST = files.MAX_LINE - 4096  # bytes of changes that a line has room for
_NAMES = ("id", "at", "by", "verb")


def myself() -> str:
    """Return this process as `storage.process.name` writes it, without that module's imports."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        ticks = file.read().rpartition(")")[2].split()[19]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
    except OSError:
        boot = ""
    return f"{os.getpid()}-{ticks}-{boot}"


def begin_line(record: Raw, changes: list[Raw]) -> bytes:
    """Return the line of an action that begins. The last changes are left out where they are too long."""
    from lumen_tui.model.secrets.redaction import redact

    whole = {**record, "summary": redact(record["summary"]), "stage": "begun", "process": myself()}
    recorded = list(changes)
    while recorded and len(dumps(recorded)) > _LARGEST:
        recorded.pop()
    return line({**whole, "changes": recorded})


def end_line(lines: bytes, stage: str) -> bytes:
    """Return the line that says how the action on these lines ended; empty where they begin none."""
    first = lines[: lines.find(b"\n")]
    record = jsontext.decode(first) if BEGUN in first else None
    if record is None or record.get("stage") != "begun":
        return b""
    fields = {name: record.get(name, "") for name in _NAMES}
    return line({**fields, "target": "", "summary": "", "stage": stage})
