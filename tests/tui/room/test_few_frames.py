"""A screen that comes or goes is painted once; what changes behind it, line by line. No picture suffers from it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from lumen_emulator import Emulator
from lumen_until import until_async
from textual.events import Key
from textual.geometry import Offset, Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from lumen_tui.model.config import RoomConfig
from lumen_tui.model.records import SignalRow
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.themes import LIGHT, PLAIN
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Lines
from lumen_tui.tui.kit.screen import Dialog
from lumen_tui.tui.panes.signals import SignalRows
from lumen_tui.tui.patches import one_frame
from lumen_tui.tui.patches.changed_lines import bands
from lumen_tui.tui.patches.frame_buffer import FrameBuffer
from lumen_tui.tui.patches.painter import Painter
from lumen_tui.tui.room import Room


class Glass:
    """What a terminal would show, and the frames that it was sent: the screen's name and the lines of each."""

    def __init__(self, app: Any) -> None:
        self._emulator = Emulator(app.size.width, app.size.height)
        buffer = FrameBuffer(*app.size)
        self.frames: list[tuple[str, int]] = []
        display = app._display

        def watched(screen: Any, update: Any) -> None:
            if update is not None and not app._batch_count:
                spans = getattr(update, "spans", None)
                lines = app.size.height if spans is None else len({y for y, _, _ in spans})
                self.frames.append((type(screen).__name__, lines))
                buffer.take(update, app.console)
                self._emulator.feed(buffer.changes(math.inf, (0, 0)))
            display(screen, update)

        app._display = watched

    @property
    def lines(self) -> list[str]:
        return self._emulator.lines


class Pane:
    """A terminal that shows at once what a painter sends."""

    is_free = True

    def __init__(self, app: Any) -> None:
        self.emulator = Emulator(app.size.width, app.size.height)
        self.painter = Painter(app, bool)
        app._display = lambda _, update: update and self.painter.show(update, Offset())

    def write(self, data: str) -> None:
        self.emulator.feed(data)

    def call(self, act: Callable[[], object], after: float = 0.0) -> None:
        asyncio.get_running_loop().call_later(after, act)


async def test_a_size_that_goes_before_it_was_laid_out_leaves_the_picture_whole(open_room: Any) -> None:
    async with open_room() as room:
        pane, size = Pane(room.app), room.app.size
        pane.painter.begin(pane)
        for line in (1, 12):
            room.app._size = Size(60, 20)  # Textual lays out a little later, unless another size comes meanwhile
            room.app.room.refresh(Region(0, line, 10, 1))
            await room.settle()
            room.app._size = size
            pane.painter.redraw()
            await room.settle()
            assert pane.emulator.lines == room.lines


def noted_drawing(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Widget, int]]:
    """Note from now on each widget that is drawn, and how many lines of it."""
    drawn: list[tuple[Widget, int]] = []

    def note(kind: type[Widget]) -> None:
        render = kind.render_lines

        def noted(widget: Widget, crop: Region) -> list[Strip]:
            drawn.append((widget, crop.height))
            return render(widget, crop)

        monkeypatch.setattr(kind, "render_lines", noted)

    note(Widget)
    note(LineList)  # which draws its lines without Textual's own way
    return drawn


def test_lines_that_are_neighbours_are_one_band() -> None:
    assert bands([39, 2, 3, 4, 20]) == [range(2, 5), range(20, 21), range(39, 40)]
    assert bands([]) == []


@pytest.mark.parametrize(("key", "name"), [("?", "HelpScreen"), ("t", "TaskForm"), ("L", "LogScreen")])
async def test_a_screen_is_painted_once_as_it_comes_and_once_as_it_goes(
    open_room: Any, key: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_frame, "_AT_MOST", 60.0)  # a busy machine needs longer for the steps than an operator waits
    async with open_room() as room:
        glass = Glass(room.app)
        await room.press(key)
        assert [frame for frame in glass.frames if frame[1] > 20] == [(name, 40)]
        assert glass.lines == room.lines
        glass.frames.clear()
        await room.press("escape")
        assert [frame for frame in glass.frames if frame[1] > 20] == [("Room", 40)]
        assert glass.lines == room.lines


