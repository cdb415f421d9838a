"""Help and palette: what is found, what is run, what cannot be run and why."""

from __future__ import annotations

import pytest

from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screens.command_line import CommandPalette
from lumen_tui.tui.screens.help import HelpScreen, ranked


def refuse_tasks(command: RoomCommand) -> str:
    return "no task is selected" if command.scope == "workers" else ""


def _free(command: RoomCommand) -> str:
    return ""


def test_the_key_comes_first_then_the_name_then_the_help_then_the_spelling():
    assert ranked("R", COMMANDS)[0].action == "retry_task"
    assert ranked("prom", COMMANDS)[0].action == "promote"
    assert "archive" in [command.action for command in ranked("reason", COMMANDS)]
    assert ranked("promtoe", COMMANDS)[0].action == "promote"
    assert ranked("", COMMANDS) == list(COMMANDS)
    assert ranked("zzzz", COMMANDS) == []


async def test_the_palette_runs_what_was_found(room):
    async with room(CommandPalette(COMMANDS, refuse_tasks)) as (app, pilot):
        await pilot.press("p", "i", "n", "enter")
        assert app.answers == ["pin"]


async def test_a_disabled_command_says_why_and_is_not_run(room):
    async with room(CommandPalette(COMMANDS, refuse_tasks), size=(80, 24)) as (app, pilot):
        await pilot.press("c", "a", "n", "enter")
        assert app.shown.count("no task is selected") == 2
        assert not app.answers
        await pilot.press("z", "z", "enter")
        assert "No command matches" in app.shown
        await pilot.press("escape")
        assert app.answers == [None]


async def test_help_is_grouped_and_shows_the_keys_that_work_now(room):
    async with room(HelpScreen(COMMANDS, {"retry_task": "x"})) as (app, pilot):
        lines = app.shown.splitlines()
        assert any("workers" in line and "cancel" in line for line in lines)
        retry = next(line for line in lines if "Run the task again" in line)
        assert " x " in retry
        assert "workers" not in retry
        await pilot.press("down", "down", "enter")
        assert app.answers == ["retry_task"]


@pytest.mark.parametrize("kind", ["palette", "help"])
async def test_nothing_is_carried_out_before_something_was_chosen(room, kind):
    screen = CommandPalette(COMMANDS, _free) if kind == "palette" else HelpScreen(COMMANDS, {}, _free)
    async with room(screen) as (app, pilot):
        await pilot.press("enter")
        assert not app.answers
        assert "choose with" in app.shown
        await pilot.press("x", "backspace", "enter")
        assert not app.answers
        await pilot.press("down", "enter")
        assert app.answers == [COMMANDS[0].action]


@pytest.mark.parametrize("kind", ["palette", "help"])
async def test_the_commands_of_the_place_in_front_stand_first(room, kind):
    front = "decay"
    screen = CommandPalette(COMMANDS, _free, {}, front) if kind == "palette" else HelpScreen(COMMANDS, {}, _free, front)
    async with room(screen) as (app, pilot):
        await pilot.press("down", "enter")
        assert app.answers == [next(command.action for command in COMMANDS if command.scope == front)]


async def test_typing_in_help_narrows_it(room):
    async with room(HelpScreen(COMMANDS, {})) as (app, pilot):
        await pilot.press("m", "e", "r", "g")
        assert "Merge the marked ones" in app.shown
        assert "Cancel the task" not in app.shown
        await pilot.press("enter")
        assert app.answers == ["merge"]


@pytest.mark.threat("S2", "clicks on markup, widgets and words that look like it")
async def test_hostile_words_in_commands_and_reasons_stay_text(room, hostile):
    commands = [RoomCommand("a", ("a",), hostile, hostile, hostile), RoomCommand("b", ("b",), "b", hostile)]
    for screen in (
        CommandPalette(commands, lambda command: hostile),
        HelpScreen(commands, {}, lambda command: hostile),
    ):
        async with room(screen) as (app, pilot):
            await pilot.press("enter")
            assert "[@click=app.quit]" in app.shown
            app.harmless()
            assert not app.answers
