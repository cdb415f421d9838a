"""The conversation of a task as a session file, written while it goes on: redacted, safe, one line for each block.

It is made from the steps that the worker sees, so that no back end needs to know of it. Nothing waits for the disk
but the last line: a power cut may cost the end of a transcript, never anything of the task.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec

from lumen_tui import __version__
from lumen_tui.model import transcript as shape
from lumen_tui.model.tasks import Usage
from lumen_tui.model.text import safe
from lumen_tui.model.times import iso
from lumen_tui.providers.base import Job
from lumen_tui.storage import files
from lumen_tui.tools.base import ToolResult

_DEEPEST = 20  # levels of a model's arguments that are kept


class Transcript:
    """Appends the lines of one session."""

    def __init__(
        self,
        path: Path,
        cwd: Path,
        now: Callable[[], float],
        redact: Callable[[str], str],
        guard: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._path = path
        self._cwd = str(cwd)
        self._now = now
        self._redact = redact
        self._guard = guard
        self._last: str | None = None  # uuid of the line before
        self._model = "offline"
        self._message = ""  # id of the answer that is being written
        self._usage = Usage()
        self._pieces: list[str] = []  # of the answer's text that is not written yet
        self._texts: set[str] = set()  # what was written of it
        self._call_id = ""
        self._calls = 0

    def begin(self, job: Job, model: str) -> None:
        """Write the first line: what the model is asked."""
        self._model = model
        parts = [job.objective, job.context if job.context.strip() else ""]
        parts.append("\n".join(f"- {text}" for text in job.constraints))
        self._line("user", message={"role": "user", "content": "\n\n".join(part for part in parts if part)})

    def reserved(self, model: str) -> None:
        """Begin a new answer: a model call was reserved."""
        self._flush()
        self._model = model
        self._message = f"msg_{shape.new_uuid()}"
        self._usage = Usage()
        self._texts.clear()

    def said(self, kind: str, text: str) -> None:
        """Take in text: a piece of the answer, or a remark that is no part of it."""
        if kind == "text":
            self._pieces.append(text)
        elif text:
            self.remark(text, kind)

    def remark(self, text: str, kind: str = "note") -> None:
        """Write a remark of the worker."""
        self._line("system", subtype=kind, level="info", content=text)

    def spent(self, usage: Usage, *, ok: bool) -> None:
        """Finish the answer; nothing of one that failed is kept."""
        self._usage = usage
        if not ok:
            self._pieces.clear()
        self._flush()

    def called(self, name: str, arguments: dict[str, Any]) -> None:
        """Write a tool call of the model."""
        self._flush()
        self._calls += 1
        self._call_id = f"toolu_{self._calls:04d}_{shape.new_uuid()[:8]}"
        self._assistant(shape.use_block(self._call_id, name, arguments), "tool_use")

    def answered(self, result: ToolResult) -> None:
        """Write what the call returned."""
        block = shape.result_block(self._call_id, result.text, ok=result.ok)
        self._line("user", message={"role": "user", "content": [block]}, toolUseResult=result.summary)

    def answer(self, text: str) -> None:
        """Write the final answer, if it was not written already."""
        self._flush()
        if text.strip() and text.strip() not in self._texts:
            self._assistant(shape.text_block(text), "end_turn")

    def end(self, status: str, reason: str) -> None:
        """Write the last line."""
        self._flush()
        level = "info" if status == "done" else "error"
        self._line("system", durable=True, subtype="end", level=level, content=f"{status}: {reason}".rstrip(": "))

    def _flush(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text.strip():
            self._texts.add(text.strip())
            self._assistant(shape.text_block(text), "")

    def _assistant(self, block: dict[str, Any], stop: str) -> None:
        message_id = self._message or f"msg_{shape.new_uuid()}"
        self._line("assistant", message=shape.assistant(message_id, self._model, block, self._usage, stop))

    def _line(self, kind: str, *, durable: bool = False, **fields: Any) -> None:
        line_id = shape.new_uuid()
        record = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self._path.stem,
            "version": f"lumen-{__version__}",
            "gitBranch": "",
            "type": kind,
            **self._clean(shape.shortened(fields)),
            "uuid": line_id,
            "timestamp": iso(self._now()),
        }
        line = msgspec.json.encode(record)
        if not shape.fits(line):
            line = msgspec.json.encode(shape.cut_hard(record))
        with self._guard():
            files.append(self._path, line + b"\n", durable=durable)
        self._last = line_id

    def _clean(self, value: Any, depth: int = 0) -> Any:
        """Make every text safe and free of secrets, keys included, which a model may choose."""
        if isinstance(value, str):
            return self._redact(safe(value))
        if depth > _DEEPEST:
            return "…"
        if isinstance(value, dict):
            return {self._clean(str(key)): self._clean(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(inner, depth + 1) for inner in value]
        return value
