"""The task's events: redacted, safe and short, appended as they happen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import safe
from lumen_tui.model.times import iso
from lumen_tui.storage.journal import Journal

_MAX_TEXT = 4000  # characters of one event; results in full stand in result.md


class Recorder:
    """Appends TaskEvent lines."""

    def __init__(
        self,
        journal: Journal,
        attempt: int,
        now: Callable[[], float],
        redact: Callable[[str], str],
        guard: Callable[..., AbstractContextManager[None]],
    ) -> None:
        self._journal, self._attempt, self._now = journal, attempt, now
        self._redact, self._guard = redact, guard
        self.said = ""  # by the model since the last result: the words around the call that it makes

    def event(self, kind: str, text: str = "", *, tool: str = "", ok: bool = True, **data: Any) -> None:
        """Append one event. `data` holds numbers and short names only: it is not redacted."""
        clean = self._redact(safe(text))
        if len(clean) > _MAX_TEXT:
            clean = f"{clean[:_MAX_TEXT]}… ({len(clean) - _MAX_TEXT:,} more characters)"
        record = TaskEvent(
            at=iso(self._now()), kind=kind, text=clean, tool=tool, ok=ok, attempt=self._attempt, data=data
        )
        if kind in ("text", "result"):
            self.said = f"{self.said}{clean}"[-_MAX_TEXT:] if kind == "text" else ""
        with self._guard(step=kind == "call"):  # between two calls a worker may be asked to rest or to end
            self._journal.append(record)
