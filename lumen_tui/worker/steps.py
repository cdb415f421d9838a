"""tasks/<id>/steps.jsonl: the conversation of a task, step by step, so that another process can go on from there.

It is written without a wait for the disk: a kill costs nothing of it, a power cut perhaps its end. Whoever parks the
task waits once, for all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui.model.secrets.redaction import redact_value
from lumen_tui.model.tasks import Parked
from lumen_tui.providers.conversation.history import AssistantMessage, Said, UserMessage
from lumen_tui.providers.conversation.steps import ConversationState, Record, decoded
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks import task_records
from lumen_tui.tools.policy.verdict import CallHistory

_NAME = "steps.jsonl"
_MOST_BYTES = 256 * 1024 * 1024


class StepJournal:
    """The steps of one task. `earlier` are those from which this attempt goes on; empty where it begins."""

    def __init__(
        self, folder: Path, redact: Callable[[str], str], guard: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._path = folder / _NAME
        self._folder = folder
        self._redact = redact
        self._guard = guard
        self.parked: Parked | None = task_records.read_parked(folder)
        self.earlier: tuple[Record, ...] = self._read() if self.parked else ()
        self.state = ConversationState(self.earlier)
        if not self.state.entries:
            self.parked, self.earlier = None, ()

    def _read(self) -> tuple[Record, ...]:
        return tuple(decoded((files.read(self._path, _MOST_BYTES) or b"").split(b"\n")[:-1]))

    def begin(self) -> None:
        """Forget the steps of an attempt from which this one does not go on."""
        if self.parked is None:
            with self._guard():
                directories.remove(self._path)
                directories.remove(self._folder / task_records.PARKED_FILE)

    def keep(self, record: Any) -> None:
        """Append a step. With the model's first answer after it was parked the task is not parked any more."""
        clean = redact_value(msgspec.to_builtins(record), self._redact)
        goes_on = self.parked is not None and isinstance(record, AssistantMessage)
        with self._guard():
            files.append(self._path, msgspec.json.encode(clean) + b"\n", durable=goes_on)
            if goes_on:
                directories.remove(self._folder / task_records.PARKED_FILE)
                self.parked = None

    def park(self, parked: Parked) -> None:
        """Make all steps durable, then note that the task waits."""
        with self._guard():
            files.append(self._path, b"", durable=True)
            files.replace(self._folder / task_records.PARKED_FILE, msgspec.json.encode(parked))

    def said(self) -> str:
        """Return all that was said to the model beside the results of its calls."""
        said = [entry for entry in self.state.entries if isinstance(entry, UserMessage)]
        return "\n".join(entry.text for entry in said if entry.kind is not Said.SUMMARY)

    def discard(self) -> None:
        """Remove the steps of a task that has ended: its transcript tells them."""
        directories.remove(self._path)

    def history(self, called: tuple[str, ...]) -> CallHistory:
        """Return what the task has called before this attempt goes on; `called` is what all attempts made."""
        ended = self.state.calls
        return CallHistory(called, tuple(result.name for result in ended if result.ok), steps=len(ended))
