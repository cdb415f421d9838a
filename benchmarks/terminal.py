"""A pseudo-terminal with a program in it: it replies to queries as terminals do and records when each byte came."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pyte

SYNC_END = b"\x1b[?2026l"
NO_FRAME = 30  # bytes, which are fewer than those of a frame
_ASK = re.compile(rb"\x1b\[0?c|\x1b\[[56]n|\x1b\[\?(\d+)\$p|\x1b\](1[01]);\?(?:\x07|\x1b\\)|\x1b\[\?u")
_LONGEST = 16  # bytes of a question
# What pyte does not know and would show as text.
_STRANGE = re.compile(
    rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*(?:u|\$p)|\x1bP.*?\x1b\\|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", re.S
)


class Emulated(pyte.Screen):
    """As pyte has it; it repeats a character (REP), as xterm and those after it do."""

    last = ""

    def draw(self, data: str) -> None:
        self.last = data[-1:]
        super().draw(data)

    def repeat(self, count: int = 1) -> None:
        self.draw(self.last * (count or 1))


class EmulatedStream(pyte.ByteStream):
    """What a program sends to such a screen."""

    csi = {**pyte.ByteStream.csi, "b": "repeat"}  # noqa: RUF012 - pyte's own way
    events = pyte.ByteStream.events | {"repeat"}


class Screen:
    """The content of the screen after so many bytes."""

    def __init__(self, columns: int, rows: int) -> None:
        self._screen = Emulated(columns, rows)
        self._stream = EmulatedStream(self._screen)

    def feed(self, data: bytes) -> None:
        self._stream.feed(_STRANGE.sub(b"", data))

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 1 on."""
        return self._screen.cursor.y + 1, self._screen.cursor.x + 1

    @property
    def ink(self) -> int:
        """How many cells hold a character."""
        return sum(not char.isspace() for char in self.text)


class Terminal:
    """A started command; `began` is the moment before. All times are of time.perf_counter, in seconds."""

    def __init__(
        self, command: list[str], *, columns: int = 120, rows: int = 40, env: dict[str, str] | None = None
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.chunks: list[tuple[float, bytes]] = []
        self.ended = False
        self._begun = b""  # the last bytes, which may begin a question
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        about = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(env or {})}
        for name in ("TMUX", "NO_COLOR", "COLUMNS", "LINES"):
            about.pop(name, None)
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=about, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)

    def read(self, timeout: float) -> bytes:
        """Read, record and reply to what comes next; empty after `timeout` seconds of silence or at the end."""
        ready, _, _ = select.select([self.master], [], [], max(0.0, timeout))
        if not ready:
            return b""
        try:
            data = os.read(self.master, 1 << 17)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return b""
        self.chunks.append((time.perf_counter(), data))
        begun, self._begun = self._begun, (self._begun + data)[-_LONGEST:]  # a question may come in two parts
        for question in _ASK.finditer(begun + data):
            if question.end() > len(begun):
                os.write(self.master, self._answer(question, data[: max(0, question.start() - len(begun))]))
        return data

    def _answer(self, question: re.Match[bytes], before: bytes) -> bytes:
        if question[1]:
            return b"\x1b[?%s;%d$y" % (question[1], 2 if question[1] == b"2026" else 0)
        if question[2]:
            return b"\x1b]%s;rgb:0000/0000/0000\x1b\\" % question[2]
        if question[0] == b"\x1b[6n":
            return b"\x1b[%d;%dR" % self._cursor_before(before)
        return {b"u": b"\x1b[?0u", b"n": b"\x1b[0n"}.get(question[0][-1:], b"\x1b[?62;22c")

    def _cursor_before(self, data: bytes) -> tuple[int, int]:
        """Return row and column of the cursor, from 1 on, after what came before and this part of the last chunk."""
        screen = Screen(self.columns, self.rows)
        for _, chunk in self.chunks[:-1]:
            screen.feed(chunk)
        screen.feed(data)
        return screen.cursor

    def settle(self, quiet: float = 0.4, most: float = 30.0) -> int:
        """Read until `quiet` seconds of silence; return how many bytes came."""
        end = time.perf_counter() + most
        count = 0
        while not self.ended and time.perf_counter() < end:
            data = self.read(quiet)
            if not data:
                break
            count += len(data)
        return count

    def settle_in(self, quiet: float = 0.8, most: float = 30.0) -> None:
        """Wait for the program to show something, then until it has had nothing to add for `quiet` seconds."""
        end = time.perf_counter() + most
        while not self.ended and time.perf_counter() < end and sum(len(data) for _, data in self.chunks) < 200:
            self.read(0.1)
        self.settle(quiet, most)

    def until(self, text: str, most: float) -> None:
        """Read until `text` was written in one piece, at most so many seconds."""
        end = time.perf_counter() + most
        tail = b""
        while not self.ended and time.perf_counter() < end and text.encode() not in tail:
            tail = tail[-len(text) :] + self.read(0.1)

    def send(self, keys: bytes) -> float:
        """Type keys; return when."""
        at = time.perf_counter()
        os.write(self.master, keys)
        return at

    def react(self, keys: bytes, *, quiet: float = 0.03, timeout: float = 1.0) -> tuple[float, int]:
        """Type keys; return (ms until the last byte of the first frame, the bytes so far); 0 ms where no frame came.

        The shape of the mouse, which a screen that comes sends long before its frame, is none.
        """
        at = self.send(keys)
        count = 0
        last = at
        tail = b""
        while data := self.read(quiet if count >= NO_FRAME else timeout):
            count = count + len(data)
            last = self.chunks[-1][0]
            tail = (tail + data)[-16:]
            if tail.endswith(SYNC_END):
                break
        return (last - at) * 1000 if count >= NO_FRAME else 0.0, count

    def shown(self) -> Screen:
        """Return the screen as it is now."""
        screen = Screen(self.columns, self.rows)
        for _, data in self.chunks:
            screen.feed(data)
        return screen

    def when(self, text: str) -> float:
        """Return ms from the start until `text` was on the screen; 0 where it never was."""
        screen = Screen(self.columns, self.rows)
        for at, data in self.chunks:
            screen.feed(data)
            if text in screen.text:
                return (at - self.began) * 1000
        return 0.0

    def first_paint(self) -> float:
        """Return ms from the start until a twentieth of the settled screen's characters were there."""
        enough = self.shown().ink / 20
        screen = Screen(self.columns, self.rows)
        for at, data in self.chunks:
            screen.feed(data)
            if screen.ink >= enough:
                return (at - self.began) * 1000
        return 0.0

    def memory(self) -> float:
        """Return the PSS in MiB of the program itself."""
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as file:
            return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1]) / 1024  # type: ignore[index]

    def cpu(self) -> float:
        """Return the seconds of CPU so far, of the threads that are there where the kernel counts finely."""
        tasks = f"/proc/{self.process.pid}/task"
        try:
            return sum(int(Path(tasks, task, "schedstat").read_text().split()[0]) for task in os.listdir(tasks)) / 1e9
        except FileNotFoundError:
            return self._ticks()

    def _ticks(self) -> float:
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def leave(self, keys: bytes = b"q") -> None:
        """Quit the program as a person would; kill it where it does not end."""
        if self.process.poll() is None:
            self.settle(0.3, 2)  # an escape just before the key would make another key of both
            self.send(keys)
            deadline = time.perf_counter() + 8
            while self.process.poll() is None and not self.ended and time.perf_counter() < deadline:
                self.read(0.1)
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)
        os.close(self.master)
