"""A room in a pseudo-terminal: keys go in as bytes, and what the terminal gets comes out as bytes."""

from __future__ import annotations

import os
import pty
import select
import termios
from pathlib import Path

from lumen_program import start_room
from lumen_until import Fact, until

DEADLINE = 30.0


class Terminal:
    """A room in a pseudo-terminal."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.fd, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (40, 120))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment = {**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environ}
        self._room = start_room(root, environment, terminal)
        self.pid = self._room.pid
        os.close(terminal)
        self.sent = b""

    def read(self, quiet: float) -> bytes:
        """Read until nothing came for `quiet` seconds or the other end is closed."""
        data = b""
        while select.select([self.fd], [], [], quiet)[0]:
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        self.sent += data
        return data

    def wait_for(self, text: str, after: int = 0) -> None:
        """Wait until the room has sent this text, after its first `after` bytes."""
        self.until(lambda: text.encode() in self.sent[after:], f"{text!r} does not come: ")
        self.read(0.3)

    def until(self, fact: Fact, why: str = "") -> None:
        """Read until `fact` returns something true."""
        until(fact, lambda: f"{why}{self.sent[-2000:]!r}", DEADLINE, sleep=lambda _: self.read(0.05))

    def press(self, key: str) -> bytes:
        os.write(self.fd, key.encode())
        return self.read(0.2)

    def answer(self, key: str) -> bytes:
        """Press a key and return the output, however long the machine lets the room wait."""
        os.write(self.fd, key.encode())
        select.select([self.fd], [], [], DEADLINE)
        return self.read(0.2)

    def end(self) -> int:
        self.read(5.0)
        return self._room.wait(DEADLINE)
