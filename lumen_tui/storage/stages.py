"""The end of an action that takes several writes, as a line of its own; light enough for the quick commands."""

from __future__ import annotations

import os

from lumen_tui.model.jsontext import dumps
from lumen_tui.storage import files, raw_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEGUN = b'"stage":"begun"'
_LARGEST = files.MAX_LINE - 4096  # bytes of changes that a line has room for
_NAMES = ("id", "at", "by", "verb")


def myself() -> str:
    """This process, as `store.process.name` has it, without what that module loads."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        ticks = file.read().rpartition(")")[2].split()[19]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
    except OSError:
        boot = ""
    return f"{os.getpid()}-{ticks}-{boot}"


def begun(record: dict[str, Any], changes: list[dict[str, Any]]) -> bytes:
    """An action that begins, as a line. Changes from the end of the list are left out where they are too long."""
    from lumen_tui.model.secrets.redaction import redact

    whole = {**record, "summary": redact(record["summary"]), "stage": "begun", "process": myself()}
    kept = list(changes)
    while kept and len(dumps(kept)) > _LARGEST:
        kept.pop()
    return raw_json.line({**whole, "changes": kept})


def end_of(lines: bytes, stage: str) -> bytes:
    """The line that says how the action on these lines ended; nothing where they have not begun one."""
    first = lines[: lines.find(b"\n")]
    begun = raw_json.decode(first) if BEGUN in first else None
    if begun is None or begun.get("stage") != "begun":
        return b""
    named = {name: begun.get(name, "") for name in _NAMES}
    return raw_json.line({**named, "target": "", "summary": "", "stage": stage})
