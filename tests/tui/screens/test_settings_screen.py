"""The settings in the room: what is in force and which file says so; changed in place, taken back, or in the editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lumen_robot import screen_text, until

from lumen_tui.engine.port import RemotePort
from lumen_tui.queries.settings_view import read_settings, seed_comments
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.app import LumenApp
from lumen_tui.tui.kit.fields import Choice
from lumen_tui.tui.screens.settings import SettingForm, SettingsScreen

LUMEN = """[budget]
day_usd = 3
day_tokens = "many"

[room]
theme = "nord"
# on_quit = "ask"
[lanes.limits]
Core = 2
"""


@pytest.fixture
def written(port: RemotePort) -> RemotePort:
    layout = Layout(port.root)
    layout.config.write_text(LUMEN)
    layout.operator.write_text('[memory]\ntriage_days = 2.0\n[room]\ntheme = "lumen"\n')
    return port


def _screen(port: RemotePort, refusal: str = "") -> SettingsScreen:
    return SettingsScreen(port, port.snapshot(), refusal)


def _line(app: Any, *words: str) -> str:
    return next((line for line in app.shown.splitlines() if all(word in line for word in words)), "")


def _operator(port: RemotePort) -> str:
    path = Layout(port.root).operator
    return path.read_text() if path.exists() else ""


async def _go_to(app: Any, pilot: Any, key: str) -> None:
    await until(pilot, lambda: app.screen.rows.select_key(key))
    await pilot.pause()


def test_each_setting_says_where_it_comes_from(written: RemotePort) -> None:
    by_key = {setting.key: setting for setting in read_settings(Layout(written.root))}
    usd, theme = by_key["budget.day_usd"], by_key["room.theme"]
    assert (usd.value, usd.source, usd.line, usd.default) == ("3", "lumen.toml", 2, "5")
    assert (theme.value, theme.source, theme.below) == ("lumen", "operator.toml", "nord")
    assert by_key["lanes.limits"].value == '{"Core": 2}'
    assert "whole number" in by_key["budget.day_tokens"].problem
    quit_how = by_key["room.on_quit"]
    assert (quit_how.source, quit_how.line, set(quit_how.choices)) == ("default", 7, {"ask", "keep", "stop"})
    assert by_key["memory.triage_days"].comment == seed_comments()["memory.triage_days"] != ""


def test_a_file_that_cannot_be_read_is_said_beside_what_it_holds_back(port: RemotePort) -> None:
    Layout(port.root).config.write_text("[budget\n")
    settings = read_settings(Layout(port.root))
    assert any("lumen.toml cannot be read" in setting.problem for setting in settings)
    assert len(settings) > 100


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_in_force_stands_in_a_list(room: Any, written: RemotePort, size: tuple[int, int]) -> None:
    async with room(_screen(written), size) as (app, pilot):
        await until(pilot, lambda: "heartbeat.every_minutes" in app.shown)
        await pilot.press("slash", *"state:changed", "enter")
        await until(pilot, lambda: "heartbeat.every_minutes" not in app.shown)
        assert "lumen.toml:2" in _line(app, "budget.day_usd")
        assert "operator.toml" in _line(app, "room.theme", "lumen")
        await _go_to(app, pilot, "room.theme")
        await until(pilot, lambda: "lumen.toml says nord" in app.shown)
        app.harmless()


async def test_a_switch_turns_with_enter_and_undo_turns_it_back(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "heartbeat" in app.shown)
        await _go_to(app, pilot, "memory.progress_signals.enabled")
        await pilot.press("enter")
        await until(pilot, lambda: "enabled = true" in _operator(port))
        await until(pilot, lambda: "operator.toml" in _line(app, "memory.progress_signals.enabled"))
        await pilot.press("u")
        await until(pilot, lambda: _operator(port) == "")


async def test_a_number_is_typed_and_a_wrong_one_is_refused_with_the_reason(room: Any, port: RemotePort) -> None:
    async with room(_screen(port), (80, 24)) as (app, pilot):
        await until(pilot, lambda: "heartbeat" in app.shown)
        await _go_to(app, pilot, "memory.triage_days")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingForm))
        await pilot.press("ctrl+a", "ctrl+k", *"soon", "enter")
        await until(pilot, lambda: "A number is needed." in app.shown)
        await pilot.press("ctrl+a", "ctrl+k", "minus", "4", "enter")
        await until(pilot, lambda: "memory.triage_days: " in app.shown and isinstance(app.screen, SettingForm))
        assert _operator(port) == ""
        await pilot.press("ctrl+a", "ctrl+k", *"3.5", "enter")
        await until(pilot, lambda: "triage_days = 3.5" in _operator(port))
        await until(pilot, lambda: "3.5" in _line(app, "memory.triage_days"))
        await pilot.press("b")
        await until(pilot, lambda: _operator(port) == "")


async def test_a_choice_offers_what_there_is(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "heartbeat" in app.shown)
        await _go_to(app, pilot, "room.on_quit")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingForm))
        app.screen.query_one("#value", Choice).choose("keep")
        await pilot.press("f2")
        await until(pilot, lambda: 'on_quit = "keep"' in _operator(port))


async def test_a_theme_is_seen_while_it_is_chosen(port: RemotePort) -> None:
    app = LumenApp(port, operator="me")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("comma")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and len(app.screen.rows.model) > 50)
        await _go_to(app, pilot, "room.theme")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingForm))
        await pilot.press("right")
        await until(pilot, lambda: app.theme == "lumen-light")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "lumen")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SettingForm))
        await pilot.press("right", "f2")
        await until(pilot, lambda: 'theme = "lumen-light"' in _operator(port) and app.theme == "lumen-light")
        await pilot.press("slash", *"this", "room", "enter")
        await until(
            pilot,
            lambda: "this room.operator" in "".join(strip.text for strip in app.screen._compositor.render_strips()),
        )


async def test_the_editor_opens_the_file_at_its_line(
    room: Any, written: RemotePort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "vi"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with room(_screen(written)) as (app, pilot):
        await until(pilot, lambda: "heartbeat" in app.shown)
        await _go_to(app, pilot, "budget.day_usd")
        await pilot.press("e")
        await until(pilot, lambda: (tmp_path / "asked").exists())
    assert (tmp_path / "asked").read_text().split() == ["+2", str(Layout(written.root).config)]


async def test_in_a_room_that_only_looks_nothing_is_changed(room: Any, written: RemotePort) -> None:
    before = _operator(written)
    async with room(_screen(written, "the disk is full")) as (app, pilot):
        await until(pilot, lambda: "heartbeat" in app.shown)
        await _go_to(app, pilot, "memory.triage_days")
        for key in ("enter", "b", "e", "u"):
            await pilot.press(key)
            await until(pilot, lambda: "the disk is full" in app.shown)
        assert _operator(written) == before


async def test_hostile_values_do_nothing(room: Any, port: RemotePort, hostile: str) -> None:

    Layout(port.root).operator.write_text(
        tomli_w.dumps({"agent": {"name": hostile}, "lanes": {"limits": {hostile: 3}}})
    )
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "agent.name" in app.shown)
        app.harmless()
        await _go_to(app, pilot, "lanes.limits")
        await pilot.press("enter")
        await pilot.pause()
        app.harmless()


async def test_a_theme_and_a_key_that_there_are_not_are_named_and_the_rest_holds(port: RemotePort) -> None:
    Layout(port.root).config.write_text('[room]\ntheme = "lumin"\n[keys]\nnew_taks = "f7"\nundo = "f9"\n')
    app = LumenApp(port, operator="me")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "f9 undo" in screen_text(app) or "new_taks" in screen_text(app))
        assert app.theme == "lumen"
        await pilot.press("comma")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and "2 wrong" in screen_text(app))
        await pilot.press("slash", *"state:wrong", "enter")
        await until(pilot, lambda: "did you mean lumen?" in screen_text(app))
        await pilot.press("j")
        await until(pilot, lambda: "new_taks" in screen_text(app))
