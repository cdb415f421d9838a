"""Markdown as lines: what is shown, that nothing is hidden, and that no text takes long."""

from __future__ import annotations

import time

import pytest
from lumen_rows import each_row
from rich.cells import cell_len

from lumen_tui.model.text import is_safe
from lumen_tui.tui.kit.parts import markdown_lines
from lumen_tui.tui.theme import NO_APPEARANCE

INK = NO_APPEARANCE.ink
SOURCE = """# Largest files

Found with `find` in **0.4 s**.

| size | file |
|---|---|
| 110 MB | /usr/lib/a |
| 6 MB | /b |

- one that is long enough to go on in the next line
1. first
> quoted
```sh
# not a heading
```
<!-- not hidden --> [x](https://example.org)
"""


def shown(text: str, width: int = 40) -> list[str]:
    return ["".join(part.text for part in line).rstrip() for line in markdown_lines(text, width, INK)]


def test_what_markdown_means_is_shown():
    assert shown(SOURCE) == [
        "Largest files", "", "Found with find in 0.4 s.", "",
        "size    file", "110 MB  /usr/lib/a", "6 MB    /b", "",
        "• one that is long enough to go on in", "  the next line", "1. first", "> quoted",
        "```sh", "  # not a heading",
        "<!-- not hidden -->", "[x](https://example.org)",
    ]  # fmt: skip


def test_emphasis_is_strong_and_a_heading_bold():
    lines = markdown_lines(SOURCE, 40, INK)
    assert any(part.text == "0.4 s" and part.style and part.style.bold for part in lines[2])
    assert any(part.text == "Largest files" and part.style and part.style.bold for part in lines[0])


def test_a_table_that_is_too_wide_stays_as_it_is_written():
    assert shown("| a long first cell | and a second |\n|---|---|\n| x | y |", 20)[0] == "| a long first cell"


@pytest.mark.parametrize("width", [1, 2, 7, 80])
def test_every_line_has_the_width_and_nothing_that_acts(width, hostile):
    text = f"# {hostile}\n- {hostile}\n| {hostile} | 中文 |\n```{hostile}\n{hostile}\n```\n> {hostile}\n中文中文"
    for line in markdown_lines(text, width, INK):
        assert sum(cell_len(part.text) for part in line) == width
        assert all(is_safe(part.text) for part in line)
        assert not any(part.style and (part.style.link or part.style.meta) for part in line)


@each_row(
    "piece", ["- item\n", "> " * 50 + "\n", "[" * 100, "**a", "`a", "| a " * 20 + "\n", "#" * 80 + "\n", "* " * 40]
)
def test_no_text_takes_long(piece):
    started = time.process_time()
    markdown_lines(piece * (100_000 // len(piece)), 60, INK)
    assert time.process_time() - started < 3


def test_a_wide_table_keeps_its_columns_and_wraps_the_last_one():
    table = "| # | size | path |\n|---|---|---|\n| 1 | 139 MB | `/usr/lib/jvm/temurin/modules` |\n| 2 | 6 MB | `/b` |"
    assert shown(table, 32) == [
        "#  size    path",
        "1  139 MB  /usr/lib/jvm/temurin/",
        "           modules",
        "2  6 MB    /b",
    ]
