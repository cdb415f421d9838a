"""Themes of an operator's own in a room that is open: listed, seen, taken anew, and refused without harm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lumen_robot import Robot
from rich.color import Color

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.themes import DARK
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.kit.fields import Choice

_DUSK = 'accent = "#7fd4c1"\n'


def write(port: RemotePort, text: str, name: str = "dusk") -> None:
    themes = Layout(port.root).themes
    themes.mkdir(exist_ok=True)
    (themes / f"{name}.toml").write_text(text)


def use(port: RemotePort, name: str) -> None:
    Layout(port.root).config.write_text(f'[room]\ntheme = "{name}"\n')


@asynccontextmanager
async def opened(port: RemotePort, **options: Any) -> AsyncIterator[Robot]:
    app = LumenApp(port, operator="me", **options)
    async with app.run_test(size=(120, 40)) as pilot:
        robot = Robot(app, pilot)
        await robot.until(lambda: app.room.snapshot.root and app.room.snapshot.loading == 1)
        yield robot


def colours(robot: Robot) -> set[str]:
    """The colours of letters that are on the screen now."""
    strips = robot.app.screen._compositor.render_strips(robot.app.screen.size)
    styles = [segment.style for strip in strips for segment in strip if segment.style and segment.text.strip()]
    return {style.color.get_truecolor().hex for style in styles if isinstance(style.color, Color)}


async def test_a_theme_is_listed_first_and_seen_while_it_is_chosen(port: RemotePort) -> None:
    write(port, _DUSK)
    async with opened(port) as robot:
        assert DARK.accent in colours(robot)
        await robot.press("comma")
        await robot.until(lambda: len(robot.app.screen.rows.model) > 50)
        robot.app.screen.rows.select_key("room.theme")
        await robot.press("enter")
        await robot.sees("room.theme")
        choice = robot.app.screen.query_one("#value", Choice)
        assert [value for value, _ in choice.options][:3] == ["dusk", "lumen", "lumen-light"]
        choice.choose("dusk")
        await robot.until(lambda: robot.app.theme == "dusk" and "#7fd4c1" in colours(robot))
        await robot.press("f2")
        await robot.until(lambda: 'theme = "dusk"' in Layout(port.root).operator.read_text())
        assert "#7fd4c1" in colours(robot) and DARK.accent not in colours(robot)


async def test_a_change_of_the_file_is_seen_at_once_and_a_wrong_one_leaves_the_colours(port: RemotePort) -> None:
    write(port, _DUSK)
    use(port, "dusk")
    async with opened(port) as robot:
        await robot.until(lambda: "#7fd4c1" in colours(robot))
        write(port, 'accent = "#f0a0f0"\n')
        await robot.until(lambda: "#f0a0f0" in colours(robot))
        assert "#7fd4c1" not in colours(robot)
        write(port, 'accent = "#101010"\n')
        await robot.sees("themes/dusk.toml:1")
        assert "#f0a0f0" in colours(robot) and robot.app.theme == "dusk"
        await robot.press("X")
        await robot.sees("accent: too little contrast with ground (1.0 of 3.0): make it lighter", "fix the file")
        write(port, 'accent = "#f0f0a0"\n')
        await robot.until(lambda: "#f0f0a0" in colours(robot))


async def test_a_room_opens_in_its_own_colours_where_the_file_is_wrong(port: RemotePort) -> None:
    write(port, "accent = \n")
    use(port, "dusk")
    async with opened(port) as robot:
        await robot.sees("themes/dusk.toml:1")
        assert robot.app.theme == "lumen" and DARK.accent in colours(robot)


async def test_a_theme_over_one_of_textuals_goes_with_its_file(port: RemotePort) -> None:
    write(port, _DUSK, "nord")
    use(port, "nord")
    async with opened(port) as robot:
        await robot.until(lambda: "#7fd4c1" in colours(robot))
        (Layout(port.root).themes / "nord.toml").unlink()
        await robot.until(lambda: "#7fd4c1" not in colours(robot))
        assert robot.app.theme == "nord"


async def test_a_room_without_colours_stays_without(port: RemotePort) -> None:
    write(port, _DUSK)
    use(port, "dusk")
    async with opened(port, accessible=True) as robot:
        assert "#7fd4c1" not in colours(robot)
