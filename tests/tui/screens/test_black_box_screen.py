"""The black box: the room as it was, stepped through, compared with now, saved; and nothing acts in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from lumen_clock import HandClock
from lumen_robot import Robot

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.times import HOUR
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.room_commands import COMMANDS

NOW = 1_800_000_000.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A signal three hours ago, a discovery an hour ago, both still there."""
    made = tmp_path / "state"
    Layout(made).create()
    clock = HandClock(NOW - 3 * HOUR)
    port = RemotePort(made, "ana", clock=clock)
    port.submit(SendSignal(message="the tests pass"))
    clock.wall = NOW - HOUR
    port.submit(CreateNode(content="a leak in the fetcher", priority="P1"))
    return made


@asynccontextmanager
async def room_of(root: Path, size: tuple[int, int] = (120, 40), **options: bool) -> AsyncIterator[Robot]:
    app = LumenApp(RemotePort(root, "ana", clock=HandClock(NOW)), operator="ana", clock=lambda: NOW, **options)
    async with app.run_test(size=size) as pilot:
        robot = Robot(app, pilot)
        await robot.until(lambda: app.room.snapshot.loading >= 1)
        yield robot


@asynccontextmanager
async def past_of_room(root: Path, size: tuple[int, int] = (120, 40), **options: bool) -> AsyncIterator[Robot]:
    """A room with the black box open, as it was after what happened last."""
    async with room_of(root, size, **options) as robot:
        await robot.press("tilde")
        await robot.until(lambda: at(robot) == NOW - HOUR)
        yield robot


def at(robot: Robot) -> float:
    """The moment that is shown; 0 while it is not the past."""
    return float(getattr(robot.app.screen, "snapshot", None).taken) if robot.app.screen is not robot.app.room else 0.0


async def test_it_opens_as_the_room_after_what_happened_last_and_steps_from_event_to_event(root: Path) -> None:
    async with past_of_room(root) as robot:
        assert "PAST" in robot.text
        assert "1 h ago" in robot.text
        assert "a leak in the fetcher" in robot.text
        assert all(
            name in robot.text for name in ("1 Loop", "2 Wake-state", "3 Workers", "4 Signals", "5 Disc", "6 Decay")
        )
        await robot.press("left")
        await robot.until(lambda: at(robot) == NOW - 3 * HOUR)
        assert "a leak" not in robot.text
        assert "signal: ana: the tests pass" in robot.text
        await robot.press("left")
        await robot.until(lambda: "Nothing is recorded on that side." in robot.text)
        assert at(robot) == NOW - 3 * HOUR
        await robot.press("right")
        await robot.until(lambda: at(robot) == NOW - HOUR)


async def test_it_moves_by_minutes_hours_and_days_and_never_ahead_of_now(root: Path) -> None:
    async with past_of_room(root) as robot:
        for key, moment in (
            ("shift+left", NOW - 2 * HOUR),
            ("ctrl+left", NOW - 2 * HOUR - 60),
            ("ctrl+right", NOW - 2 * HOUR),
            ("shift+up", NOW - 26 * HOUR),
            ("shift+down", NOW - 2 * HOUR),
            ("shift+right", NOW - HOUR),
        ):
            await robot.press(key)
            await robot.until(lambda moment=moment: at(robot) == moment)
        await robot.press("shift+right", "shift+right", "shift+down")
        await robot.until(lambda: at(robot) == NOW)


