"""The room on terminals of any size, kind and manners: it goes on, and what it shows is what a whole repaint shows."""

from __future__ import annotations

import math
import os
import random
import re
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_modem import Modem
from lumen_terminal import Terminal

from lumen_tui.model.text import is_safe

_REDRAW = "\x0c"


@pytest.fixture
def room(state: Path, terminals: list[Terminal]) -> Iterator[Modem]:
    terminals.append(terminal := Terminal(state))
    modem = Modem(terminal)
    modem.until(lambda: "something noticed" in modem.text)
    yield modem
    modem.press("q")


def settled(modem: Modem) -> None:
    """Wait until nothing comes any more."""
    silent = 0
    while silent < 100:
        before = modem.count
        modem.carry()
        silent = silent + 1 if modem.count == before else 0


def ageless(lines: list[str]) -> list[list[str]]:
    """Return the words of each line without ages, which may change at any moment."""
    return [re.sub(r"(just )?\bnow\b|\d+ s\b|\d+ min\b", "", line).split() for line in lines]


def picture_is_whole(modem: Modem) -> None:
    """Assert that a whole repaint changes nothing."""
    settled(modem)
    before, lines, count = modem.emulator.picture, modem.emulator.lines, modem.count
    modem.press(_REDRAW)
    modem.until(lambda: modem.count - count > modem.emulator.size[0])
    settled(modem)
    assert ageless(modem.emulator.lines) == ageless(lines)
    if modem.emulator.lines == lines:
        assert modem.emulator.picture == before


@pytest.mark.fault("R12", "storms of sizes and keys")
def test_every_size_shows_what_a_whole_repaint_shows(room: Modem) -> None:
    for columns, rows in ((10, 3), (400, 120), (1, 1), (0, 0), (60, 20), (33, 7), (80, 24), (120, 40)):
        room.resize(columns, rows)
        settled(room)
        room.press("4j5jk3")
        settled(room)
        if columns >= 10:
            picture_is_whole(room)
    room.until(lambda: "something noticed" in room.text)


@pytest.mark.fault("R12", "storms of sizes and keys")
@pytest.mark.parametrize("seed", range(2))
def test_a_storm_of_sizes_and_keys_ends_in_the_last_of_each(room: Modem, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seed makes it the same again
    for _ in range(150):
        room.resize(chance.randrange(0, 200), chance.randrange(0, 60))
        room.press(chance.choice("123456jkz"))
        if chance.random() < 0.2:
            room.carry()
    room.resize(100, 30)
    room.press("?")
    room.until(lambda: "a word, a key" in room.text)
    picture_is_whole(room)
    room.press("\x1b")
    room.until(lambda: "Discoveries" in room.text)
    picture_is_whole(room)


@pytest.mark.fault("R12", "storms of sizes and keys")
def test_a_storm_that_ends_in_the_size_it_began_with_leaves_nothing_of_it(room: Modem) -> None:
    for _ in range(20):
        termios.tcsetwinsize(room.room.fd, (20, 60))
        termios.tcsetwinsize(room.room.fd, (40, 120))
    room.resize(120, 40)
    room.until(lambda: "something noticed" in room.text)
    picture_is_whole(room)


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}, {"TERM": "vt100"}])
def test_a_poor_terminal_is_drawn_on_and_takes_keys(
    state: Path, terminals: list[Terminal], environ: dict[str, str]
) -> None:
    terminals.append(terminal := Terminal(state, **environ))
    modem = Modem(terminal)
    modem.until(lambda: "something noticed" in modem.text)
    modem.press("?")
    modem.until(lambda: "a word, a key" in modem.text)
    modem.press("\x1b")
    modem.until(lambda: "something noticed" in modem.text)
    assert all(is_safe(line) for line in modem.emulator.lines)
    modem.press("q")


def test_keys_in_bursts_are_all_taken(room: Modem) -> None:
    os.write(room.room.fd, b"4" + b"j" * 150 + b"k" * 150 + b"5jkz" * 10 + b"?")
    room.until(lambda: "a word, a key" in room.text)
    picture_is_whole(room)
    assert room.rate == math.inf
