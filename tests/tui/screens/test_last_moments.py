"""A room that ends while something is still read: nobody asks its screens for widgets that are gone."""

from __future__ import annotations

from textual.widgets import Static

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.screens.attention import AttentionScreen


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
