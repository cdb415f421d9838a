"""A dialog's keys in a narrow window."""

from __future__ import annotations

from textual.app import App, ComposeResult

from lumen_tui.tui.kit.keys import KeysLine

KEYS = (("enter", "open"), ("y", "allow"), ("z", "snooze 1 h"), ("/", "filter"), ("esc", "back"))


class Narrow(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"room-accent": "yellow", "room-muted": "grey"}

    def compose(self) -> ComposeResult:
        yield KeysLine(KEYS)


async def test_it_breaks_between_keys_and_never_inside_one():
    app = Narrow()
    async with app.run_test(size=(38, 5)) as pilot:
        line = app.query_one(KeysLine)
        assert line.render().plain.split("\n") == ["enter open   y allow   z snooze 1 h", "/ filter   esc back"]
        assert line.size.height == 2
        await pilot.resize_terminal(80, 5)
        assert line.render().plain == "enter open   y allow   z snooze 1 h   / filter   esc back"
        assert line.size.height == 1
        line.show(KEYS[:1])
        await pilot.pause()
        assert line.render().plain == "enter open"
