"""Columns, and what of a line must be sent again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lumen_rows import each_row
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import Cell, changed_span, fit, line, spread, wrap

PLAIN, BOLD = Style(), Style(bold=True)
TEXT = st.text(alphabet="ab 漢é\n\x1b\u202e", max_size=30)


@given(TEXT, st.integers(0, 20), st.booleans())
def test_a_cell_is_as_wide_as_it_was_asked_to_be(text: str, width: int, right: bool) -> None:
    assert Segment(fit(text, width, right=right)).cell_length == width


@given(TEXT, TEXT, st.integers(0, 60))
def test_a_line_is_as_wide_as_it_was_asked_to_be(one: str, two: str, width: int) -> None:
    cells = [Cell(one, PLAIN, 5), Cell(two, BOLD), Cell("12 d", PLAIN, 6, right=True)]
    assert sum(segment.cell_length for segment in line(width, cells)) == width
    assert sum(segment.cell_length for segment in spread(width, [(one, PLAIN)], [(two, BOLD)])) == width


def test_numbers_stand_to_the_right() -> None:
    assert fit("9 d", 6, right=True) == "   9 d"
    assert fit("a long title", 6) == "a lon…"


@given(TEXT, st.integers(1, 12))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    assert all(Segment(part).cell_length <= max(width, 2) for part in wrap(text, width))


def strip(*parts: tuple[str, Style]) -> Strip:
    return Strip([Segment(text, style) for text, style in parts])


@each_row(
    ("old", "new", "span"),
    [
        (strip(("abc 1", PLAIN)), strip(("abc 1", PLAIN)), None),
        (strip(("abc 1", PLAIN)), strip(("abc 2", PLAIN)), (4, 1)),
        (strip(("a", BOLD), ("bcd", PLAIN), ("ef", BOLD)), strip(("a", BOLD), ("bxd", PLAIN), ("ef", BOLD)), (2, 2)),
        (strip((" ", BOLD), ("bcd", PLAIN)), strip((">", BOLD), ("bcd", PLAIN)), (0, 1)),
        (strip(("漢字", PLAIN)), strip(("漢子", PLAIN)), (0, 4)),
    ],
)
def test_only_what_changed_is_sent(old: Strip, new: Strip, span: tuple[int, int] | None) -> None:
    assert changed_span(old, new, new.cell_length) == span


@each_row(
    ("said", "shown"),
    [
        ("Find errors in /srv/agents/one/project/log", "Find errors in …/project/log"),
        ("compare /var/lib/agents/state/a.md (/home/ana/work/notes/b.md)", "compare …/state/a.md (…/notes/b.md)"),
        ("What fills /usr/share/doc?", "What fills /usr/share/doc?"),
        ("read https://example.org/a/long/path/of/names", "read https://example.org/a/long/path/of/names"),
        ("and/or/perhaps/somewhere/else", "and/or/perhaps/somewhere/else"),
    ],
)
def test_a_row_says_a_long_path_by_its_last_two_names(said, shown):
    assert words.short_paths(said) == shown
