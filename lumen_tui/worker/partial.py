"""What a task that was stopped after a step leaves as its result: what it said and did until then."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import one_line
from lumen_tui.store.tasks.task_records import tail_events

_EVENTS = 10_000
_BYTES = 8 * 1024 * 1024
_SAID = 20_000  # characters of its words, the newest ones
_CALLS = 100  # the newest ones


def partial_result(folder: Path, reason: str) -> str:
    """Return a result in Markdown made of the task's events, of all its attempts."""
    events = tail_events(folder, _EVENTS, _BYTES)
    model_text = "".join(_words(events)).strip()[-_SAID:]
    calls = list(_calls(events))
    parts = [
        "# Not finished",
        f"The task was stopped after a step: {one_line(reason, 300)}.",
        f"## What it said until then\n\n{model_text}" if model_text else "",
        f"## What it did\n\n{_listed(calls)}" if calls else "It had done nothing yet.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _words(events: Iterable[TaskEvent]) -> Iterable[str]:
    """Yield the pieces of its answers, as they were streamed, with an empty line between two answers."""
    for event in events:
        if event.kind == "text":
            yield event.text
        elif event.kind == "result":
            yield "\n\n"


def _calls(events: Iterable[TaskEvent]) -> Iterable[str]:
    call = ""
    for event in events:
        if event.kind == "call":
            call = one_line(event.text or event.tool, 200)
        elif event.kind == "result" and call:
            yield (
                f"- {call}: {one_line(event.text, 200)}"
                if event.ok
                else f"- {call}: failed: {one_line(event.text, 200)}"
            )
            call = ""


def _listed(calls: list[str]) -> str:
    more = [f"- and {len(calls) - _CALLS} more before"] if len(calls) > _CALLS else []
    return "\n".join([*more, *calls[-_CALLS:]])
