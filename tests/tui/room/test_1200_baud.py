"""A line of 1,200 baud, which is 120 bytes a second, and one that drops to it: keys are answered, nothing piles up."""

from __future__ import annotations

import fcntl
import math
import struct
import termios
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest
from lumen_modem import Modem
from lumen_terminal import Terminal

_RATE = 120  # bytes a second
_SOON = 700  # bytes until a key is answered: six seconds
_STEADY = 400  # bytes that wait for the line while it is known to be slow: a part of a frame, and a question
_ON_ITS_WAY = 4_096  # and as it drops: what a quick line is sent before its answer; it is what a terminal buffers


class SlowModem(Modem):
    """Knows how much waits for it, at most and now."""

    waited = 0

    def carry(self, _: float = 0.0) -> None:
        super().carry()
        self.waited = max(self.waited, self.waits)

    @property
    def waits(self) -> int:
        """Bytes that the room has written and the line has not taken."""
        return int(struct.unpack("i", fcntl.ioctl(self.room.fd, termios.FIONREAD, b"\0" * 4))[0])

    def bytes_until(self, keys: str, fact: Callable[[], object]) -> int:
        """Press keys, and return the bytes that came until something holds."""
        before = self.count
        self.press(keys)
        self.until(fact)
        return self.count - before

    def settle(self) -> None:
        """Carry until nothing has come for a second."""
        self.waited, quiet = 0, 0

        def nothing_comes() -> bool:
            nonlocal quiet
            quiet = 0 if self.waits else quiet + 1
            return quiet > 100

        self.until(nothing_comes)


@pytest.fixture
def modem(state: Path, terminals: list[Terminal]) -> Iterator[SlowModem]:
    terminals.append(terminal := Terminal(state))
    modem = SlowModem(terminal)
    modem.until(lambda: "something noticed" in modem.text and not modem.waits)
    yield modem
    modem.rate = math.inf
    modem.press("q")


@pytest.mark.long
def test_a_line_that_drops_to_1200_baud_is_known_answers_keys_and_recovers(modem: SlowModem) -> None:
    modem.rate, modem.waited = _RATE, 0
    modem.press("3456" * 4)  # each another pane in front
    modem.until(lambda: "slow line" in modem.text)
    assert modem.waited <= _ON_ITS_WAY
    modem.settle()
    assert modem.text.isascii(), "it draws plainly"
    assert modem.bytes_until("t", lambda: "New task" in modem.text) < _SOON
    modem.settle()
    assert modem.bytes_until("\x1b", lambda: "New task" not in modem.text) < _SOON
    modem.settle()
    assert modem.bytes_until("3456" * 10 + "t", lambda: "New task" in modem.text) < 2 * _SOON, "the newest comes first"
    assert modem.waited <= _STEADY
    modem.rate = math.inf
    turns = cycle("\x1bt")

    def again() -> bool:
        modem.press(next(turns))
        for _ in range(20):
            modem.carry()
        return "fast again" in modem.text

    modem.until(again)
    modem.until(lambda: "╭" in modem.text)


@pytest.mark.parametrize("size", [(0, 0), (10, 3)], ids=["0x0", "10x3"])
def test_a_terminal_too_small_for_a_room_on_a_slow_line_takes_keys_and_grows_again(
    modem: SlowModem, size: tuple[int, int]
) -> None:
    modem.rate = 8 * _RATE
    modem.resize(*size)
    modem.press("345")
    modem.settle()
    assert modem.waited <= _ON_ITS_WAY
    modem.resize(60, 20)
    modem.press("4")
    modem.until(lambda: "4 Signals" in modem.text and "a note, number 3" in modem.text)


@pytest.mark.fault("R12", "storms of sizes and keys")
def test_a_storm_of_sizes_on_a_slow_line_piles_nothing_up(modem: SlowModem) -> None:
    modem.rate, modem.waited = 8 * _RATE, 0
    for columns in range(60, 140, 4):
        modem.resize(columns, 20 + columns % 7)
        modem.carry()
    modem.resize(80, 24)
    modem.until(lambda: ("something noticed" in modem.text and "╯" in modem.text) or "+" in modem.text)
    assert modem.waited <= _ON_ITS_WAY
