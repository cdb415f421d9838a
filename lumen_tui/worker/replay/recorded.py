"""What is on record of a task that is over: its calls in order, what the gate decided on each, and what it gave.

The transcripts hold the calls with their arguments and results, the events what was refused or asked, the approvals
what a person decided. All of it is data that somebody may have changed: where two of them contradict each other, the
record says so and is used up to there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import ASK
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.secrets import MASKED
from lumen_tui.model.tasks import Spec, TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import LONGEST_TEXT, session_id
from lumen_tui.providers.claude_code.program import OWN
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.sessions.transcripts import lines_from
from lumen_tui.worker.record import events_of

MOST_STEPS = 10_000


class SessionCall(Struct, frozen=True):
    """One call as a transcript has it; `text` is None where it has no result."""

    name: str
    arguments: dict[str, Any]
    text: str | None = None
    ok: bool = True
    summary: str = ""


class RecordedMarks(Struct):
    """What the events say of one call."""

    tool: str
    attempt: int
    asked: list[str] = msgspec.field(default_factory=list)  # ids of approvals
    answered: bool | None = None  # whether a person allowed it
    waits: bool = False  # it waited still when its worker ended
    ended: bool = False
    ok: bool = True
    refused: bool = False
    text: str = ""
    cut: int = 0
    error: str = ""  # with which the attempt ended at this call


class RecordedCall(Struct, frozen=True):
    """One call of the task."""

    number: int
    marks: RecordedMarks
    call: SessionCall

    @property
    def arguments(self) -> dict[str, Any]:
        return self.call.arguments

    @property
    def asked(self) -> bool:
        """Whether a person was asked about it."""
        return bool(self.marks.asked)

    @property
    def whole(self) -> bool:
        """Whether its arguments are what the model wrote: nothing of them was masked or cut."""
        return not any(_is_altered(text) for text in _texts(self.arguments))


class RecordedAttempt(Struct, frozen=True):
    """The calls of one attempt. `goes_on`: how many calls of the attempts before its conversation had; -1: none."""

    number: int
    calls: tuple[RecordedCall, ...]
    goes_on: int = -1


class Record(Struct, frozen=True):
    """The whole record. `missing` says what is not in it, `broken` where it contradicts itself."""

    attempts: tuple[RecordedAttempt, ...] = ()
    missing: tuple[str, ...] = ()
    broken: str = ""


class _Line(Struct, frozen=True):
    type: str = ""
    uuid: str = ""
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    message: Any = None
    summary: Any = msgspec.field(default="", name="toolUseResult")


_decode = msgspec.json.Decoder(_Line).decode


def read(layout: Layout, folder: Path, spec: Spec) -> Record:
    """Return what is on record of the task in `folder`."""
    events = list(events_of(folder))
    numbers = sorted({event.attempt for event in events if event.kind in ("started", "call")})
    attempts: list[RecordedAttempt] = []
    missing: list[str] = []
    count = 0
    for number in numbers:
        own = [event for event in events if event.attempt == number]
        marks = _marks(own, number)
        session_calls, problems = _session(layout, spec, number)
        missing += problems
        goes_on = _goes_on(own)
        if attempts and goes_on >= 0 and session_calls and _waited(attempts[-1], session_calls[0]):
            attempts[-1] = msgspec.structs.replace(attempts[-1], calls=attempts[-1].calls[:-1])
            count -= 1
        calls, gap, broken = _paired(marks, session_calls, count, last=number == numbers[-1])
        missing += [f"{gap} of attempt {number}"] * bool(gap)
        attempts.append(RecordedAttempt(number, calls, goes_on))
        if broken:
            return Record(tuple(attempts), tuple(missing), f"attempt {number}: {broken}")
        count += len(calls)
        if count >= MOST_STEPS:
            missing.append(f"what comes after the first {MOST_STEPS:,} calls")
            break
    if not numbers:
        missing.append("anything: the task has no record of an attempt")
    return Record(tuple(attempts), tuple(missing))


def _waited(attempt: RecordedAttempt, first: SessionCall) -> bool:
    """Return whether an attempt ended as its last call waited, for which the next one has that first call."""
    if not attempt.calls or not attempt.calls[-1].marks.waits:
        return False
    call = attempt.calls[-1].call
    return (call.name, call.arguments) == (first.name, first.arguments)


def used_own_tools(folder: Path) -> bool:
    """Return whether a back end used tools of its own, which were permitted and not made by us."""
    return any("counts_as" in event.data for event in events_of(folder))


def _goes_on(events: list[TaskEvent]) -> int:
    counts = (event.data.get("goes_on") for event in events if event.kind == "note")
    return next((count for count in counts if isinstance(count, int)), -1)


def _marks(events: list[TaskEvent], attempt: int) -> list[RecordedMarks]:
    """Return what the events say of each call of our tools."""
    marks: list[RecordedMarks] = []
    for event in events:
        if event.kind == "call" and "counts_as" not in event.data:
            marks.append(RecordedMarks(event.tool, attempt))
        elif not marks:
            continue
        elif event.kind in ("waiting", "answered") and not event.data.get("budget"):
            marks[-1].waits = event.kind == "waiting"
            if event.tool == ASK:
                continue
            approval = event.data.get("approval")
            if isinstance(approval, str) and approval not in marks[-1].asked:
                marks[-1].asked.append(approval)
            marks[-1].answered = event.ok if event.kind == "answered" else None
        elif event.kind == "result" and event.tool not in OWN and not marks[-1].ended:
            _end(marks[-1], event)
        elif event.kind == "error" and not marks[-1].ended:
            marks[-1].error = event.text
    return marks


def _end(marks: RecordedMarks, event: TaskEvent) -> None:
    cut = event.data.get("cut")
    marks.ended, marks.ok, marks.text = True, event.ok, event.text
    marks.refused = event.data.get("refused") is True
    marks.cut = cut if isinstance(cut, int) else 0


def _session(layout: Layout, spec: Spec, attempt: int) -> tuple[list[SessionCall], list[str]]:
    """Return the calls in the transcript of an attempt, and what is wrong with it."""
    path = layout.transcript(session_id(spec, attempt))
    try:
        fd = files.open_plain(path)
    except FileNotFoundError:
        return [], [f"attempt {attempt}: its transcript is gone"]
    except (files.StoreError, OSError) as error:
        return [], [f"attempt {attempt}: its transcript cannot be read: {one_line(str(error), 200)}"]
    with open(fd, "rb", buffering=0):
        return _calls(fd, attempt)


def _calls(fd: int, attempt: int) -> tuple[list[SessionCall], list[str]]:
    calls: list[SessionCall] = []
    ids: dict[str, int] = {}
    before: str | None = None
    number = 0
    for number, (_, data) in enumerate(lines_from(fd, 0), start=1):
        try:
            line = _decode(data or b"")
        except UNDECODABLE:
            return calls, [f"attempt {attempt}: what follows line {number} of its transcript, which is damaged"]
        if line.parent not in (None, before):
            return calls, [f"attempt {attempt}: what follows line {number - 1} of its transcript: lines are missing"]
        before = line.uuid
        _take(line, calls, ids)
        if len(calls) > MOST_STEPS:
            break
    return calls, []


def _take(line: _Line, calls: list[SessionCall], ids: dict[str, int]) -> None:
    content = line.message.get("content") if isinstance(line.message, dict) else None
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            ids[str(block.get("id"))] = len(calls)
            calls.append(SessionCall(str(block.get("name", "")), block["input"]))
        elif block.get("type") == "tool_result" and (place := ids.get(str(block.get("tool_use_id")))) is not None:
            text, ok = str(block.get("content", "")), block.get("is_error") is not True
            summary = line.summary if isinstance(line.summary, str) else ""
            calls[place] = msgspec.structs.replace(calls[place], text=text, ok=ok, summary=summary)


def _paired(
    marks: list[RecordedMarks], calls: list[SessionCall], before: int, *, last: bool
) -> tuple[tuple[RecordedCall, ...], str, str]:
    """Join events and transcript; return the calls, what is missing of them, and where the two contradict."""
    calls = [call for call in calls if call.name not in OWN]
    joined: list[RecordedCall] = []
    for number, (mark, call) in enumerate(zip(marks, calls, strict=False), start=before + 1):
        if broken := _contradiction(mark, call):
            return tuple(joined), "", f"call {number} is {broken}"
        joined.append(RecordedCall(number, mark, call))
        if number >= MOST_STEPS:
            break
    lost = len(marks) - len(calls)
    if lost == 1 and not marks[-1].ended and not marks[-1].error:
        lost = 0  # killed between the two
    if lost > 0:
        return tuple(joined), f"the last {lost:,} calls", ""
    return tuple(joined), f"{-lost:,} calls of which the events say nothing" if lost else "", ""


def _contradiction(marks: RecordedMarks, call: SessionCall) -> str:
    """Return how the two records of one call contradict each other, or empty."""
    if marks.tool != one_line(call.name, 60):
        return f"{one_line(call.name, 60)} in its transcript and {marks.tool} in its events"
    if call.text is not None and marks.ended and marks.ok is not call.ok:
        return "a success in one of its records and a failure in the other"
    if call.text is not None and marks.ended and not marks.ok and marks.text != one_line(call.text, 300):
        return "one that failed for two different reasons in its two records"
    return ""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _is_altered(text: str) -> bool:
    return MASKED in text or len(text) > LONGEST_TEXT
