"""A room in a pseudo-terminal: keys go in as bytes, and what the terminal gets comes out as bytes."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
from pathlib import Path

from lumen_program import start_room
from lumen_until import Fact, until

from lumen_tui.model.text import is_safe

DEADLINE = 30.0
# What Textual itself sends and no text of a file may contain.
_OWN = re.compile(
    rb"\x1b\[[0-9;]*[mnHBCDGKXb]|\x1b\[\?[0-9;]+[hl]|\x1b\[\?[0-9]+\$p|\x1b\[[<>]?[0-9;]*u|\x1b\[22;0t|\x1b\[23;0t"
    rb"|\x1b\]22;[a-z]*\x07|\x1b\]0;[^\x07\x1b]*\x07|\x1b\[2J|\x1b\[[0-9;]*[rq]|\x1b\[>q"
)
_HARMLESS = "\r\x07\x08"  # between its own: a line's beginning, the bell, a step back


class Terminal:
    """A room in a pseudo-terminal, or the program with these words in its place."""

    def __init__(self, root: Path, *words: str, **environ: str) -> None:
        self.fd, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (40, 120))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment = {**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environ}
        self._room = self._started(words, environment, terminal) if words else start_room(root, environment, terminal)
        self.pid = self._room.pid
        os.close(terminal)
        self.sent = b""

    @staticmethod
    def _started(words: tuple[str, ...], environment: dict[str, str], terminal: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, env=environment, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
        )

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

    def foreign(self) -> str:
        """Return the first thing that was sent and is neither safe text nor a sequence of the room's own, or ""."""
        left = _OWN.sub(b"", self.sent).decode(errors="replace").translate(dict.fromkeys(map(ord, _HARMLESS)))
        at = next((number for number, char in enumerate(left) if not is_safe(char)), -1)
        return ascii(left[max(0, at - 40) : at + 80]) if at >= 0 else ""

    def end(self) -> int:
        self.read(5.0)
        return self._room.wait(DEADLINE)
