"""What a room sends for what happens all the time, counted on a pseudo-terminal of 120 x 40 that answers as most do."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lumen_until import until

from benchmarks.room import bytes_of
from benchmarks.state import make_state
from benchmarks.terminal import SYNC_END, Terminal
from lumen_tui.storage.layout import Layout

_QUIET = 0.3  # seconds
_TRIES = 3  # the engine's beat, or an age that grows, may come into one of them
Opened = Callable[[int], tuple[Layout, Terminal]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open a room over ten discoveries and so many signals."""
    terminals: list[Terminal] = []

    def open_room(signals: int) -> tuple[Layout, Terminal]:
        layout = make_state(tmp_path / "state", nodes=1000, signals=signals, newest=time.time())
        terminals.append(terminal := Terminal([sys.executable, "-m", "lumen_tui", "--state", str(layout.root)]))
        _wait_for(terminal, "Node 903")
        _wait_for(terminal, "Wake-state for loop")  # the first beat is over
        terminal.settle(1.0)
        return layout, terminal

    yield open_room
    for terminal in terminals:
        terminal.leave()


def _wait_for(terminal: Terminal, text: str) -> None:
    until(lambda: text in terminal.shown().text, lambda: terminal.shown().text, 30.0, sleep=terminal.read)


def least(terminal: Terminal, *keys: str) -> list[int]:
    """Return the bytes of each key, the least of several times that all are pressed in turn."""
    tries = [[bytes_of(terminal, key.encode()) for key in keys] for _ in range(_TRIES)]
    return [min(counts) for counts in zip(*tries, strict=True)]


def test_a_focus_a_dialog_and_a_sheet_stay_within_their_budgets(opened: Opened) -> None:
    _, terminal = opened(100)
    focus = least(terminal, *"4561")
    assert max(focus) <= 1500, focus
    dialog = least(terminal, "t", "\x1b")
    assert max(dialog) <= 4000, dialog
    needs = least(terminal, "!", "\x1b")
    assert max(needs) <= 1500, needs  # a list of two takes a few lines of the room, and gives them back


def test_panes_that_get_other_lines_are_painted_once(opened: Opened) -> None:
    layout, terminal = opened(0)
    before = len(terminal.chunks)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(layout.signals, "a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "sig-new", "message": "something new", "created_at": stamp}) + "\n")
    _wait_for(terminal, "something new")
    terminal.settle(_QUIET)
    frames = b"".join(data for _, data in terminal.chunks[before:]).split(SYNC_END)
    moved = [frame for frame in frames if len(frame) > 300]
    assert len(moved) == 1, frames  # discoveries gave lines to the signals
    assert len(moved[0]) < 1500


def test_a_long_list_of_needs_leaves_a_third_of_the_room_as_it_is(opened: Opened) -> None:
    layout, terminal = opened(0)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(layout.signals, "a", encoding="utf-8") as file:
        for number in range(60):
            text = f"stage {number} of the release waits for a word of yours on the plan that is at hand"
            line = {"id": f"sig-new{number}", "message": text, "created_at": stamp, "priority": "P0"}
            file.write(json.dumps(line) + "\n")
    _wait_for(terminal, "▲ 6")  # sixty and a few others need a person
    needs = least(terminal, "!", "\x1b")
    assert max(needs) <= 4000, needs
