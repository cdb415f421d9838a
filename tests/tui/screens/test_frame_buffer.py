"""Whatever was shown before: after the changes alone the terminal shows what the whole frame would show."""

from __future__ import annotations

import math
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lumen_emulator import Emulator
from lumen_rows import each_row
from lumen_until import until
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from lumen_tui.tui.panes.base import _differs
from lumen_tui.tui.patches.frame_buffer import FrameBuffer, TerminalSkills
from lumen_tui.tui.patches.pen import pen_of

WIDTH, HEIGHT = 24, 3
CONSOLE = Console(color_system="truecolor", force_terminal=True)
COLOURS = [None, "default", "red", "bright_blue", "color(200)", Color.from_triplet(ColorTriplet(1, 2, 3))]
STYLES = st.builds(
    Style, color=st.sampled_from(COLOURS), bgcolor=st.sampled_from(COLOURS), bold=st.booleans(), dim=st.booleans(),
    reverse=st.booleans(), underline=st.booleans(), italic=st.booleans(),
)  # fmt: skip
TEXTS = st.one_of(
    st.text(alphabet="ab •─[0m38;2漢字é⌚⭐e\u0301✓", max_size=6), st.sampled_from([" ", " " * 9, " " * 20, "─" * 12])
)
LINES = st.lists(st.tuples(TEXTS, STYLES), max_size=5)


def strip(line: list[tuple[str, Style]], width: int = WIDTH) -> Strip:
    return Strip([Segment(text, style) for text, style in line]).adjust_cell_length(width)


def whole(lines: list[Strip], width: int = WIDTH) -> LayoutUpdate:
    return LayoutUpdate([[line] for line in lines], Region(0, 0, width, len(lines)))


def partial(lines: list[Strip], changed: set[int]) -> ChopsUpdate:
    spans = [(y, 3, 5) for y in sorted(changed)]
    return ChopsUpdate([{0: line} if y in changed else {} for y, line in enumerate(lines)], spans, [])


def painted(lines: list[Strip]) -> Any:
    """What a terminal shows that was empty before."""
    emulator = Emulator(WIDTH, HEIGHT)
    for y, line in enumerate(lines):
        emulator.feed(f"\x1b[{y + 1}H" + line.render(CONSOLE))
    return emulator.picture


FRAMES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, HEIGHT - 1), LINES, min_size=1),
        st.sampled_from([math.inf, 30]),
        st.sampled_from(["whole", "partial", "partial", "forgotten"]),
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(FRAMES, st.builds(TerminalSkills, st.booleans(), st.booleans()))
def test_the_changes_show_what_the_whole_frame_would_show(frames, skills) -> None:
    emulator, frame = Emulator(WIDTH, HEIGHT), FrameBuffer(WIDTH, HEIGHT)
    frame.skills = skills
    lines = [strip([]) for _ in range(HEIGHT)]
    frame.take(whole(lines), CONSOLE)
    for changed, most, kind in frames:
        for y, line in changed.items():
            lines[y] = strip(line)
        if kind == "forgotten":
            emulator.feed("\x1b[2;2H\x1b[1;41mfrom elsewhere")
            frame.forget()
        frame.take(whole(lines) if kind == "whole" else partial(lines, set(changed)), CONSOLE)
        emulator.feed(frame.changes(most, (1, 1)))
    while not frame.is_shown:
        emulator.feed(frame.changes(30, (1, 1)))
    assert emulator.picture == painted(lines)
    assert frame.changes(math.inf, (1, 1)) == ""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_shows_what_the_whole_frame_would_show(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    chance, frame, file = random.Random(16), FrameBuffer(WIDTH, HEIGHT), tmp_path / "sent"  # noqa: S311
    frame.skills = TerminalSkills(straight=True)
    inks = [Style(color=Color.from_rgb(n, 90, 90)) for n in (10, 20, 30)]
    data = ""
    for _ in range(200):
        drawn = [("".join(chance.choices(" ab─│·", k=7)), chance.choice(inks)) for _ in range(9)]
        lines = [strip(chance.sample(drawn, 3)) for _ in range(HEIGHT)]
        frame.take(whole(lines), CONSOLE)
        data += frame.changes(math.inf, (1, 1))
    file.write_text(data)
    tmux = ["tmux", "-u", "-f", "/dev/null", "-L", f"lumen-{os.getpid()}"]
    request.addfinalizer(lambda: subprocess.run([*tmux, "kill-server"], check=False))
    show = f"stty -onlcr; cat {shlex.quote(str(file))}; cat"
    subprocess.run([*tmux, "new", "-d", "-x", f"{WIDTH}", "-y", f"{HEIGHT + 1}", show], check=True)

    def shown() -> Any:
        captured = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True)
        emulator = Emulator(WIDTH, HEIGHT)
        emulator.feed("\r\n".join(captured.stdout.splitlines()[:HEIGHT]))
        return emulator.picture

    until(lambda: shown() == painted(lines), shown)


