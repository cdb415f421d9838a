"""What a sheet says is so: before anything was read, as time goes by, and under the operator's own keys."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path
from typing import Any

import pytest
from lumen_robot import until

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.relay import Box
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.times import HOUR
from lumen_tui.queries.queue_conditions import spend_report
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.kit import editor
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screens.budget import BudgetScreen
from lumen_tui.tui.screens.help import HelpScreen, ranked
from lumen_tui.tui.screens.memory import ArchivedScreen
from lumen_tui.tui.screens.relays import RelayScreen
from lumen_tui.tui.screens.search import SearchScreen

_NOW = 1_790_000_000.0


async def test_a_list_does_not_say_that_it_is_empty_before_it_was_read(room: Any, port: RemotePort) -> None:
    go_on = threading.Event()

    def read() -> list[Box]:
        go_on.wait(10)
        return []

    screen = RelayScreen(port, _NOW, read)
    async with room(RelayScreen(port, _NOW, list[Box])) as (app, pilot):
        await app.push_screen(screen)
        assert screen.rows.empty == "Reading …"
        go_on.set()
        await until(pilot, lambda: "No relays yet" in app.shown)
        assert "Reading" not in app.shown


async def test_a_list_that_cannot_be_read_is_not_called_empty(room: Any, port: RemotePort) -> None:
    def read() -> list[Box]:
        raise StoreError("relays/x.json is damaged")

    async with room(RelayScreen(port, _NOW, read)) as (app, pilot):
        await until(pilot, lambda: "relays/x.json is damaged" in app.shown)
        assert "This cannot be read." in app.shown
        assert "No relays yet" not in app.shown


async def test_ages_of_hits_and_of_the_budget_go_on_while_nothing_happens(room: Any, port: RemotePort) -> None:
    port.submit(CreateNode(content="Race in the session manager"))
    layout, snapshot = Layout(port.root), port.snapshot()
    search = SearchScreen(port, Searcher(layout), snapshot, query="race")
    async with room(search) as (app, pilot):
        await until(pilot, lambda: "Race in the session" in app.shown)
        assert " 3 h " not in app.shown
        search.tick(snapshot.taken + 3 * HOUR)
        await until(pilot, lambda: " 3 h " in app.shown)
        budget = BudgetScreen(port, snapshot, lambda: spend_report(layout, snapshot.taken))
        await app.push_screen(budget)
        await until(pilot, lambda: "next day" in app.shown)
        before = next(line for line in app.shown.splitlines() if "next day" in line)
        budget.tick(snapshot.taken + 3 * HOUR)
        await until(pilot, lambda: before not in app.shown)


@pytest.mark.parametrize("key", ["y", "d", "u"])
async def test_a_key_that_may_not_write_says_so(room: Any, port: RemotePort, key: str) -> None:
    async with room(RelayScreen(port, _NOW, list[Box], "this room was opened with --read-only")) as (app, pilot):
        await pilot.press(key)
        assert "--read-only" in app.shown


async def test_a_key_without_a_row_says_so(room: Any, port: RemotePort) -> None:
    async with room(ArchivedScreen(port, _NOW)) as (app, pilot):
        await until(pilot, lambda: "Nothing is archived" in app.shown)
        await pilot.press("b")
        await until(pilot, lambda: "Nothing is selected." in app.shown)


async def test_a_command_is_found_by_the_key_that_works_now(room: Any) -> None:
    keys = {"pin": "R", "retry_task": "f9"}
    assert ranked("R", COMMANDS, keys)[0].action == "pin"
    async with room(HelpScreen(COMMANDS, keys)) as (app, pilot):
        await pilot.press("f", "9", "enter")
        assert app.answers == ["retry_task"]


def test_a_text_comes_back_from_the_editor_as_it_went_where_the_locale_is_not_utf_8() -> None:
    program = (
        "import contextlib, types\n"
        "from lumen_tui.tui.kit import editor\n"
        "app = types.SimpleNamespace(suspend=contextlib.nullcontext)\n"
        "assert editor.edit(app, 'Za\\u017c\\u00f3\\u0142\\u0107') is None\n"
    )
    environ = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "EDITOR": "true"}
    environ.pop("VISUAL", None)
    command = [sys.executable, "-X", "utf8=0", "-c", program]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_editor_that_can_be_given_no_file_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = types.SimpleNamespace(suspend=contextlib.nullcontext)
    monkeypatch.setenv("VISUAL", "rm")
    with pytest.raises(editor.NoEditor, match=r"The text stays as it is .*TMPDIR"):
        editor.edit(app, "text")  # type: ignore[arg-type]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(editor.NoEditor, match=r"The text stays as it is .*TMPDIR"):
        editor.edit(app, "text")  # type: ignore[arg-type]
