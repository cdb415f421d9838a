"""What files held as a task last read or wrote them, found again in the record of its steps.

A step keeps the hash of each file that it read or wrote. The content itself is in what the call was given or gave, as
far as nothing in it was cut or masked; the hash says whether it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from lumen_tui.providers.conversation.history import ModelCall
from lumen_tui.providers.conversation.steps import Answer, CallEnded, Record


def contents(records: Iterable[Record]) -> dict[str, bytes]:
    """Return path -> content of those files whose content the records hold."""
    calls: dict[str, ModelCall] = {}
    by_path: dict[str, bytes] = {}
    for record in records:
        if isinstance(record, Answer):
            calls |= {call.id: call for call in record.turn.calls}
        elif isinstance(record, CallEnded):
            for path, known in record.files.items():
                before = by_path.pop(path, None)
                for data in _candidates(calls.get(record.result.call_id), record.result.text, before):
                    if hashlib.sha256(data).hexdigest() == known:
                        by_path[path] = data
    return by_path


def _candidates(call: ModelCall | None, result: str, before: bytes | None) -> Iterator[bytes]:
    """Yield what a file may hold after a call: what it was before is `before`, where that is known."""
    yield from (b"", result.encode("utf-8", "replace"), f"{result}\n".encode("utf-8", "replace"))
    given = call.arguments if call else {}
    content, old, new = (given.get(name) for name in ("content", "old_string", "new_string"))
    if isinstance(content, str):
        yield content.encode("utf-8", "replace")
    if before is not None and isinstance(old, str) and isinstance(new, str) and old:
        yield before.replace(old.encode("utf-8", "replace"), new.encode("utf-8", "replace"))
