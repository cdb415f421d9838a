"""Which calls of earlier attempts count as made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lumen_tui.model.tasks import TaskEvent
from lumen_tui.worker.record import calls_made

START = ("started", "", {})
CALL, DONE, REFUSED = ("call", "shell", {}), ("result", "shell", {}), ("result", "shell", {"refused": True})
OWN, OWN_DONE = ("call", "Read", {"counts_as": "read_file"}), ("result", "Read", {})
ASKS, ANSWERED = ("waiting", "shell", {}), ("answered", "shell", {})
SAYS, PAUSE = ("text", "", {}), ("waiting", "", {"budget": True})


@pytest.mark.parametrize(
    ("events", "made"),
    [
        ([START, CALL, DONE, SAYS, CALL, DONE], ("shell", "shell")),
        ([START, CALL, REFUSED, CALL, DONE], ("shell",)),
        ([START, CALL], ("shell",)),
        ([START, CALL, ASKS], ()),
        ([START, CALL, ASKS, ANSWERED], ("shell",)),
        ([START, CALL, ASKS, ANSWERED, REFUSED], ()),
        ([START, CALL, ASKS, START, CALL, ASKS, ANSWERED, DONE], ("shell",)),
        ([START, CALL, START, CALL, DONE], ("shell", "shell")),
        ([START, OWN, OWN_DONE, PAUSE], ("read_file",)),
        ([START, OWN, PAUSE], ("read_file",)),
        ([], ()),
    ],
)
def test_what_was_cut_off_counts_and_what_was_refused_or_waited_does_not(
    tmp_path: Path, events: list[Any], made: tuple[str, ...]
) -> None:  # fmt: skip
    lines = [
        msgspec.json.encode(TaskEvent("2026-01-01T00:00:00Z", kind, tool=tool, data=data))
        for kind, tool, data in events
    ]
    later = msgspec.json.encode(TaskEvent("2026-01-01T00:00:00Z", "call", tool="glob", attempt=3))
    (tmp_path / "events.jsonl").write_bytes(b"\n".join([*lines, later, b'{"kind":"call","to']))
    assert calls_made(tmp_path, 3) == made
    assert calls_made(tmp_path, 1) == ()
