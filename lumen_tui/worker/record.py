"""What a task leaves of its course: its events, and its conversation as a session file; redacted, safe, short.

The transcript is made from the steps that the worker sees, so that no back end needs to know of it. Nothing of it waits
for the disk but the last line: a power cut may cost its end, never anything of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from lumen_tui import __version__
from lumen_tui.model import transcript as shape
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.tasks import Spec, TaskEvent, Usage
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.times import iso
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.tools.base import ToolResult

_MAX_TEXT = 4000  # characters of one event; full results are in result.md
_MOST = 1 << 30  # bytes
_LINES, _LINE = 12, 200  # lines of an output that are kept with its event, and characters of each
_READ = 8 * _LINES * _LINE  # characters that are looked at for them: what masks a secret needs its surroundings


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
        self._journal = journal
        self._attempt = attempt
        self._now = now
        self._redact = redact
        self._guard = guard
        self.said = ""  # by the model since the last result: the words around the call that it makes

    def event(
        self, kind: str, text: str = "", *, tool: str = "", ok: bool = True, output: str = "", **data: object
    ) -> None:
        """Append one event. `data` holds numbers and short names only: it is not redacted."""
        clean = self._redact(safe(text))
        if len(clean) > _MAX_TEXT:
            clean = f"{clean[:_MAX_TEXT]}… ({len(clean) - _MAX_TEXT:,} more characters)"
        record = TaskEvent(
            at=iso(self._now()),
            kind=kind,
            text=clean,
            tool=tool,
            ok=ok,
            attempt=self._attempt,
            data=data,
            output=_first_lines(self._redact(safe(output[:_READ]))) if output else "",
        )
        if kind in ("text", "result"):
            self.said = f"{self.said}{clean}"[-_MAX_TEXT:] if kind == "text" else ""
        with self._guard(step=kind == "call"):  # between two calls a worker may be asked to rest or to end
            self._journal.append(record)

    def result(self, tool: str, result: ToolResult) -> None:
        """Append what a call of one of our tools returned."""
        more: dict[str, object] = {"cut": result.truncated} if result.truncated else {}
        more |= {"refused": True} if result.refused else {}
        more |= {"skill": skill} if (skill := result.data.get("skill")) and result.ok else {}
        more |= {"exit": code} if (code := result.data.get("exit_code")) is not None else {}
        text = result.summary if result.ok else one_line(result.text, 300)
        output = str(result.data.get("output") or "")
        self.event("result", text, tool=tool, ok=result.ok, output=output, **more)


def _first_lines(text: str) -> str:
    """Return what the operator sees of an output without opening the transcript."""
    return "\n".join(line[:_LINE] for line in text.rstrip("\n").split("\n")[:_LINES])


def calls_made(folder: Path, attempt: int) -> tuple[str, ...]:
    """Name the tools of all calls that the attempts before made, in order.

    One that was cut off may have been carried out, and counts; one that was refused, or still waited for a person's
    word, was not made.
    """
    before = (event for event in events_of(folder) if event.attempt < attempt)
    return tuple(_made(before)) if attempt > 1 else ()


def events_of(folder: Path) -> Iterator[TaskEvent]:
    """Yield the events of a task; a line that a kill tore is passed over."""
    for line in (files.read(folder / "events.jsonl", _MOST) or b"").splitlines():
        try:
            event = decode_safe(line, TaskEvent)
        except UNDECODABLE:
            continue  # torn by a kill: what it reports had not begun
        yield event


def _made(events: Iterable[TaskEvent]) -> Iterator[str]:
    called, asks = "", False
    for event in events:
        if event.kind in ("call", "started"):  # `started`: of the attempt behind one that was cut off
            if called and not asks:
                yield called
            called, asks = str(event.data.get("counts_as", event.tool)) if event.kind == "call" else "", False
        elif event.kind in ("waiting", "answered") and not event.data.get("budget"):
            asks = event.kind == "waiting"
        elif event.kind == "result":
            if called and not event.data.get("refused"):
                yield called
            called = ""
    if called and not asks:
        yield called


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

    def begin(self, spec: Spec, model: str, prompts: Iterable[str]) -> None:
        """Write the first lines: the task as it was given, and the versions of the prompts that the model gets."""
        self._model = model
        self._given(spec)
        self.remark(f"prompts: {', '.join(prompts)}", "prompts")

    def _given(self, spec: Spec) -> None:
        parts = [spec.objective, spec.context if spec.context.strip() else ""]
        parts.append("\n".join(f"- {text}" for text in spec.constraints))
        self._user("\n\n".join(part for part in parts if part))

    def _user(self, text: str, source: str = "") -> None:
        message = {"role": "user", "content": text}
        if source:
            self._line("user", message=message, promptSource=source)
        else:
            self._line("user", message=message)

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
        elif kind == "summary":
            self._summary(text)
        elif text:
            self.remark(text, kind)

    def remark(self, text: str, kind: str = "note") -> None:
        """Write a remark of the worker."""
        self._line("system", subtype=kind, level="info", content=text)

    def _summary(self, text: str) -> None:
        """Write what stands for earlier steps, as an answer of its own: words of a model, which a search finds."""
        message = shape.assistant(f"msg_{shape.new_uuid()}", self._model, shape.text_block(text), Usage(), "end_turn")
        self._line("assistant", isCompactSummary=True, message=message)

    def spent(self, usage: Usage, *, ok: bool) -> None:
        """Finish the answer; nothing of one that failed is kept."""
        self._usage = usage
        if not ok:
            self._pieces.clear()
        self._flush()

    def called(self, name: str, arguments: dict[str, object]) -> None:
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

    def _assistant(self, block: dict[str, object], stop: str) -> None:
        message_id = self._message or f"msg_{shape.new_uuid()}"
        self._line("assistant", message=shape.assistant(message_id, self._model, block, self._usage, stop))

    def _line(self, kind: str, *, durable: bool = False, **fields: object) -> None:
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
            **{name: self._clean(shape.shortened(value)) for name, value in fields.items()},
            "uuid": line_id,
            "timestamp": iso(self._now()),
        }
        line = msgspec.json.encode(record)
        if not shape.fits(line):
            line = msgspec.json.encode(shape.cut_hard(record))
        with self._guard():
            files.append(self._path, line + b"\n", durable=durable)
        self._last = line_id

    def _clean_text(self, text: str) -> str:
        return self._redact(safe(text))

    def _clean(self, value: object, depth: int = 0) -> object:
        """Make every text safe and free of secrets, keys included, which a model may choose."""
        if isinstance(value, str):
            return self._clean_text(value)
        if depth > _DEEPEST:
            return "…"
        if isinstance(value, dict):
            return {self._clean_text(str(key)): self._clean(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(inner, depth + 1) for inner in value]
        return value
