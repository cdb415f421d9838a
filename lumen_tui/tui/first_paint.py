"""The first screen, some hundred milliseconds before Textual is there: the last one of this folder, with its age.

It is drawn in grey and says that it is not the present. What is typed meanwhile is kept for the room: echo is
off, nothing is read. Only builtins and the storage's primitives are imported, because that is the point. The room
saves its last screen under index/ as plain text when it is left: derived, and disposable.
"""

from __future__ import annotations

import os
import sys
import termios
import time

from lumen_tui.model.times import ago
from lumen_tui.storage import files
from lumen_tui.tui.patches.way_out import way_out

_NAME = "index/last-frame.txt"
_LIMIT = 256 * 1024
_KINDS = ("full", "lean")  # of a room: the other one has other shapes


def save(root: str, size: tuple[int, int], lines: list[str], now: float, *, lean: bool) -> None:
    """Save the screen of a window of `size` (columns, rows). A disk that refuses it is ignored."""
    head = f"{size[0]} {size[1]} {now:.0f} {_KINDS[lean]}"
    try:
        files.replace(os.path.join(root, _NAME), "\n".join([head, *lines]).encode(errors="replace"))
    except (files.StoreError, OSError):
        pass


def load(root: str, size: tuple[int, int], *, lean: bool) -> tuple[list[str], float]:
    """Return the lines saved for a window of this size and kind, and when; nothing and 0 for another."""
    try:
        text = (files.read(os.path.join(root, _NAME), _LIMIT) or b"").decode(errors="replace")
        head, *lines = text.split("\n")
        columns, rows, saved_at, kind = head.split()
        fits = (int(columns), int(rows)) == size and kind == _KINDS[lean]
        return (lines, float(saved_at)) if fits else ([], 0.0)
    except (files.StoreError, OSError, ValueError):
        return [], 0.0


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
        lines, saved_at = load(root, (size.columns, size.lines), lean=lean)
        text = _ENTER + frame(lines, saved_at, time.time(), size.columns, size.lines, lean=lean)
        os.write(sys.stdout.fileno(), text.encode())
    except (OSError, termios.error, ValueError):
        return


def frame(lines: list[str], saved_at: float, now: float, columns: int, rows: int, *, lean: bool) -> str:
    """Return the bytes of the first screen: a header that tells the age, then the lines in grey."""
    sep, dots = ("-", "...") if lean else ("·", "…")
    age = f"as it was {ago(now - saved_at)} {sep} opening {dots}" if lines else f"opening {dots}"
    head = f" lumen   {age}"[:columns]
    colour, plain = ("", "") if lean or os.environ.get("NO_COLOR") else (_GREY, _PLAIN)
    # `isprintable` knows every control, format and private character; `re`, which `safe` needs, costs 5 ms
    shown = [line[:columns] if line.isprintable() else "" for line in lines[1:rows]]
    return "\r\n".join([head, *(f"{colour}{line}{plain}" for line in shown)])
