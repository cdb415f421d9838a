"""Journals that are followed in the shell: each line is shown once, whenever it is written."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.cli import following
from lumen_tui.model.loop import EngineEvent
from lumen_tui.storage.journal import Follower, Journal

_LAST = 40_000


@contextmanager
def _writing(path: Path, line: Callable[[int], dict[str, object]]) -> Iterator[threading.Event]:
    """Append numbered lines, one write each, until the event is set; then the line numbered `_LAST`."""
    enough = threading.Event()

    def write() -> None:
        number = 0
        with open(path, "ab", buffering=0) as out:
            while not enough.is_set() and number < _LAST - 1:
                number += 1
                out.write(json.dumps(line(number)).encode() + b"\n")
            out.write(json.dumps(line(_LAST)).encode() + b"\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield enough
    finally:
        enough.set()
        writer.join()


@pytest.mark.parametrize("command", ["notifications", "events"])
def test_a_line_that_is_written_while_a_journal_is_read_is_shown_once(
    shell: Any, watch: Callable[..., Any], command: str
) -> None:
    path = shell.layout.transitions if command == "notifications" else shell.layout.events
    path.parent.mkdir(parents=True, exist_ok=True)

    def line(number: int) -> dict[str, object]:
        event = {"seq": number, "kind": "appeared", "at": "", "text": str(number)}
        return event | ({"id": f"t-{number}", "item": f"i-{number}"} if command == "notifications" else {})

    with _writing(path, line) as enough, watch(command, "--follow", "--json", "--lines", "50") as show:
        shown = [int(json.loads(show())["text"])]
        while shown[-1] != _LAST:
            shown.append(int(json.loads(show())["text"]))
            if len(shown) > 100:
                enough.set()
    first, last = shown[0], shown[-2]
    assert shown == [*range(first, last + 1), _LAST], "each line once, in order, and none is missing"


def test_of_a_journal_that_is_replaced_while_it_is_read_the_new_one_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "events.jsonl")
    for number in range(3):
        journal.append({"seq": number, "at": "", "kind": "beat", "text": f"old {number}"})

    class Replaced(Follower):
        def poll(self, limit: int = 1 << 62) -> tuple[int, bytes]:
            piece = super().poll(limit)
            if not os.path.exists(tmp_path / "before"):
                os.rename(journal.path, tmp_path / "before")
                journal.append({"seq": 9, "at": "", "kind": "beat", "text": "new"})
            return piece

    follower = Replaced(journal.path)
    assert [event.text for event in following.recent(follower, EngineEvent, 10)] == ["new"]
    journal.append({"seq": 10, "at": "", "kind": "beat", "text": "newer"})
    assert [event.text for event in following.recent(follower, EngineEvent)] == ["newer"]
