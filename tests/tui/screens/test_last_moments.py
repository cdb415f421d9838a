"""A screen that is left, or whose room ends: nobody asks it for widgets that are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lumen_gallery import Gallery, gallery
from lumen_robot import Robot
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.screens.attention import AttentionScreen

# The keys to screens that show more as snapshots come, or as time goes.
_SCREENS = {
    "evolution": "E", "blocks": "quotation_mark", "needs": "exclamation_mark", "roles": "h", "help": "question_mark",
    "similar": "5 s", "search": "S", "units": "W", "filter": "E slash", "task": "3 j j j enter", "line": "colon",
    "form": "t", "loops": "H", "facts": "F", "journal": "J",
}  # fmt: skip


class LastWords(Static):
    """Asks its screen, as it goes, what a reader would ask that comes back now."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[bool] = []

    def on_unmount(self) -> None:
        self.said.append(self.screen.there)


async def test_a_screen_of_a_room_that_ends_is_not_there_any_more(room) -> None:
    sheet, words = AttentionScreen(Snapshot(root="/state", taken=1.0), lambda need: ""), LastWords()
    async with room(sheet) as (_, _pilot):
        await sheet.mount(words)
        assert sheet.there
        assert words.said == []
    assert words.said == [False]


@pytest.fixture(scope="module")
def recorded() -> Iterator[Gallery]:
    with gallery() as opened:
        yield opened


@pytest.mark.parametrize("name", _SCREENS)
async def test_a_snapshot_that_comes_while_a_screen_is_taken_apart_does_no_harm(
    recorded: Gallery, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    app, shown = recorded.room(), []

    def show_late(widget: Widget) -> None:
        """When the widgets of the screen are gone, and it is still there itself."""
        if app.screen_stack and widget is app.screen_stack[-1]:
            shown.append(widget)
            app.show(app.room.snapshot)
            app.tick_screens(app.clock())

    async with app.run_test(size=(120, 40)) as pilot:
        robot = Robot(app, pilot)
        await robot.until(lambda: app.room.snapshot.root and app.room.snapshot.loading == 1)
        for key in _SCREENS[name].split():
            await robot.press(key)
        assert app.screen is not app.room
        monkeypatch.setattr(type(app.screen), "on_unmount", show_late, raising=False)
    assert shown and app._exception is None
