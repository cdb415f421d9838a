"""What is sent may be shorter, never another picture."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st
from lumen_rows import each_row
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.control import Control
from rich.style import Style

from lumen_tui.tui.panes.base import _differs
from lumen_tui.tui.patches.fewer_bytes import thrifty

COLOURS = [None, "default", "red", "bright_blue", "color(200)", Color.from_triplet(ColorTriplet(1, 2, 3))]
STYLES = st.builds(
    Style, color=st.sampled_from(COLOURS), bgcolor=st.sampled_from(COLOURS), bold=st.booleans(),
    reverse=st.booleans(), underline=st.booleans(),
)  # fmt: skip
TEXTS = st.text(alphabet="ab •[0m38;2", max_size=6)
PIECES = st.tuples(STYLES, TEXTS, st.sampled_from(["", Control.move_to(3, 1).segment.text, "\x1b[2;1H"]))


def picture(data: str) -> list[object]:
    screen = pyte.Screen(40, 4)
    pyte.Stream(screen).feed(data)
    screen.draw("x")  # in what is left behind
    return [screen.buffer[y][x] for y in range(4) for x in range(40)]


@given(st.lists(PIECES, max_size=12))
def test_the_picture_is_the_same(pieces) -> None:
    data = "".join(move + style.render(text) for style, text, move in pieces)
    short = thrifty(data)
    assert picture(short) == picture(data)
    assert len(short) <= len(data)


def test_of_colours_only_what_changes_is_sent() -> None:
    ground = "48;2;15;18;23m"
    one, two = f"\x1b[38;2;1;1;1;{ground}", f"\x1b[38;2;2;2;2;{ground}"
    data = f"\x1b[1;1H{one}a\x1b[0m{two}b\x1b[0m\x1b[2;1H{two}c\x1b[0m"
    assert thrifty(data) == f"\x1b[1;1H\x1b[38;2;1;1;1;{ground}a\x1b[38;2;2;2;2mb\x1b[2;1Hc\x1b[0m"
    assert thrifty("no colours \x1b[3;1H at all") == "no colours \x1b[3;1H at all"


@each_row(
    ("was", "now", "width", "cells"),
    [
        ("3 of 7", "4 of 7", 40, (0, 1)),
        ("19 of 70", "20 of 70", 40, (0, 2)),
        ("a 9", "a 10", 40, (-2, 5)),
        ("", "all read", 40, (-2, 9)),
        ("漢1", "漢2", 40, (-2, 4)),
        ("a long caption", "a long option_", 12, (-2, 11)),
    ],
)
def test_a_caption_is_painted_where_it_differs(was: str, now: str, width: int, cells: tuple[int, int]) -> None:
    assert _differs(was, now, width) == cells
