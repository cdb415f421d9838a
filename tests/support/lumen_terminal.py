"""A room in a pseudo-terminal: what a person types goes in as bytes, what a terminal gets comes out as bytes."""

from __future__ import annotations

import os
import pty
import select
import termios
import time
from pathlib import Path

from lumen_program import start_room

DEADLINE = 30.0


class Terminal:
    """A room in a pseudo-terminal."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.fd, its = pty.openpty()
        termios.tcsetwinsize(its, (40, 120))
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        kept |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environ}
        self._room = start_room(root, kept, its)
        self.pid = self._room.pid
        os.close(its)
        self.sent = b""

    def read(self, quiet: float) -> bytes:
        """What comes until nothing came for `quiet` seconds or the other end is closed."""
        got = b""
        while select.select([self.fd], [], [], quiet)[0]:
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                break
            if not part:
                break
            got += part
        self.sent += got
        return got

    def wait_for(self, text: str, after: int = 0) -> None:
        """Until it came, behind so many bytes."""
        deadline = time.monotonic() + DEADLINE
        while text.encode() not in self.sent[after:]:
            assert time.monotonic() < deadline, f"{text!r} never came: {self.sent[-2000:]!r}"
            self.read(0.1)
        self.read(0.3)

    def press(self, key: str) -> bytes:
        os.write(self.fd, key.encode())
        return self.read(0.2)

    def answer(self, key: str) -> bytes:
        """What a key brings, however long the machine lets the room wait."""
        os.write(self.fd, key.encode())
        select.select([self.fd], [], [], DEADLINE)
        return self.read(0.2)

    def end(self) -> int:
        self.read(5.0)
        return self._room.wait(DEADLINE)