@pytest.mark.parametrize(("key", "name"), [("question_mark", "HelpScreen"), ("t", "TaskForm")])
async def test_a_screen_that_comes_or_goes_is_painted_without_its_timer(
    open_room: Any, key: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(timer: Timer, **_moment: float) -> None:
        """Let the moment pass."""

    async with open_room() as room:
        glass = Glass(room.app)
        monkeypatch.setattr(Timer, "_tick", never)
        for pressed, painted in ((key, name), ("escape", "Room")):
            await room.app.on_event(Key(pressed, "?" if pressed == "question_mark" else None))
            await until_async(lambda painted=painted: (painted, 40) in glass.frames)  # a pilot paints by itself
            assert glass.lines == room.lines


async def test_what_changes_behind_a_form_is_painted_and_nothing_else(open_room: Any, busy_snapshot: Snapshot) -> None:
    fewer = msgspec.structs.replace(busy_snapshot, signals=busy_snapshot.signals[1:])
    async with open_room(busy_snapshot) as room:
        glass = Glass(room.app)
        await room.press("t")
        for signals in (fewer.signals, busy_snapshot.signals, fewer.signals):
            glass.frames.clear()
            room.port.change(signals=signals)
            await room.until(lambda: glass.frames)
            await room.settle()
            assert all(0 < lines < 20 for _, lines in glass.frames)
            assert glass.lines == room.lines


async def test_behind_a_sheet_only_the_top_line_is_painted(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        glass = Glass(room.app)
        await room.press("?")
        glass.frames.clear()
        room.port.change(signals=busy_snapshot.signals[1:], attention=())
        await room.until(lambda: "nothing needs you" in room.header)
        assert [lines for _, lines in glass.frames] == [1]
        assert glass.lines == room.lines


@pytest.mark.parametrize("below", ["question_mark", "t"])
async def test_what_changes_in_the_room_is_seen_through_two_screens(
    open_room: Any, busy_snapshot: Snapshot, below: str
) -> None:
    async with open_room(busy_snapshot) as room:
        glass = Glass(room.app)
        await room.press(below)
        await room.app.push_screen(Dialog("above it"))
        await room.settle()
        assert "3 need you" in glass.lines[0]
        room.port.change(attention=())
        await room.settle()
        assert "nothing needs you" in glass.lines[0]


async def test_what_changes_in_the_room_while_a_screen_goes_is_seen_through_those_that_stay(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(busy_snapshot) as room:
        glass = Glass(room.app)
        await room.press("question_mark")
        for name in ("that stays", "that goes"):
            await room.app.push_screen(Dialog(name))
        await room.settle()
        room.app.screen.dismiss()
        await asyncio.sleep(0)
        assert room.app._batch_count, "no paint is let through yet"
        room.app.show(msgspec.structs.replace(busy_snapshot, attention=()))
        await room.settle()
        assert "nothing needs you" in glass.lines[0]


def drawn(room: Any) -> list[list[Strip]]:
    """Return the lines around the lists, with their colours."""
    return [line.strips() for line in room.app.room.query(Lines)]


async def test_the_colours_of_another_theme_are_seen_at_once(open_room: Any, busy_snapshot: Snapshot) -> None:
    config = msgspec.structs.replace(busy_snapshot.config, room=RoomConfig(theme=LIGHT))
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config)) as room:
        light = drawn(room)
    async with open_room(busy_snapshot) as room:
        room.app.choose_theme(LIGHT)
        await room.settle()
        assert drawn(room) == light


async def test_the_signs_for_a_slow_line_are_seen_at_once(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot, lean=True) as room:
        plain = room.lines
    async with open_room(busy_snapshot) as room:
        glass = Glass(room.app)
        room.app.choose_theme(PLAIN)  # the colours of a slow line, too: the style sheet stays as it is
        await room.settle()
        room.app._take_line(slow=True)
        room.app.room.say("")
        await room.settle()
        assert glass.lines == room.lines == plain


async def test_a_cursor_that_moves_has_its_own_lines_drawn_and_no_others(
    open_room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_room() as room:
        await room.press("4")
        glass = Glass(room.app)
        drawn = noted_drawing(monkeypatch)
        await room.press("j")
        assert 0 < max(lines for _, lines in drawn) <= 3
        monkeypatch.undo()
        await room.press("j", "j", "k", "5", "j", "space", "j")
        before = room.lines
        room.app.room.refresh()
        await room.settle()
        assert glass.lines == room.lines == before


async def test_what_others_cover_is_not_drawn(open_room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_room() as room:
        await room.press("4")
        drawn = noted_drawing(monkeypatch)
        await room.press("j")
        widgets = {widget for widget, _ in drawn}
        assert room.app.focused in widgets
        assert not {room.app.room, room.app.room.query_one("#columns")} & widgets


async def test_a_room_opens_with_its_content_in_one_frame(frozen_room: Any, busy_snapshot: Snapshot) -> None:
    app = frozen_room(busy_snapshot)
    display, frames = app._display, []

    def watched(screen: Any, update: Any) -> None:
        if update is not None and not app._batch_count:
            frames.append([strip.text for strip in screen._compositor.render_strips()])
        display(screen, update)

    app._display = watched
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.1)
        assert frames[0] == frames[-1]
        assert "New validation port" in "".join(frames[0])


async def test_rows_are_drawn_for_their_ages_twice_a_second_at_most(
    open_room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_room() as room:
        pane, drawn = room.app.room.pane("signals"), []
        now = pane.now + 60
        monkeypatch.setattr(pane.rows, "refresh_changed", lambda: drawn.append(pane.now - now))
        for later in (0.0, 0.1, 0.4, 1.0, -30.0):
            pane.tick(now + later)
        assert drawn == [0.0, 1.0, -30.0]


@pytest.fixture
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of rooms, which counts ages: on a slow machine it comes round between two lines of a test."""
    monkeypatch.setattr(Room, "_tick", lambda room: None)


@pytest.mark.usefixtures("no_clock")
async def test_a_page_key_that_is_held_down_finds_its_rows_made(
    open_room: Any, busy_snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals = [
        SignalRow(msgspec.structs.replace(busy_snapshot.signals[0].signal, id=f"sig-{number}"), False)
        for number in range(900)
    ]
    drawn: list[SignalRow] = []
    line = SignalRows.line

    def noted(rows: SignalRows, row: SignalRow, *how: Any) -> Any:
        drawn.append(row)
        return line(rows, row, *how)

    async with open_room(msgspec.structs.replace(busy_snapshot, signals=tuple(signals))) as room:
        await room.press("4")
        monkeypatch.setattr(SignalRows, "line", noted)
        rows, loop = room.app.focused, asyncio.get_running_loop()
        for key in ("pagedown", "pagedown", "pageup"):
            await room.press(key)
            await room.until(lambda: loop.time() > rows._ahead.when())
            await room.settle()
            drawn.clear()
            await room.press(key)
            assert drawn == []


@pytest.mark.usefixtures("no_clock")
async def test_a_key_that_moves_is_painted_at_once_and_what_it_sets_off_in_one_more_frame(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("4", "z")
        glass = Glass(room.app)
        before = room.lines
        await room.app.on_event(Key("j", "j"))
        assert len(glass.frames) == 1
        await room.settle()
        assert len(glass.frames) == 2
        room.app.room.refresh()
        await room.settle()
        assert glass.lines == room.lines != before


async def test_the_footer_offers_what_works_once_marks_are_dropped(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("3", "g")
        before = room.footer
        await room.press("asterisk")
        assert room.footer != before
        await room.press("escape")
        assert room.footer == before
