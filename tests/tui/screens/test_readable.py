"""What a person reads on a screen names things by title or short id and times in plain words, on every screen."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import lumen_lived
import lumen_sweeps
import pytest
from lumen_tour import Tour, each_once
from rich.cells import cell_len

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import ids, times
from lumen_tui.model.text import humanize, is_safe
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp

UNREADABLE = re.compile(
    rf"\b(?:{'|'.join(ids.KINDS)})-[{ids.ALPHABET}]{{6,}}|\d{{4}}-\d\d-\d\dT\d\d|[0-9a-f]{{8}}-[0-9a-f]{{4}}-"
)
# Rows of detail sheets in which a whole id stands, so that it can be copied: name, then nothing but the value.
COPIED = re.compile(r"│\s(?:.*\s)?(?:id|task|packet|about|session)\s{2,}\S+(?: · [^│]*)?\s*│")
RUBBISH = (
    "\x1b]52;c;aGk=\x07 \x1b[2J \x9b31m \u202egnp.exe\u200b [/] [@click=app.exit]x[/] ", "宽字符" * 30,
    "👩‍👩‍👧‍👦🇩🇪é́ \u200d", "שלום עולם مرحبا " * 5, "x" * 4000 + " ", "two\nlines\ttab\r\n", "\x00nul ",
)  # fmt: skip
OF_A_TOOL = re.compile(r"app\.log:\d+")  # a worker's result quotes the log that it read, as it is


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("session ses-4vcwzekfs48t9 on WU-042", "session 4vcw on WU-042"),
        ("made: tasks/archive/2026/11/tsk-f4asxxw7t1qkw/result.md", "made: …/f4as/result.md"),
        ("general/rly-px6cefz8s9bdn", "general/px6c"),
        ("`undo act-f4asxxw7t1qkw`, (mem-ktnqg17y8qfy7)", "`undo f4as`, (ktnq)"),
        ("dropped at 2026-11-22T18:41:33.536Z: late", "dropped at 2026-11-22 18:41 UTC: late"),
        ("task-001, tsk-mine, WU-042, 2026-11-22", "task-001, tsk-mine, WU-042, 2026-11-22"),
        ("2026-99-99T99:99", "2026-99-99T99:99"),
    ],
)  # fmt: skip
def test_ids_are_short_and_dates_plain_and_all_else_stays(text: str, read: str) -> None:
    assert humanize(text) == read


def test_every_kind_of_id_and_every_date_of_a_record_is_known() -> None:
    for kind in ids.KINDS:
        made = ids.new_id(kind)
        assert humanize(f"({made})") == f"({ids.short(made)})"
    for seconds in (0.25, 1_800_000_000.0, 1_800_000_000.999):
        assert humanize(times.iso(seconds)) == times.stamp(seconds)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a state folder and its project may be made."""
    root = tmp_path / "lived" / "state"
    root.parent.mkdir()
    return root


@pytest.fixture
def lived(folder: Path) -> Path:
    """A state folder in which everything was done once."""
    lumen_lived.live(folder, time.time())
    return folder


@pytest.fixture
def hostile(folder: Path) -> Path:
    """The same, with words that nobody should be able to do harm with; some of its files hold more rubbish."""
    rubbish = itertools.cycle(RUBBISH)
    lumen_lived.live(folder, time.time(), lambda text: f"{next(rubbish)}{text}{next(rubbish)}")
    layout = Layout(folder)
    layout.wake_state.write_bytes("\n".join(RUBBISH).encode() + b"\x00\xff\xfe")
    for journal in (layout.memory, layout.signals, layout.actions, layout.events, layout.spend, layout.packets):
        journal.write_bytes(journal.read_bytes() + b"\x00" * 5000 + b'\n{"id": \xff}\n[]\nnull\n')
    return folder


@asynccontextmanager
async def opened(root: Path, size: tuple[int, int]) -> AsyncIterator[LumenApp]:
    app = LumenApp(RemotePort(root, "operator"), operator="operator")
    async with app.run_test(size=size) as pilot:
        while app.room.snapshot.loading < 1 or not app.room.snapshot.root:
            await pilot.pause(0.01)
        yield app


@pytest.mark.sweep(most=1)
@pytest.mark.parametrize(("size", "opens"), [((120, 40), 1), ((80, 24), 0)])
async def test_no_screen_shows_a_whole_id_or_a_date_of_a_file(lived: Path, size: tuple[int, int], opens: int) -> None:
    before: set[str] = set()
    wrong: list[tuple[str, str]] = []
    places: set[str] = set()
    async with opened(lived, size) as app:
        async for seen in Tour(app, opens).everything():
            places.add(seen[0])
            wrong += [
                (where, line.strip()) for where, line in each_once(seen, before)
                if UNREADABLE.search(line) and not COPIED.search(line) and not OF_A_TOOL.search(line)
            ]  # fmt: skip
        assert app.return_value is None
    assert wrong == []
    assert len(places) > 30  # the walk went everywhere


@pytest.mark.threat("S1", "hostile words in every record, on every pane, dialog and screen")
@pytest.mark.sweep
async def test_whatever_words_a_screen_shows_every_line_keeps_its_place(hostile: Path) -> None:
    wrong: list[tuple[str, str]] = []
    async with opened(hostile, (80, 24)) as app:
        async for where, lines in Tour(app, int(lumen_sweeps.FULL)).everything():
            wrong += [
                (where, line) for line in lines
                if cell_len(line) != 80 or not is_safe(line) or "\n" in line or "\t" in line
            ]  # fmt: skip
        assert app.return_value is None
    assert wrong == []