def sent(before: str, after: str, style: Style | None = None) -> str:
    """Return what is sent where one line of 24 cells becomes another."""
    frame = FrameBuffer(WIDTH, 1)
    frame.take(whole([strip([(before, style)])]), CONSOLE)
    frame.changes(math.inf, (0, 0))
    frame.take(whole([strip([(after, style)])]), CONSOLE)
    return frame.changes(math.inf, (0, 0))


def test_of_a_line_only_what_differs_is_sent() -> None:
    assert sent("one two three", "one six three") == "\x1b[1;5Hsix\r"
    assert sent("one two three", "one two three") == ""
    assert sent("a clock 12:00:09", "a clock 12:00:10") == "\x1b[1;15H10\r"


def test_a_wide_character_is_sent_whole_and_the_cursor_is_not_trusted_behind_it() -> None:
    assert sent("ab漢字cd", "ab漢語xd") == "\x1b[1;3H漢語\x1b[1;7Hx\r"
    assert "\x1b[1;3Hafter" in sent("", "🇩🇪after")  # a flag has two cells, or each of its letters has them


def test_blanks_on_the_terminals_own_ground_are_erased() -> None:
    assert sent("all of this goes away", "all") == "\x1b[1;5H\x1b[17X\r"
    assert sent("gone, all of twenty-four", "") == "\x1b[H\x1b[K"
    assert "  " in sent("all of this goes away", f"all{' ' * 18}", Style(bgcolor="red"))


def test_where_many_colours_alternate_each_is_set_once() -> None:
    inks = [Style(color=Color.from_triplet(ColorTriplet(100, 100, n))) for n in (1, 2)]
    words = [("word ", inks[n % 2]) for n in range(4)]
    frame = FrameBuffer(WIDTH, 3)
    frame.take(whole([strip(words)] * 3), CONSOLE)
    data = frame.changes(math.inf, (0, 0))
    assert [data.count(f"38;2;100;100;{n}m") for n in (1, 2)] == [1, 1]


def lines_below_each_other(straight: bool) -> str:
    """Return what is sent where three words below each other come into the middle of an empty screen."""
    frame = FrameBuffer(WIDTH, 3)
    frame.skills = TerminalSkills(straight=straight)
    frame.take(whole([strip([])] * 3), CONSOLE)
    frame.changes(math.inf, (0, 0))
    frame.take(whole([strip([(f"{' ' * 12}{word}", None)]) for word in ("one", "two", "six")]), CONSOLE)
    return frame.changes(math.inf, (0, 0))


def test_a_line_feed_goes_straight_down_where_the_terminal_has_shown_that_it_does() -> None:
    assert lines_below_each_other(straight=True) == "\x1b[1;13Hone\n\b\b\btwo\n\b\b\bsix\x1b[H"
    assert "\n" not in lines_below_each_other(straight=False).replace("\r\n", "")


def test_a_line_of_a_size_that_is_over_is_not_sent() -> None:
    frame = FrameBuffer(WIDTH, 1)
    frame.take(whole([strip([("first", None)]), strip([("second", None)])]), CONSOLE)
    assert "second" not in frame.changes(math.inf, (0, 0))


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


def test_the_terminals_own_colour_named_or_not_is_one_pen() -> None:
    own = Style(italic=True, reverse=True)
    assert pen_of(own, ColorSystem.TRUECOLOR) == pen_of(own + Style(bgcolor="default"), ColorSystem.TRUECOLOR)
    lines = [strip([("0", own), ("0", own + Style(bgcolor="default"))])]
    emulator, frame = Emulator(WIDTH, HEIGHT), FrameBuffer(WIDTH, HEIGHT)
    frame.take(whole(lines), CONSOLE)
    emulator.feed(frame.changes(math.inf, (0, 0)))
    assert emulator.picture == painted(lines)
