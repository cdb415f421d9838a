"""The size that the terminal has now is the one that the room is laid out for, however the signals come."""

from __future__ import annotations

import os
import pty
import signal
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
from textual.geometry import Size

from lumen_tui.tui.patches.terminal import Terminal


class Window:
    """A terminal whose size changes once more just after it was read."""

    def __init__(self) -> None:
        self.ends = pty.openpty()
        self.next: list[tuple[int, int] | None] = []  # what each read is followed by, the last first

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self.ends[1], (rows, columns))
        signal.raise_signal(signal.SIGWINCH)

    def read(self, _output: int) -> os.terminal_size:
        rows, columns = termios.tcgetwinsize(self.ends[1])
        size = os.terminal_size((columns, rows))
        if self.next and (changed := self.next.pop()) is not None:
            self.resize(*changed)
        return size


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    made = Window()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)}
    with ExitStack() as files:
        for name, mode in (("__stdin__", "r"), ("__stdout__", "w")):
            monkeypatch.setattr(sys, name, files.enter_context(open(made.ends[1], mode, closefd=False)))
        for name in ("COLUMNS", "LINES"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("lumen_tui.tui.patches.terminal.os.get_terminal_size", made.read)
        yield made
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for end in made.ends:
        os.close(end)


@asynccontextmanager
async def started(room: Any, window: Window) -> AsyncIterator[None]:
    """A driver on that window, from the start to the end, beside the one of the test."""
    termios.tcsetwinsize(window.ends[1], (24, 80))
    terminal = Terminal(room.app)
    terminal.start_application_mode()
    try:
        await room.settle()
        yield
    finally:
        terminal.stop_application_mode()
        terminal.close()


@pytest.mark.fault("R12", "storms of sizes and keys")
async def test_a_size_that_changes_while_the_one_before_is_read_stays(open_room: Any, window: Window) -> None:
    async with open_room() as room, started(room, window):
        window.next = [(100, 30)]
        window.resize(10, 31)
        await room.until(lambda: room.app.size == Size(100, 30) and not window.next)


@pytest.mark.fault("R12", "storms of sizes and keys")
@pytest.mark.parametrize("reads", range(3))
async def test_a_size_that_changes_while_the_terminal_is_taken_stays(
    open_room: Any, window: Window, reads: int
) -> None:
    async with open_room() as room:
        window.next = [(100, 30), *[None] * reads]
        async with started(room, window):
            await room.until(lambda: room.app.size == Size(100, 30) and not window.next)


@pytest.mark.parametrize(("before", "after"), [((79, 31), (95, 31)), ((95, 31), (44, 31)), ((90, 30), (90, 11))])
async def test_a_form_looks_as_if_it_had_been_opened_in_the_size_that_it_has(
    open_room: Any, before: tuple[int, int], after: tuple[int, int]
) -> None:
    async with open_room(size=after) as room:
        await room.press("t")
        opened_so = room.lines
    async with open_room(size=before) as room:
        await room.press("t")
        await room.pilot.resize_terminal(*after)
        await room.settle()
        assert room.lines == opened_so
