"""The first screen, some hundred milliseconds before Textual is there: the last one of this folder, with its age.

It is drawn in grey and says that it is not the present. What is typed meanwhile is kept for the room: echo is
off, nothing is read. Only builtins and the store's primitives are imported, because that is the point.
"""

from __future__ import annotations

import os
import sys
import time

from lumen_tui.model.times import ago
from lumen_tui.store import lastframe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GREY, _PLAIN = "\x1b[38;5;242m", "\x1b[0m"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H", "\x1b[0m\x1b[?25h\x1b[?1049l"


class FirstPaint:
    """Takes the terminal early, and gives it back as it was."""

    def __init__(self, root: str, *, lean: bool) -> None:
        self._root, self._lean = root, lean
        self._attributes: list[Any] | None = None

    def show(self) -> None:
        """Draw what is known. A terminal that cannot be taken is left alone."""
        import termios

        try:
            size = os.get_terminal_size(sys.stdout.fileno())
            self._attributes = termios.tcgetattr(sys.stdin.fileno())
            quiet = termios.tcgetattr(sys.stdin.fileno())
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
        except (OSError, termios.error, ValueError):
            return
        lines, kept = lastframe.load(self._root, (size.columns, size.lines), lean=self._lean)
        self._write(_ENTER + frame(lines, kept, time.time(), size.columns, size.lines, lean=self._lean))

    def give_back(self, *, leave: bool = False) -> None:
        """Restore the terminal's own settings; with `leave` the screen as well (Textual has not taken it over)."""
        import termios

        if self._attributes is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._attributes)
            if leave:
                self._write(_LEAVE)

    @staticmethod
    def _write(text: str) -> None:
        os.write(sys.stdout.fileno(), text.encode())


def frame(lines: list[str], kept: float, now: float, columns: int, rows: int, *, lean: bool) -> str:
    """The bytes of the first screen: a header that tells the age, then the lines in grey."""
    sep, dots = ("-", "...") if lean else ("·", "…")
    age = f"as it was {ago(now - kept)} {sep} opening {dots}" if lines else f"opening {dots}"
    head = f" lumen   {age}"[:columns]
    colour, plain = ("", "") if lean or os.environ.get("NO_COLOR") else (_GREY, _PLAIN)
    # `isprintable` knows every control, format and private character; `re`, which `safe` needs, costs 5 ms
    shown = [line[:columns] if line.isprintable() else "" for line in lines[1:rows]]
    return "\r\n".join([head, *(f"{colour}{line}{plain}" for line in shown)])
