"""The begin and end lines of an action that takes several writes; light enough for the hot verbs."""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files, json_scanner, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def begun(record: dict[str, Any], changes: list[dict[str, Any]]) -> bytes:
    """Return the line of an action that begins. The last changes are left out where they are too long."""
    from lumen_tui.model.secrets.redaction import redact

    whole = {**record, "summary": redact(record["summary"]), "stage": "begun", "process": myself()}
    recorded = list(changes)
    while recorded and len(dumps(recorded)) > _LARGEST:
        recorded.pop()
    return raw_json.line({**whole, "changes": recorded})


def end_of(lines: bytes, stage: str) -> bytes:
    """Return the line that says how the action on these lines ended; empty where they begin none."""
    first = lines[: lines.find(b"\n")]
    begun = json_scanner.decode(first) if BEGUN in first else None
    if begun is None or begun.get("stage") != "begun":
        return b""
    fields = {name: begun.get(name, "") for name in _NAMES}
    return raw_json.line({**fields, "target": "", "summary": "", "stage": stage})
