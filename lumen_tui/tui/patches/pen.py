"""How a terminal draws, and the shortest way from one drawing to another (SGR, ECMA-48 8.3.117)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

_LENGTHS = {"2": 5, "5": 3}  # numbers of a colour by the kind that stands behind 38 or 48
_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "21": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29",
        "51": "54", "52": "54", "53": "55"}  # fmt: skip
_ON_BLANKS = {"4", "21", "7", "9", "51", "52", "53"}  # attributes that are seen where there is no character


class Pen(NamedTuple):
    """The numbers of SGR for attributes and for each colour, empty for the terminal's own."""

    attributes: tuple[str, ...] = ()
    ink: str = ""
    ground: str = ""
    blank: str = ""  # what is seen of it in a cell without a character


PLAIN = Pen()


@lru_cache(maxsize=4096)
def pen_of(style: Style | None, colours: ColorSystem) -> Pen:
    """Return what a style asks for on a terminal with such colours."""
    return PLAIN if style is None else _pen(Strip.render_ansi(style, colours))


@lru_cache(maxsize=4096)
def _pen(numbers: str) -> Pen:
    attributes: list[str] = []
    ink, ground = "", ""
    parts = [number for number in numbers.split(";") if number]
    while parts:
        size = _LENGTHS.get(parts[1] if len(parts) > 1 else "", 1) if parts[0] in ("38", "48") else 1
        code, parts = ";".join(parts[:size]), parts[size:]
        match int(code.partition(";")[0]):
            case 39 | 49:
                pass  # the terminal's own
            case n if n // 10 in (3, 9):
                ink = code
            case n if n // 10 in (4, 10):
                ground = code
            case _:
                attributes.append(code)
    blank = ";".join(filter(None, (*attributes, ink, ground))) if _ON_BLANKS.intersection(attributes) else ground
    return Pen(tuple(attributes), ink, ground, blank)


def blank_pen(pen: Pen) -> Pen:
    """Return the least pen that draws a cell without a character as this one does."""
    if pen.blank != pen.ground:
        return pen
    return Pen(ground=pen.ground, blank=pen.blank) if pen.ground else PLAIN


@lru_cache(maxsize=4096)
def change(was: Pen, now: Pen) -> str:
    """Return the shortest sequence from one to the other."""
    if was == now:
        return ""
    afresh = ["" if now == PLAIN else "0", *now.attributes, now.ink, now.ground]
    off = sorted({_OFF[number] for number in was.attributes if number not in now.attributes})
    on = [number for number in now.attributes if number not in was.attributes or _OFF[number] in off]
    ink = (now.ink or "39") if was.ink != now.ink else ""
    ground = (now.ground or "49") if was.ground != now.ground else ""
    ways = (";".join(filter(None, numbers)) for numbers in (afresh, [*off, *on, ink, ground]))
    return f"\x1b[{min(ways, key=len)}m"
