"""The last way out: a room that is told to end is gone within a second, and its terminal is as it was.

The event loop hears a signal only while it turns. One that waits for a terminal that does not read, or for a disk that
hangs, would be deaf to all of them. Nothing heavy is imported: this begins before the first paint.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys
import termios
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
HUNG_UP = 128 + signal.SIGHUP
_NUDGE = signal.SIGURG  # of no other use here; it ends a system call that waits
_GRACE = 0.6  # seconds for the room's own way out: saves its screen, gives the terminal back, lets its threads end
_TRIES, _PAUSE = 20, 0.01  # seconds; to write past a thread that fills the place as soon as there is some
# All that the room may have turned on: colours, kitty keys, mouse, focus, paste, sizes, no wrap, cursor, screen, title.
_RESTORE = (
    "\x1b[0m\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2048l"
    "\x1b[?7h\x1b[?25h\x1b[?1049l\x1b[23;0t"
)


class WayOut:
    """Of this process."""

    def __init__(self) -> None:
        self._attributes: list[Any] | None = None
        self._begun = False
        self._restoring = _thread.allocate_lock()
        self._given = False  # whether the terminal is as it was
        self.taken = False  # whether anything was drawn

    def prepare(self) -> None:
        """Remember the terminal as it is, before it is touched, and let a signal give it back and end the process.

        A handler that raises would not do: libraries in C swallow what is raised while they import, or crash of it.
        """
        if self._attributes is None:
            try:
                self._attributes = termios.tcgetattr(sys.stdin.fileno())
            except (OSError, termios.error, ValueError):
                pass  # it has gone already: the room finds that out
        for number in ENDING:
            signal.signal(number, lambda number, _: self.leave(128 + number))
        signal.signal(_NUDGE, lambda *_: None)

    def hear(self) -> None:
        """From now on signals are the event loop's, and its way out is watched. For the main thread."""
        for number in (signal.SIGTERM, signal.SIGHUP):  # an INT may be meant for a program that has the terminal
            signal.signal(number, self._heard)

    def begin(self, code: int) -> None:
        """End the process with `code` soon, unless it has ended by itself. For any thread."""
        if self._begun:
            return
        self._begun = True
        _thread.start_new_thread(self._insist, (code,))

    def leave(self, code: int) -> None:
        """End the process with `code` now. For the main thread, which goes on where the terminal is being given back.

        Nothing is unwound: what is on the disk is whole whenever a process is killed.
        """
        if self._restoring.acquire(blocking=False):
            self._end(code)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.begin(128 + number)

    def give_back(self, *, screen: bool) -> None:
        """Set the terminal as it was; with `screen` also turn off all that the room may have turned on."""
        with self._restoring:  # or the other thread does it, and ends the process
            self._restore(screen=screen)
            self._given = True  # to do it again would throw away what waits to be read there

    def _restore(self, *, screen: bool) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))  # it would stop who is not in the foreground
        if self._attributes is not None:
            try:
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, self._attributes)  # type: ignore[union-attr]
            except termios.error:
                self._attributes = None  # it is gone; the one that was drawn on may be another
        if screen and self.taken:
            _write_past_others(_RESTORE)

    def _insist(self, code: int) -> None:
        time.sleep(_GRACE)
        with self._restoring:
            self._end(code)

    def _end(self, code: int) -> None:
        if not self._given:
            self._restore(screen=True)
        os._exit(code)


def _write_past_others(text: str) -> None:
    """Write to the terminal, in place of what waits to be read there and of whoever waits to write more."""
    try:
        own = os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        for _ in range(_TRIES):
            _nudge_threads()
            termios.tcflush(own, termios.TCOFLUSH)
            if _written(own, text.encode()):
                return
            time.sleep(_PAUSE)
    except (OSError, termios.error):
        return  # there is no terminal any more


def _nudge_threads() -> None:
    """Let go who waits in the middle of a write: the system lets nobody else write meanwhile."""
    for thread in sys._current_frames():  # nothing is imported: a signal may have come where an import has its lock
        if thread != _thread.get_ident():
            try:
                signal.pthread_kill(thread, _NUDGE)
            except ProcessLookupError:
                continue  # it has just ended


def _written(fd: int, data: bytes) -> bool:
    try:
        return os.write(fd, data) == len(data)
    except BlockingIOError:
        return False


def last_words(text: str) -> None:
    """Write to the terminal at the end. Where it is gone, what waits to be written is no error of this process."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def is_gone(fd: int) -> bool:
    """Return whether the terminal behind a descriptor has hung up. Nothing is read."""
    look = select.poll()
    look.register(fd, 0)
    return bool(look.poll(0))


way_out = WayOut()