async def test_one_sort_of_event_is_stepped_through_alone(root: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("T")
        assert "signal only" in robot.text
        await robot.press("left")
        await robot.until(lambda: at(robot) == NOW - 3 * HOUR)
        await robot.press("right")
        await robot.until(lambda: "Nothing is recorded on that side." in robot.text)


async def test_a_moment_is_typed_and_a_filter_keeps_its_arrows(root: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("tilde", *"2h", "enter")
        await robot.until(lambda: at(robot) == NOW - 2 * HOUR)
        await robot.press("4", "slash", *"tests", "left", "left", "x")
        await robot.until(lambda: "tesxts" in robot.text)
        assert at(robot) == NOW - 2 * HOUR


async def test_escape_drops_the_filter_and_the_zoom_before_it_goes_back_to_now(root: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("5", "z")
        assert robot.app.screen.zoomed
        await robot.press("escape")
        assert not robot.app.screen.zoomed
        await robot.press("escape")
        await robot.until(lambda: robot.app.screen is robot.app.room)
        assert "PAST" not in robot.text


def written(root: Path) -> dict[str, bytes]:
    """What is in the state folder, but for indexes and what a room notes of itself."""
    own = ("index", "rooms", "operators")
    files = (path for path in root.rglob("*") if path.is_file() and not any(name in path.parts for name in own))
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.parametrize("pane", ["3", "4", "5", "6"])
async def test_no_key_changes_anything_or_opens_what_is_of_now_and_each_says_why(root: Path, pane: str) -> None:
    async with past_of_room(root) as robot:
        before, past = written(root), robot.app.screen
        await robot.press(pane)
        scopes = ("everywhere", past.current.scope)
        keys = {command.keys[0]: command for command in COMMANDS if command.scope in scopes and command.keys}
        taken = {key for command in past.offered() for key in command.keys} | {"T", "f1", "at", "f2"}
        for key, command in keys.items():
            if key in taken or past.why_not(command) != past.refusal:
                continue
            await robot.press(key)
            assert robot.app.screen is past, key
            if "left" not in key and "right" not in key:
                assert "this is the past; esc goes back to now" in robot.text, key
        assert written(root) == before


async def test_a_row_is_opened_as_it_was_and_nothing_is_undone_from_there(root: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("4", "enter")
        await robot.until(lambda: "as it was" in robot.text)
        before = written(root)
        await robot.press("u")
        await robot.until(lambda: any("this is the past" in note.message for note in robot.app._notifications))
        assert written(root) == before


async def test_what_needed_a_person_is_not_answered(root: Path) -> None:
    RemotePort(root, "ana", clock=HandClock(NOW - HOUR)).submit(SendSignal(message="stop the deploy", priority="P0"))
    async with past_of_room(root) as robot:
        before = written(root)
        await robot.until(lambda: "Needs you" in robot.text)
        await robot.press("n")
        for key in ("d", "l", "y", "A", "r", "enter"):
            await robot.press(key)
            await robot.until(lambda: "goes back to now" in robot.text)
            await robot.press("ctrl+c")
            await robot.until(lambda: "goes back to now" not in robot.text)
        assert written(root) == before


async def test_what_differs_from_now_is_listed_pane_by_pane_and_saved(root: Path, tmp_path: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("left")
        await robot.until(lambda: at(robot) == NOW - 3 * HOUR)
        await robot.press("at")
        await robot.until(lambda: "a leak in the fetcher" in robot.text)
        assert "discoveries" in robot.text
        saved = tmp_path / "since.txt"
        await robot.press("f2")
        robot.app.screen.query_one("#file").value = str(saved)
        await robot.press("enter")
        await robot.until(saved.exists)
        assert "+ " in saved.read_text()


async def test_the_room_is_saved_as_a_new_file_and_a_row_is_copied(root: Path, tmp_path: Path) -> None:
    async with past_of_room(root, (80, 24)) as robot:
        saved = tmp_path / "room.txt"
        for _ in range(2):
            await robot.press("f2")
            await robot.until(lambda: robot.app.screen.query("#file"))
            robot.app.screen.query_one("#file").value = str(saved)
            await robot.press("enter")
        await robot.until(lambda: "There is a file of that name already." in robot.text)
        assert saved.read_text().startswith("AS OF ")
        assert "a leak in the fetcher" in saved.read_text()
        await robot.press("escape")
        copied: list[str] = []
        robot.app.copy_to_clipboard = copied.append
        await robot.press("5", "Y")
        assert "a leak in the fetcher" in copied[0]


@pytest.mark.parametrize("size", [(0, 0), (1, 1), (10, 3), (44, 8), (60, 20), (80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("lean", [False, True])
async def test_it_is_drawn_in_windows_of_any_size(root: Path, size: tuple[int, int], lean: bool) -> None:
    async with past_of_room(root, (120, 40), lean=lean) as robot:
        await robot.pilot.resize_terminal(*size)
        await robot.press("left")
        await robot.until(lambda: at(robot) == NOW - 3 * HOUR)
        if size >= (44, 8):
            assert "PAST" in robot.text


async def test_without_colours_it_is_still_told_from_now(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with past_of_room(root) as robot:
        assert "PAST" in robot.text
        assert "read-only: this is the past" in robot.text


async def test_an_empty_folder_has_a_past_without_anything(tmp_path: Path) -> None:
    Layout(tmp_path / "state").create()
    async with room_of(tmp_path / "state") as robot:
        await robot.press("tilde")
        await robot.until(lambda: "nothing recorded before" in robot.text)
        await robot.press("left", "right", "shift+left")
        await robot.until(lambda: at(robot) == NOW - HOUR)


@pytest.mark.parametrize("moment", ["25:99", "tomorrow", "in 2h", "2999-01-01", "", "\u202e12:00"])
async def test_what_is_no_moment_is_told_so(root: Path, moment: str) -> None:
    async with past_of_room(root, (80, 24)) as robot:
        await robot.press("tilde")
        await robot.until(lambda: robot.app.screen.query("#moment"))
        robot.app.screen.query_one("#moment").value = moment
        await robot.press("enter")
        complaint = str(robot.app.screen.query_one(".complaint").render())
        assert "is no moment" in complaint or "is ahead" in complaint


async def test_what_an_operator_did_last_is_told_in_words(root: Path) -> None:
    async with past_of_room(root, (160, 40)) as robot:
        await robot.sees("operator: ana: discovery noted: “a leak in the fetcher”")


async def test_an_empty_pane_of_the_past_says_what_no_journal_has_and_offers_nothing(root: Path) -> None:
    async with past_of_room(root) as robot:
        await robot.press("3", "z")
        await robot.sees("Nothing at this moment.", "tasks that an undo has removed")
        await robot.press("escape", "5", "z")
        await robot.until(lambda: "a leak in the fetcher" in robot.text)
        await robot.press("left")
        await robot.sees("Nothing at this moment.")
        assert "gives a worker" not in robot.text and "No open discoveries" not in robot.text
