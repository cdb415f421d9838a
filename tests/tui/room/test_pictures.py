"""Every screen as a picture in text, at two sizes, with a clock that stands still. `make snap` accepts new ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lumen_docs
import msgspec
import pytest
from lumen_cells import picture
from lumen_gallery import FirstDay, Gallery, Trouble, gallery
from lumen_screens import FIRST_DAY, SCREENS, SIZES, TROUBLE, opened
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.problem import Problem
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui import chrome
from lumen_tui.tui.kit.keys import KeysLine
from lumen_tui.tui.panes.discoveries import LikenessFinder
from lumen_tui.tui.screens import triage

IN_ONE_COLOUR = ("room", "needs", "discovery", "task", "help", "past")


class Cells(SingleFileSnapshotExtension):
    """A picture in a text file of its own."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def expected(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Cells)


@pytest.fixture(scope="module")
def recorded() -> Iterator[Gallery]:
    with gallery() as opened:
        yield opened


async def looks(
    folder: Gallery, expected: SnapshotAssertion, size: tuple[int, int], name: str = "room", **options: Any
) -> None:
    """Assert that a screen on that folder looks as in its picture."""
    async with opened(folder.room(**options), size, SCREENS[name]) as robot:
        assert folder.named(picture(robot.app)) == expected


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that is on every machine, and look for no near doubles, which come when they are found."""
    monkeypatch.chdir("/")
    monkeypatch.setattr(LikenessFinder, "look", lambda self, pane: None)
    monkeypatch.setattr(triage, "_REST", 0.0)
    monkeypatch.setattr(chrome, "_SAID_FOR", 600.0)  # seconds: on a busy machine it would be gone


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen(recorded: Gallery, expected: SnapshotAssertion, name: str, size: tuple[int, int]) -> None:
    async with opened(recorded.room(), size, SCREENS[name]) as robot:
        offered = [key for line in robot.app.screen.query(KeysLine) if line.display for key, _ in line._keys]
        assert sorted(set(offered)) == sorted(offered), "each key stands in the line of keys once"
        assert recorded.named(picture(robot.app)) == expected


@pytest.fixture(scope="module")
def first_day() -> Iterator[Gallery]:
    with gallery(FirstDay) as opened:
        yield opened


@pytest.fixture(scope="module")
def spoilt() -> Iterator[Gallery]:
    with gallery(Trouble) as opened:
        yield opened


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", FIRST_DAY)
async def test_a_screen_on_the_first_day(
    first_day: Gallery, expected: SnapshotAssertion, name: str, size: tuple[int, int]
) -> None:
    await looks(first_day, expected, size, name)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", TROUBLE)
async def test_a_screen_in_trouble(
    spoilt: Gallery, expected: SnapshotAssertion, name: str, size: tuple[int, int]
) -> None:
    await looks(spoilt, expected, size, name)


@pytest.mark.parametrize("size", [(200, 50), (60, 20)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_room_in_a_wide_and_in_a_small_window(
    recorded: Gallery, expected: SnapshotAssertion, size: tuple[int, int]
) -> None:
    await looks(recorded, expected, size)


@pytest.mark.parametrize("name", IN_ONE_COLOUR)
async def test_a_screen_without_colour(
    recorded: Gallery, expected: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    await looks(recorded, expected, SIZES[0], name)


@pytest.mark.parametrize("name", IN_ONE_COLOUR)
async def test_a_lean_screen(recorded: Gallery, expected: SnapshotAssertion, name: str) -> None:
    await looks(recorded, expected, SIZES[1], name, lean=True)


@pytest.fixture
def trouble(busy_snapshot: Snapshot) -> Snapshot:
    """An engine that hangs, a broken file, a folder that cannot be written."""
    engine = EngineView(EngineLife.HUNG, busy_snapshot.engine.heartbeat, "in phase beating for 4 m 12 s")
    problems = (Problem("lumen.toml:7", "workers.limit: Expected `int`, got `str`", "the rest is in force"),)
    return msgspec.structs.replace(
        busy_snapshot, engine=engine, problems=problems, read_only="/home/someone/state is read-only"
    )


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", ["empty_snapshot", "trouble"])
async def test_a_room_on_its_first_day_and_in_trouble(
    frozen_room: Any, request: pytest.FixtureRequest, expected: SnapshotAssertion, state: str, size: tuple[int, int]
) -> None:
    async with opened(frozen_room(request.getfixturevalue(state)), size) as robot:
        assert picture(robot.app) == expected


@pytest.mark.parametrize("name", lumen_docs.TOUR)
def test_a_picture_of_the_tour_is_of_the_screen_as_it_is(name: str) -> None:
    """`make pictures` draws it again."""
    kept = lumen_docs.KEPT / f"test_a_screen[{lumen_docs.TOUR[name][1]}-120x40].txt"
    drawn = lumen_docs.letters_of_drawing(lumen_docs.path_of(name).read_text())
    assert drawn == lumen_docs.letters_of_text(kept.read_text())
