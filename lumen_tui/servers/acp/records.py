"""What a task leaves while it is at work, told as it comes: its events, and the arguments of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec

from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.tasks import Spec, TaskEvent
from lumen_tui.model.text import one_line, safe_all
from lumen_tui.model.transcript import session_id
from lumen_tui.servers.acp.narration import Narrator
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import task_files


class TaskRecords:
    """What a task leaves while it is at work: events and the arguments of its calls, each told once."""

    def __init__(self, layout: Layout, spec: Spec, narrator: Narrator) -> None:
        self._layout = layout
        self._spec = spec
        self._narrator = narrator
        self._events = Follower(layout.task(spec.id) / "events.jsonl")
        self._calls: Follower | None = None
        self._attempt = 0

    def tell(self) -> bool:
        """Tell what is new; return whether anything was."""
        is_news = False
        for attempt, events in groupby(self._new_events(), lambda event: event.attempt):
            is_news = True
            if attempt != self._attempt:
                self._follow_calls(attempt)
            self._tell_calls()
            self._narrator.tell(events)
        self._tell_calls()
        return is_news

    def close(self) -> None:
        """Close the files."""
        self._events.close()
        if self._calls is not None:
            self._calls.close()

    def _new_events(self) -> Iterator[TaskEvent]:
        folder = task_files.folder_of(self._layout, self._spec.id)
        if folder is not None and folder / "events.jsonl" != self._events.path:
            self._events = _moved(self._events, folder / "events.jsonl")
        for _, data in self._events.pieces():
            for line in data.splitlines():
                try:
                    yield decode_safe(line, TaskEvent)
                except UNDECODABLE:
                    continue  # torn by a kill: what it reports had not begun

    def _follow_calls(self, attempt: int) -> None:
        self._tell_calls()
        if self._calls is not None:
            self._calls.close()
        self._attempt = attempt
        self._narrator.begin_attempt()
        self._calls = Follower(self._layout.transcript(session_id(self._spec, attempt)))

    def _tell_calls(self) -> None:
        for _, data in self._calls.pieces() if self._calls is not None else ():
            for line in data.splitlines():
                for name, arguments in _calls_in(line):
                    self._narrator.detail(name, arguments)


def _moved(events: Follower, path: Path) -> Follower:
    """Return a follower that goes on in the same file at its new place: the task was archived."""
    follower = Follower(path)
    follower.resume(events.place())
    events.close()
    return follower


def _calls_in(line: bytes) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the name and the arguments of each call in a line of a transcript."""
    if b'"tool_use"' not in line:
        return
    try:
        message = msgspec.json.decode(line).get("message")
    except (*UNDECODABLE, AttributeError):
        return
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            name, arguments = block.get("name"), safe_all(block.get("input"))
            if isinstance(name, str) and isinstance(arguments, dict):
                yield one_line(name, 60), arguments
