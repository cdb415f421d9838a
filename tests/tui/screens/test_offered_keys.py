"""The line of keys offers what works now."""

from __future__ import annotations

from typing import Any

import pytest
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.relay import Box
from lumen_tui.queries.queue_conditions import spend_report
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.layout import Layout
from lumen_tui.tui import theme
from lumen_tui.tui.kit.keys import KeysLine
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screen_commands import SCREENS
from lumen_tui.tui.screens.blocks import BlocksScreen
from lumen_tui.tui.screens.budget import BudgetScreen
from lumen_tui.tui.screens.command_line import CommandPalette
from lumen_tui.tui.screens.evolution import EvolutionScreen
from lumen_tui.tui.screens.facts import FreshnessScreen
from lumen_tui.tui.screens.help import CommandRows, HelpScreen
from lumen_tui.tui.screens.journal import JournalScreen
from lumen_tui.tui.screens.memory import ArchivedScreen, ProtectedScreen
from lumen_tui.tui.screens.relays import RelayScreen
from lumen_tui.tui.screens.search import SearchScreen

_NOW = 1_790_000_000.0
_LOOKS = {"j k", "H", "w", "x", "Z", "/", "esc", "enter", "↑↓", "F3"}


def sheets(port: RemotePort, why: str) -> list[DetailScreen[Any]]:
    layout, snapshot = Layout(port.root), port.snapshot()
    return [
        RelayScreen(port, _NOW, list[Box], why),
        FreshnessScreen(port, _NOW, list, why),
        JournalScreen(port, "ann", _NOW, why),
        ArchivedScreen(port, _NOW, why),
        ProtectedScreen(port, _NOW, why),
        BlocksScreen(port, snapshot, why),
        EvolutionScreen(port, snapshot, why),
        BudgetScreen(port, snapshot, lambda: spend_report(layout, _NOW), why),
        SearchScreen(port, Searcher(layout), snapshot, why),
    ]


def offered(sheet: DetailScreen[Any]) -> set[str]:
    line = sheet.keys()
    return {key for key, _ in line}


def test_a_room_that_only_looks_is_offered_no_key_that_writes(port: RemotePort) -> None:
    for sheet in sheets(port, "read-only"):
        assert offered(sheet) <= _LOOKS, sheet
    for sheet in sheets(port, ""):
        assert offered(sheet) - _LOOKS, sheet


async def test_an_empty_list_offers_no_key_that_needs_a_row(room: Any, port: RemotePort) -> None:
    for sheet, keys in (
        (RelayScreen(port, _NOW, list[Box], ""), {"u", "esc"}),
        (FreshnessScreen(port, _NOW, list, ""), {"u", "x", "esc"}),
        (ArchivedScreen(port, _NOW, ""), {"esc"}),
    ):
        async with room(sheet) as (_, pilot):
            await until(pilot, lambda sheet=sheet: sheet.filled)
            assert offered(sheet) - {"space"} == keys
            assert offered(sheet) == {key for key, _ in sheet.query_one(KeysLine)._keys}


@pytest.mark.parametrize("scope", sorted(SCREENS))
def test_the_help_has_room_for_the_name_of_each_command(scope: str) -> None:
    rows = CommandRows(theme.NO_APPEARANCE, {}, lambda command: "")
    for command in SCREENS[scope]:
        rows.heads = frozenset({rows.key(command)})
        drawn = "".join(segment.text for segment in rows.line(command, 78, False, False))
        assert command.label in drawn
        assert scope.replace("_", " ") in drawn


async def test_the_palette_begins_with_what_can_be_run(room: Any) -> None:
    async with room(CommandPalette(COMMANDS, lambda command: "read-only" if command.writes else "")) as (app, pilot):
        await pilot.press("down", "enter")
        assert app.answers == ["day_on"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_key_is_shown_whole_in_the_help(room: Any, size: tuple[int, int]) -> None:
    async with room(HelpScreen(COMMANDS, {}), size=size) as (app, pilot):
        await pilot.press(*"week")
        assert "shift+right" in app.shown
        assert "shift+left" in app.shown
