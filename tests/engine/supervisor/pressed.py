"""Rooms that are opened, used at random and killed: keys, screens, signals that are typed in."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import signal
import sys
import termios
import threading
import time
from pathlib import Path

from shells import token

ESC, F2 = "\x1b", "\x1bOQ"
WRITER = 9  # the number of a room among those that write
_SIZES = ((40, 120), (24, 80), (12, 50), (60, 200))
_PRESSED = [
    *("1", "2", "3", "4", "5", "6", "\t", "j", "k", "G", "g", "z", "\r", "n", "N"),
    *("J", "$", "S", "!", "F", "E", '"', "O", "L", "@", "H", "X", "h", "W", "C", "?", "w", "%", ","),
]
_LIVES = (1.0, 20.0)  # seconds from the start of a room to its end


class RoomUser(threading.Thread):
    """Somebody who opens a room again each time that it was killed."""

    def __init__(self, root: Path, seed: int, environ: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.root, self.environ = root, environ
        self.random = random.Random(seed)  # noqa: S311
        self.over = threading.Event()
        self.kills = self.sent = self.keys = 0
        self.faults: list[str] = []

    def run(self) -> None:
        while not self.over.is_set():
            self._open()
            try:
                self._use(time.monotonic() + self.random.uniform(*_LIVES))
            finally:
                self._kill()

    def end(self) -> None:
        self.over.set()
        self.join()

    def _open(self) -> None:
        words = [sys.executable, "-m", "lumen_tui", "--state", str(self.root)]
        environ = {**os.environ, **self.environ, "TERM": "xterm-256color", "LUMEN_OPERATOR": "roomer"}
        self.pid, self.terminal = pty.fork()
        if not self.pid:  # pragma: no cover - the child
            os.execve(sys.executable, words, environ)  # noqa: S606
        self.output = b""
        self._resize()

    def _use(self, until: float) -> None:
        while time.monotonic() < until and not self.over.is_set() and self._drain(self.random.uniform(0.05, 0.5)):
            dice = self.random.random()
            if dice < 0.1:
                self._resize()
            elif dice < 0.25:
                self._send()
            else:
                self._press(self.random.choice(_PRESSED))
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            self.faults.append(f"a room ended by itself: {self.output[-800:]!r}")

    def _resize(self) -> None:
        termios.tcsetwinsize(self.terminal, self.random.choice(_SIZES))

    def _send(self) -> None:
        self._press(ESC)
        self._press("i")
        self._press(token(WRITER, self.sent))
        self._press(F2)
        self.sent += 1

    def _press(self, keys: str) -> None:
        self.keys += 1
        with contextlib.suppress(OSError):  # it has just ended
            os.write(self.terminal, keys.encode())
        self._drain(0.1)
        if keys in _PRESSED[15:]:
            self._press(ESC)

    def _drain(self, seconds: float) -> bool:
        """Take in what the room draws; whether it is there still."""
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                break
            try:
                self.output = (self.output + os.read(self.terminal, 65536))[-4000:]
            except OSError:
                return False
        return True

    def _kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        self.kills += 1
