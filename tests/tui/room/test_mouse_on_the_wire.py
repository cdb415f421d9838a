"""The mouse as a terminal sends it (SGR): what it presses, turns, drags, and what no terminal should send."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from lumen_emulator import Emulator
from lumen_terminal import Terminal

_WHEEL_UP, _WHEEL_DOWN, _DRAG, _MOVE = 64, 65, 32, 35
_RUBBISH = (
    b"\x1b[<0;0;0M\x1b[<0;999;999M\x1b[<0;999;999m\x1b[<0;-3;5M\x1b[<;;M\x1b[<0;1;m\x1b[<999;5;5M"
    b"\x1b[<0;99999999999999999999;1M\x1b[M\xff\xff\xff"
)
_OPENED = re.compile(r"something noticed, number (\d)")


def event(button: int, column: int, line: int, end: str = "M") -> bytes:
    return f"\x1b[<{button};{column};{line}{end}".encode()


def click(column: int, line: int, times: int = 1) -> bytes:
    return (event(0, column, line) + event(0, column, line, "m")) * times


@pytest.fixture
def room(state: Path, terminals: list[Terminal]) -> Terminal:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    assert b"\x1b[?1006h" in terminal.sent, "it asks for the mouse"
    return terminal


def lines(room: Terminal) -> list[str]:
    """What stands on the terminal."""
    emulator = Emulator(120, 40)
    emulator.feed(room.sent.decode(errors="replace"))
    return emulator.lines


def shown(room: Terminal, sent: bytes, text: str) -> None:
    """Send something and wait until the terminal shows the text."""
    os.write(room.fd, sent)
    room.until(lambda: any(text in line for line in lines(room)), f"{text!r} does not come: ")
    room.read(0.3)


def page(room: Terminal, sent: bytes) -> int:
    """Which of the discoveries is open, beside the list, behind what was sent."""
    shown(room, sent, "Triage ·")
    number = _OPENED.findall(lines(room)[2])[-1]  # the first one, where its title fits, is the row in the list
    shown(room, b"\x1b", "5 Discoveries")
    return int(number)


def line_of(room: Terminal, number: int) -> int:
    """On which line of the terminal a discovery stands."""
    return next(at for at, line in enumerate(lines(room), 1) if f"something noticed, number {number}" in line)


def end(room: Terminal) -> int:
    room.press("q")
    return room.end()


def test_a_press_chooses_the_row_under_it_and_two_open_it(room: Terminal) -> None:
    for number in range(3):
        assert page(room, click(60, line_of(room, number), times=2)) == number
    os.write(room.fd, click(60, line_of(room, 0)))
    assert page(room, b"\r") == 0
    assert end(room) == 0


def test_a_press_beside_a_form_leaves_it_and_what_is_in_it(room: Terminal, state: Path) -> None:
    shown(room, b"t", "New task")
    os.write(room.fd, b"half of it" + click(2, 38) + click(60, 2) + event(_WHEEL_DOWN, 60, 20) + b" and all of it")
    shown(room, b"\r", "queued")
    (spec,) = state.glob("tasks/tsk-*/spec.json")
    assert json.loads(spec.read_bytes())["objective"] == "half of it and all of it"
    assert end(room) == 0


def test_no_press_turn_or_drag_changes_anything_or_keeps_a_key_waiting(room: Terminal, state: Path) -> None:
    before = (state / "actions.jsonl").read_bytes()
    cells = [(column, line) for line in range(1, 41, 3) for column in range(2, 121, 17)]
    os.write(room.fd, b"".join(click(*cell) for cell in cells))
    os.write(room.fd, event(0, 60, 20) + b"".join(event(_DRAG, *cell) for cell in cells) + event(0, 60, 20, "m"))
    os.write(room.fd, b"".join(event(button, *cell) for cell in cells for button in (_WHEEL_DOWN, _WHEEL_UP, _MOVE)))
    shown(room, _RUBBISH + b"?", "Help")
    assert (state / "actions.jsonl").read_bytes() == before
    shown(room, b"\x1b", "5 Discoveries")
    assert end(room) == 0
