"""The room's terminal: Textual's driver, which ends the room where its terminal has gone or has no size.

A hang-up is not always a signal: `make` keeps it to itself, and waits for the room. So the end of the input and an
error of either side end the room as the signal does. What is written to a terminal that is gone is dropped: nobody
waits for it. Nothing that could act on a terminal or on the room leaves it, whatever a widget let through.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache, partial
from typing import IO, Any, cast

from rich.segment import Segment
from rich.style import Style
from textual._xterm_parser import XTermParser
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition, Key, Resize
from textual.filter import LineFilter
from textual.geometry import Offset, Size
from textual.keys import Keys
from textual.message import Message

from lumen_tui.model.text import is_safe, safe
from lumen_tui.tui.host import host_of
from lumen_tui.tui.patches.painter import ANSWER, Painter
from lumen_tui.tui.patches.way_out import HUNG_UP, is_gone, way_out

SHOW_CURSOR = "\x1b[?25h"
NO_CELLS = (1, 1)  # what a terminal of no rows or no columns is laid out as; nothing is drawn on it
_LOOK = 100  # milliseconds between two looks whether a key that began with escape has ended
_MOST = 4096  # bytes


class Wire:
    """A file that drops what cannot be written, and says so once."""

    def __init__(self, file: IO[str], lost: Callable[[], None]) -> None:
        self._file, self._lost = file, lost
        self.gone = False
        self.taken = self.out = 0  # texts that were written, and of these how many have left
        self.on_out: Callable[[], object] = int

    def write(self, text: str) -> None:
        """Write, or drop."""
        self._try(lambda: self._file.write(text))
        self.taken += 1

    def flush(self) -> None:
        """Flush, or drop."""
        self._try(self._file.flush)
        self.out = self.taken
        self.on_out()

    def fileno(self) -> int:
        """Of the file behind it."""
        return self._file.fileno()

    def _try(self, act: Callable[[], object]) -> None:
        if self.gone:
            return
        try:
            act()
        except OSError:
            self.gone = True
            self._lost()


class _Parser(XTermParser):
    """As Textual has it, which would take the answer of a terminal for keys."""

    def __init__(self, on_answer: Callable[[], None], debug: bool) -> None:
        super().__init__(debug)
        self._on_answer = on_answer

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if sequence != ANSWER:
            return super()._sequence_to_key_events(sequence, alt)
        self._on_answer()
        return [Key(Keys.Ignore, sequence)]


class Terminal(LinuxDriver):
    """Reads standard input and draws on standard output, wherever errors go."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        assert sys.__stdout__ is not None  # noqa: S101 - the room is opened on a terminal only
        self._wire = Wire(sys.__stdout__, self.hang_up)
        self._file = cast("Any", self._wire)
        self._waker: tuple[int, ...] = ()  # a pipe whose end wakes the thread that waits for keys
        self._writes = 0
        self._painter: Painter = app.painter
        self._wire.on_out = self._painter.out
        self._size = self._get_terminal_size()  # Rich has another idea of a terminal that does not tell its size

    def hang_up(self) -> None:
        """Leave, as at a hang-up. For any thread."""
        way_out.begin(HUNG_UP)
        host = host_of(self._app)
        assert host is not None  # noqa: S101 - no other application uses this driver
        self.call(lambda: host.end_by(signal.SIGHUP))

    def start_application_mode(self) -> None:
        """As Textual has it, which returns half-way where there is no terminal any more."""
        self._wire.gone = self._wire.gone or is_gone(self._wire.fileno())
        if self._wire.gone or is_gone(self.fileno):
            self.hang_up()
        way_out.taken = True
        self._waker = self._waker or os.pipe()
        size = self._get_terminal_size()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGWINCH, lambda *_: self.call(self._tell_size))
        if self._get_terminal_size() != size:
            self.call(lambda: self.call(self._tell_size))  # behind what Textual tells, which takes two turns
        self._feed_lines_straight()
        self._painter.begin(self)
        if self._spoken:
            self.write(SHOW_CURSOR)

    def _tell_size(self) -> None:
        """Tell the application how large the terminal is now. In the event loop.

        A handler of signals, where Textual reads the size, is itself interrupted by the next signal: the size that was
        read first would be told last, and stay.
        """
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self._app.post_message(Resize(size, size))

    def _feed_lines_straight(self) -> None:
        """Let a line feed reach the terminal as it is: the system would put a return before it."""
        try:
            attributes = termios.tcgetattr(self.fileno)
            attributes[tty.OFLAG] &= ~termios.ONLCR
            termios.tcsetattr(self.fileno, termios.TCSANOW, attributes)
        except termios.error:
            return  # it has gone; a line feed is tried before it is used

    def stop_application_mode(self) -> None:
        """As Textual has it; also in the background, where setting a terminal stops the process that does it."""
        self._painter.lend()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))
        try:
            super().stop_application_mode()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def write(self, data: str) -> None:
        """Write, and drop what a terminal that is gone does not take."""
        if not self._wire.gone:
            self._writes += 1
            super().write(data)
            time.sleep(0)  # this thread would keep its turn for half a millisecond more

    @property
    def is_free(self) -> bool:
        """Whether all that was written has left."""
        return self._wire.gone or self._wire.out == self._writes

    def call(self, act: Callable[[], object], after: float = 0.0) -> None:
        """Do it in the event loop, so many seconds later. For any thread."""
        later = partial(self._loop.call_later, after, act) if after else act
        try:
            self._loop.call_soon_threadsafe(later)
        except RuntimeError:
            return  # the event loop has ended: the room is leaving

    def process_message(self, message: Message) -> None:
        """As Textual has it; where the cursor is tells what the terminal does."""
        if isinstance(message, CursorPosition):
            self._painter.take_cursor(Offset(message.x, message.y))
        else:
            super().process_message(message)

    @property
    def _spoken(self) -> bool:
        """Whether the terminal's own cursor is seen: a screen reader and a magnifier follow it."""
        host = host_of(self._app)
        return host is not None and host.look.spoken

    def disable_input(self) -> None:
        """As Textual has it; the thread that waits for keys is woken, so that it sees that it is over."""
        if self._waker:
            os.write(self._waker[1], b"\0")
        super().disable_input()  # waits for the thread
        if self._waker:
            os.read(self._waker[0], 1)

    def close(self) -> None:
        """As Textual has it, when the room leaves and when it lends its terminal."""
        super().close()
        for fd in self._waker:
            os.close(fd)
        self._waker = ()

    def run_input_thread(self) -> None:
        """Turn what is typed into events until the room leaves, or lends its terminal.

        A room in which nobody types wakes up for nothing: it looks at the time only while a key may not be whole.
        """
        parser = _Parser(self._painter.take_answer, self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        look = select.poll()
        look.register(self.fileno, select.POLLIN)
        look.register(self._waker[0], select.POLLIN)
        while not self.exit_event.is_set():
            ready = look.poll(None if parser._timeout_time is None else _LOOK)
            if any(fd == self.fileno for fd, _ in ready):
                data = self._read()
                if not data:
                    self.hang_up()
                    break
                self._feed(parser, decode(data))
            for event in parser.tick():
                self.process_message(event)

    def _read(self) -> bytes:
        """Return nothing at the end of the input, and where it cannot be read any more."""
        try:
            return os.read(self.fileno, _MOST)
        except OSError:
            return b""

    def _feed(self, parser: XTermParser, text: str) -> None:
        if text:  # not the first half of a character
            for event in parser.feed(text):
                self.process_message(event)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Return what the environment says, or else the terminal, as `shutil` does, which takes 2 ms to import."""
        told = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
        columns, lines = (int(size) if size.isdecimal() else 0 for size in told)
        if not (columns and lines) and sys.__stdout__ is not None:
            with suppress(OSError, ValueError):
                own = os.get_terminal_size(sys.__stdout__.fileno())
                columns, lines = columns or own.columns, lines or own.lines
        return (columns, lines) if columns and lines else NO_CELLS


_ACTING = ("@mouse.down", "@mouse.up")  # what Textual's own scroll bars put into their cells
_HARMLESS = ("scroll_up", "scroll_down", "release", "grab", "noop")


class Guard(LineFilter):
    """Makes hostile characters visible and cuts links, actions and control codes out of every segment."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(_harmless(segment) for segment in segments):
            return segments
        width = sum(segment.cell_length for segment in segments)
        return Segment.adjust_line_length([_cleaned(segment) for segment in segments], width)


def _harmless(segment: Segment) -> bool:
    text, style, control = segment
    return not control and _plain(text) and (style is None or _quiet(style))


def _plain(text: str) -> bool:
    if text.isascii():
        return text.isprintable()
    return is_safe(text) and "\n" not in text and "\t" not in text


@lru_cache(maxsize=2048)
def _quiet(style: Style) -> bool:
    return not style.link and not any(name.startswith("@") and not _own(name, style) for name in style.meta)


def _own(name: str, style: Style) -> bool:
    return name in _ACTING and style.meta[name] in _HARMLESS


def _cleaned(segment: Segment) -> Segment:
    text, style, _ = segment
    shown = safe(text).replace("\n", "␊").replace("\t", " ")
    return Segment(shown, style if style is None or _quiet(style) else _muzzled(style))


def _muzzled(style: Style) -> Style:
    meta = {name: value for name, value in style.meta.items() if not name.startswith("@")}
    return style.clear_meta_and_links() + Style.from_meta(meta)


_TWINS = str.maketrans({
    "…": "~", "·": "-", "▐": "|", "–": "-", "—": "-", "╌": "-", "│": "|", "─": "-", "▌": ">", "•": "-", "━": "=",
    "↑": "^", "↓": "v", "←": "<", "→": ">", "‹": "<", "›": ">", "“": '"', "”": '"', "×": "x", "✓": "v", "␊": "$",
})  # fmt: skip


class AsciiTwins(LineFilter):
    """For `--lean`: the marks of the room's own chrome in ASCII, each as wide as what it stands for."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(segment.text.translate(_TWINS), segment.style)
            for segment in segments
        ]
