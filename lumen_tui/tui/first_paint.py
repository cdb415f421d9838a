"""The first screen, some hundred milliseconds before Textual is there: the last one of this folder, with its age.

It is drawn in grey and says that it is not the present. What is typed meanwhile is kept for the room: echo is
off, nothing is read. Only builtins and the store's primitives are imported, because that is the point.
"""

from __future__ import annotations

import os
import sys
import termios
import time

from lumen_tui.model.times import ago
from lumen_tui.storage import last_frame
from lumen_tui.tui.patches.way_out import way_out

_GREY, _PLAIN = "\x1b[38;5;242m", "\x1b[0m"
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H"


def show(root: str, *, lean: bool) -> None:
    """Take the terminal early and draw what is known of this state folder. One that cannot be taken is left alone."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
        quiet = termios.tcgetattr(sys.stdin.fileno())
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
        if not size.columns or not size.lines:
            return
        way_out.taken = True
        lines, kept = last_frame.load(root, (size.columns, size.lines), lean=lean)
        text = _ENTER + frame(lines, kept, time.time(), size.columns, size.lines, lean=lean)
        os.write(sys.stdout.fileno(), text.encode())
    except (OSError, termios.error, ValueError):
        return


def frame(lines: list[str], kept: float, now: float, columns: int, rows: int, *, lean: bool) -> str:
    """The bytes of the first screen: a header that tells the age, then the lines in grey."""
    sep, dots = ("-", "...") if lean else ("·", "…")
    age = f"as it was {ago(now - kept)} {sep} opening {dots}" if lines else f"opening {dots}"
    head = f" lumen   {age}"[:columns]
    colour, plain = ("", "") if lean or os.environ.get("NO_COLOR") else (_GREY, _PLAIN)
    # `isprintable` knows every control, format and private character; `re`, which `safe` needs, costs 5 ms
    shown = [line[:columns] if line.isprintable() else "" for line in lines[1:rows]]
    return "\r\n".join([head, *(f"{colour}{line}{plain}" for line in shown)])
