"""The black box in the room: asked for, stepped through, compared with now, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lumen_clock import HandClock
from lumen_robot import until
from textual.pilot import Pilot

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.times import HOUR
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp

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


def text(pilot: Pilot[Any]) -> str:
    return str(getattr(pilot.app.screen, "shown", ""))


async def opened(pilot: Pilot[Any], moment: str) -> None:
    await pilot.press("tilde", *["space" if char == " " else char for char in moment], "enter")
    await until(pilot, lambda: "AS OF" in text(pilot))


async def test_a_moment_is_shown_compared_and_stepped_through(root: Path) -> None:
    app = LumenApp(RemotePort(root, "ana", clock=HandClock(NOW)), operator="ana", clock=lambda: NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.room.snapshot.loading >= 1)
        await opened(pilot, "2h ago")
        assert "the tests pass" in text(pilot)
        assert "a leak" not in text(pilot)
        assert "not recorded:" in text(pilot)
        assert "read only" in app.screen.heading
        await pilot.press("tab")
        await until(pilot, lambda: "+" in text(pilot) and "a leak in the fetcher" in text(pilot))
        assert "the tests pass" not in text(pilot)
        await pilot.press("tab", "right")
        await until(pilot, lambda: app.screen.moment == NOW - HOUR and "a leak" in text(pilot))
        await pilot.press("left")
        await until(pilot, lambda: app.screen.moment == NOW - 3 * HOUR and "a leak" not in text(pilot))
        await pilot.press("left")
        await until(
            pilot, lambda: "Nothing is recorded before this." in str(app.screen.query_one("StatusLine").render())
        )
        await pilot.press("shift+left")
        await until(pilot, lambda: "0 unread of 0 signals" in text(pilot))
        await pilot.press("shift+right", "shift+right", "shift+right", "shift+right", "shift+right")
        await until(pilot, lambda: app.screen.moment == NOW)


async def test_it_is_saved_as_a_new_file_and_copied(root: Path, tmp_path: Path) -> None:
    app = LumenApp(RemotePort(root, "ana", clock=HandClock(NOW)), operator="ana", clock=lambda: NOW)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.room.snapshot.loading >= 1)
        await opened(pilot, "30m")
        saved = tmp_path / "room.txt"
        await pilot.press("f2")
        app.screen.query_one("#file").value = str(saved)
        await pilot.press("enter")
        await until(pilot, saved.exists)
        assert saved.read_text() == text(pilot) + "\n"
        await pilot.press("f2")
        app.screen.query_one("#file").value = str(saved)
        await pilot.press("enter")
        assert "There is a file of that name already." in str(app.screen.query_one(".complaint").render())
        await pilot.press("escape")
        copied: list[str] = []
        app.copy_to_clipboard = copied.append
        await pilot.press("Y")
        assert copied == [text(pilot)]


@pytest.mark.parametrize("moment", ["25:99", "tomorrow", "in 2h", "2999-01-01", "", "\u202e12:00"])
async def test_what_is_no_moment_is_told_so(root: Path, moment: str) -> None:
    app = LumenApp(RemotePort(root, "ana", clock=HandClock(NOW)), operator="ana", clock=lambda: NOW)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.room.snapshot.loading >= 1)
        await pilot.press("tilde")
        app.screen.query_one("#moment").value = moment
        await pilot.press("enter")
        complaint = str(app.screen.query_one(".complaint").render())
        assert "is no moment" in complaint or "is ahead" in complaint
