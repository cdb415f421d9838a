"""The accessible room: one column of ASCII without frames, a word for each state, and the cursor on the selection."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest
from lumen_until import until

from lumen_tui.model.tasks import Status
from lumen_tui.tui.spoken import spoken_place

_COLUMNS, _ROWS = 120, 40


class SpokenTerminal:
    """A room with `--accessible` in a pseudo-terminal, and what an emulator shows of it."""

    def __init__(self, root: Path, *words: str) -> None:
        self._fd, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (_ROWS, _COLUMNS))
        self.screen = pyte.Screen(_COLUMNS, _ROWS)
        self._stream = pyte.ByteStream(self.screen)
        command = [sys.executable, "-m", "lumen_tui", "--state", str(root), "--read-only", *words]
        self._room = subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(terminal)

    def read(self) -> None:
        while select.select([self._fd], [], [], 0.05)[0]:
            try:
                self._stream.feed(os.read(self._fd, 65536))
            except OSError:
                return

    def press(self, key: str) -> None:
        os.write(self._fd, key.encode())

    def shows(self, fact: Any) -> None:
        def look() -> Any:
            self.read()
            return fact()

        until(look, lambda: "\n".join(self.screen.display), 40)

    @property
    def row(self) -> str:
        """The row on which the terminal's cursor stands."""
        return self.screen.display[self.screen.cursor.y]

    @property
    def place(self) -> int:
        """Which of the listed tasks the cursor stands on; -1 for none of them."""
        listed = [n for n, line in enumerate(self.screen.display) if "lamps of room" in line and "builder" in line]
        return listed.index(self.screen.cursor.y) if self.screen.cursor.y in listed else -1

    def end(self) -> None:
        self._room.kill()
        self._room.wait()
        os.close(self._fd)


@pytest.fixture
def spoken(driven: Any) -> Iterator[SpokenTerminal]:
    for name in ("one", "two", "three"):
        driven.task(f"count the lamps of room {name}")
    terminal = SpokenTerminal(driven.root, "--accessible")
    terminal.shows(lambda: "lamps of room three" in "".join(terminal.screen.display))
    yield terminal
    terminal.end()


def test_the_terminals_cursor_stands_on_the_selected_row_after_each_key(spoken: SpokenTerminal) -> None:
    spoken.press("3g")
    for key, place in (("", 0), ("j", 1), ("j", 2), ("k", 1)):
        spoken.press(key)
        spoken.shows(lambda place=place: spoken.place == place)
        assert ">" in spoken.row and not spoken.screen.cursor.hidden
    spoken.press("\r")
    spoken.shows(lambda: "Task " in "".join(spoken.screen.display) and spoken.place != 1)
    assert not spoken.screen.cursor.hidden
    spoken.press("\x1b")
    spoken.shows(lambda: spoken.place == 1 and ">" in spoken.row)


def test_it_is_ascii_without_frames_and_without_two_columns(spoken: SpokenTerminal) -> None:
    text = "\n".join(spoken.screen.display)
    assert text.isascii()
    assert "+--" not in text and "|" not in text
    listed = next(n for n, line in enumerate(spoken.screen.display) if "lamps of room one" in line)
    summary = next(n for n, line in enumerate(spoken.screen.display) if line.strip().startswith("5 Discoveries"))
    assert listed < summary


def test_the_settings_turn_it_on(driven: Any) -> None:
    driven.layout.config.write_text("[room]\naccessible = true\n")
    driven.task("count the lamps")
    terminal = SpokenTerminal(driven.root)
    try:
        terminal.shows(lambda: "queued" in "".join(terminal.screen.display))
        assert not terminal.screen.cursor.hidden
        assert "\n".join(terminal.screen.display).isascii()
    finally:
        terminal.end()


async def test_every_state_of_a_task_is_a_word(driven: Any, open_room: Any) -> None:
    ended = [(driven.task(f"task {state}"), state) for state in ("failed", "done", "cancelled")]
    for task, state in ended:
        driven.ended(task, state)
    driven.task("task queued")
    async with open_room(driven, accessible=True) as room:
        await room.press("3")
        for status in (Status.FAILED, Status.DONE, Status.CANCELLED, Status.QUEUED):
            row = next(line for line in room.lines if f"task {status}" in line)
            assert str(status) in row.partition(f"task {status}")[0]


async def test_a_signal_says_whether_it_was_read(driven: Any, open_room: Any) -> None:
    driven.do("signal.send", message="the port moved", by="agent-a")
    async with open_room(driven, accessible=True) as room:
        await room.press("4")
        await room.until(lambda: any("unread" in line and "the port moved" in line for line in room.lines))
        await room.press("a")
        await room.until(
            lambda: any(line.strip().startswith(">read ") and "the port moved" in line for line in room.lines)
        )


async def test_what_is_new_is_announced_in_the_last_line_and_once(driven: Any, open_room: Any) -> None:
    driven.ask("make deploy")
    async with open_room(driven, accessible=True) as room:
        await room.sees("make deploy")
        assert "Needs you: approval" not in room.text
        driven.ask("make release")
        await room.until(lambda: "Needs you: approval, builder asks: make release" in room.lines[-1])


async def test_the_place_is_that_of_the_list_in_front_on_sheets_too(driven: Any, open_room: Any) -> None:
    for command in ("make one", "make two", "make three"):
        driven.ask(command)
    async with open_room(driven, accessible=True) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you - 3")
        for key in ("j", "j", "k"):
            await room.press(key)
            assert room.lines[spoken_place(room.app).y].strip().startswith(">")


def test_nothing_turns_and_the_room_stays_silent(spoken: SpokenTerminal) -> None:
    spoken.read()
    begun = spoken.screen.display[1:-1]
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        spoken.read()
    assert spoken.screen.display[1:-1] == begun
