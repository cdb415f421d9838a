"""How long a session of the main agent took to find its bearings: until its first call that acts rather than reads.

Time, calls, tokens and cost come from the task's events, the size from its briefing and its transcript.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from lumen_tui.model import times
from lumen_tui.model.capsule import tokens_in
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import Orientation
from lumen_tui.model.tasks import Exit, Spec, TaskEvent
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks.task_records import read_json

# Calls that change nothing: ours, and those of the programs that a session may run in.
READS = frozenset(
    {
        "read_file", "list_dir", "find", "grep", "disk_usage", "memory_search", "recall", "read_signals", "search",
        "web_fetch", "shell_output", "git_read", "read", "ls", "glob", "webfetch", "websearch", "todowrite",
        "toolsearch", "bashoutput",
    }
)  # fmt: skip
_OURS = "mcp__lumen__"
_MOST_EVENTS, _MOST_LINES = 4 * 1024 * 1024, 8 * 1024 * 1024  # bytes from the beginning that are looked at
_event = msgspec.json.Decoder(TaskEvent).decode


class _TranscriptLine(msgspec.Struct):
    message: dict[str, object] = {}


_line = msgspec.json.Decoder(_TranscriptLine).decode


def acts(tool: str) -> bool:
    """Return whether a call of this tool acts rather than reads."""
    return tool.removeprefix(_OURS).lower() not in READS


def orientation(layout: Layout, folder: Path, ended: Exit) -> Orientation:
    """Measure what the session of the last attempt took in before it acted; all zeros if it never began."""
    result = _from_events(folder, ended.attempt)
    if not result.seconds and not result.spent:
        return result
    spec = read_json(folder / "spec.json", Spec)
    briefing = len(f"{spec.objective}{spec.context}".encode()) if spec else 0
    size = briefing + (_read_before(layout.transcript(ended.session), result.first) if ended.session else 0)
    return msgspec.structs.replace(result, size=size, tokens=tokens_in(size))


def _from_events(folder: Path, attempt: int) -> Orientation:
    began = 0.0
    at = 0.0
    reads = 0
    spent = 0
    usd = 0.0
    first = ""
    for event in _events(folder):
        if event.attempt != attempt:
            continue
        at = times.epoch(event.at, at)
        began = began or at
        if event.kind == "usage":
            spent += _number(event, "input_tokens") + _number(event, "output_tokens")
            usd += _money(event)
        if event.kind == "call" and acts(event.tool):
            first = event.tool
            break
        reads += event.kind == "call"
    return Orientation(round(max(0.0, at - began), 3), spent=spent, usd=usd, reads=reads, first=first)


def _events(folder: Path) -> Iterator[TaskEvent]:
    for line in (files.read(folder / "events.jsonl", _MOST_EVENTS) or b"").splitlines():
        try:
            yield _event(line)
        except UNDECODABLE:
            continue


def _number(event: TaskEvent, name: str) -> int:
    value = event.data.get(name, 0)
    return value if isinstance(value, int) else 0


def _money(event: TaskEvent) -> float:
    value = event.data.get("usd", 0.0)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _read_before(path: Path, first: str) -> int:
    """Return the bytes of results in a transcript before the first call of the tool `first`."""
    size = 0
    for line in (files.read(path, _MOST_LINES) or b"").splitlines():
        for block in _blocks(line):
            if first and block.get("type") == "tool_use" and block.get("name") == first:
                return size
            if block.get("type") == "tool_result":
                size += len(str(block.get("content", "")).encode())
    return size


def _blocks(line: bytes) -> list[dict[str, object]]:
    if b'"tool_use' not in line and b'"tool_result"' not in line:
        return []
    try:
        content = _line(line).message.get("content")
    except UNDECODABLE:
        return []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
