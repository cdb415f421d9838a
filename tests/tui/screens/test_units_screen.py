"""Work units in the room: listed by what is under way, opened with their trail, claimed, blocked and done by keys."""

from __future__ import annotations

from typing import Any

import pytest
from lumen_robot import until
from textual.widgets import Input

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.acceptance import Acceptance, CheckResult, Finding, Verdict
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.sessions import SaveCheckpoint, StartSession
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.requests.work import AddRelation, BlockWorkUnit, ClaimWorkUnit, NewWorkUnit
from lumen_tui.storage.layout import Layout
from lumen_tui.store.work import unit_checks, work_units
from lumen_tui.store.work.unit_checks import UnitChecked
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.signals import SignalForm
from lumen_tui.tui.screens.task_form import TaskForm
from lumen_tui.tui.screens.unit_page import UnitScreen
from lumen_tui.tui.screens.units import UnitsScreen


def _units(port: RemotePort) -> None:
    new = NewWorkUnit(title="Session manager", lane="Core", priority="P1", acceptance=["two agents start at once"])
    port.submit(new)
    port.submit(NewWorkUnit(title="Settings page", lane="UI", body="The page names what is in force."))
    port.submit(NewWorkUnit(title="Rebase on the port", lane="Core"))
    port.submit(NewWorkUnit(title="Old dates", lane="Data"))
    port.submit(ClaimWorkUnit(wu_id="WU-002"))
    port.submit(BlockWorkUnit(wu_id="WU-004", reason="no key for the archive"))
    port.submit(AddRelation(from_id="WU-001", type="blocks", to_id="WU-003"))


def _trail(port: RemotePort) -> None:
    port.submit(StartSession(wu_id="WU-002"))
    port.submit(SaveCheckpoint(note="Form drawn", progress="half of it", next_steps="the writer", wu_id="WU-002"))
    port.submit(SendSignal(message="80 % done, tests left", wu_id="WU-002"))
    port.submit(CreateNode(content="Theme names differ", type="bug", priority="P1", wu_id="WU-002"))
    port.submit(NewTask(objective="Draw the form", wu_id="WU-002"))


def _screen(port: RemotePort, refusal: str = "", at: str = "") -> UnitsScreen:
    return UnitsScreen(port, port.snapshot(), refusal, at)


def _status(port: RemotePort, wu_id: str) -> str:
    unit = work_units.read_tracked(Layout(port.root), wu_id)
    assert unit is not None
    return unit.status


def _line(app: Any, *words: str) -> str:
    return next((line for line in app.shown.splitlines() if all(word in line for word in words)), "")


async def test_an_empty_list_names_the_next_step(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "No open work units. Promote a discovery" in app.shown)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_under_way_stands_first_with_how_far_it_is(
    room: Any, port: RemotePort, size: tuple[int, int]
) -> None:
    _units(port)
    _trail(port)
    async with room(_screen(port), size) as (app, pilot):
        await until(pilot, lambda: "Settings page" in app.shown)
        ids = [line.split("WU-")[1][:3] for line in app.shown.splitlines() if "WU-" in line and " P" in line]
        assert ids == ["002", "004", "001", "003"]
        assert "80 %" in _line(app, "WU-002") and "in progress" in _line(app, "WU-002")
        assert "waiting" in _line(app, "WU-003")
        assert "checkpoint" in app.shown and "Form drawn" in app.shown, "below the selected one"
        assert "1 in progress · 1 blocked · 1 ready · 1 waiting" in app.shown
        app.harmless()


async def test_it_is_claimed_blocked_done_and_undone_by_keys(room: Any, port: RemotePort) -> None:
    port.submit(NewWorkUnit(title="Session manager", lane="Core"))
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "Session manager" in app.shown)
        await pilot.press("ampersand")
        await until(pilot, lambda: _status(port, "WU-001") == "in_progress")
        await until(pilot, lambda: "in progress" in _line(app, "WU-001 "))
        await pilot.press("ampersand")
        await until(pilot, lambda: _status(port, "WU-001") == "ready")
        await until(pilot, lambda: "ready" in _line(app, "WU-001", "P2"))
        await pilot.press("P")
        await until(pilot, lambda: "Block WU-001 Session manager" in app.shown)
        await pilot.press(*"nokey", "enter")
        await until(pilot, lambda: _status(port, "WU-001") == "blocked")
        await until(pilot, lambda: "blocked: nokey" in app.shown)
        await pilot.press("P")
        await until(pilot, lambda: _status(port, "WU-001") == "ready")
        await until(pilot, lambda: "ready" in _line(app, "WU-001", "P2"))
        await pilot.press("a")
        await until(pilot, lambda: _status(port, "WU-001") == "done")
        await until(pilot, lambda: "No open work units" in app.shown)
        await pilot.press("x")
        await until(pilot, lambda: "done" in _line(app, "WU-001"))
        await pilot.press("u")
        await until(pilot, lambda: _status(port, "WU-001") == "ready")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_headings_stand_above_their_columns(room: Any, port: RemotePort, size: tuple[int, int]) -> None:
    _units(port)
    async with room(_screen(port), size=size) as (app, pilot):
        await until(pilot, lambda: "Session manager" in app.shown)
        heads, row = _line(app, "unit", "state", "title", "who"), _line(app, "Session manager")
        assert heads.index("unit") == row.index("WU-001")
        assert heads.index("state") == row.index("ready")
        assert heads.index("title") == row.index("Session manager")


async def test_a_unit_whose_acceptance_is_disproved_is_not_done_from_the_list(room: Any, port: RemotePort) -> None:
    port.submit(NewWorkUnit(title="Ship it", acceptance=["file: shipped"]))
    results = (CheckResult("file: shipped", Finding.FAILS, "there is none"),)
    found = UnitChecked("WU-001", "tsk-one", Acceptance(Verdict.DISPROVED, results=results))
    unit_checks.write(Layout(port.root), found)
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "Ship it" in app.shown)
        assert "a done" not in app.shown
        await pilot.press("a")
        await until(pilot, lambda: "not accepted after tsk-one" in app.shown and "has a worker mend it" in app.shown)
        assert _status(port, "WU-001") == "ready"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, UnitScreen) and "a done" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "Finish WU-001 Ship it" in app.shown)  # on its page, with a reason


async def test_a_task_and_a_signal_are_made_for_it(room: Any, port: RemotePort) -> None:
    _units(port)
    async with room(_screen(port, at="WU-001")) as (app, pilot):
        await until(pilot, lambda: "Session manager" in app.shown)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, TaskForm))
        assert app.screen.query_one("#objective", Prose).typed == "Session manager"
        assert app.screen.query_one("#wu_id", Input).value == "WU-001"
        await pilot.press("f2")
        await until(pilot, lambda: [view.spec.wu_id for view in port.snapshot().tasks] == ["WU-001"])
        await until(pilot, lambda: not isinstance(app.screen, TaskForm))
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, SignalForm))
        await pilot.press(*"rebase", "f2")
        await until(pilot, lambda: [row.signal.wu_id for row in port.snapshot().signals][:1] == ["WU-001"])


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_its_page_has_the_whole_trail_and_opens_each_part(
    room: Any, port: RemotePort, size: tuple[int, int]
) -> None:
    _units(port)
    _trail(port)
    async with room(_screen(port), size) as (app, pilot):
        await until(pilot, lambda: "Settings page" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, UnitScreen) and "Draw the form" in app.shown)
        for group, text in (
            ("spec", "The page names"), ("tasks", "queued, researcher"), ("checkpoints", "Form drawn · progress: half"),
            ("signals", "80 % done"), ("discoveries", "P1 Theme names differ"), ("accepted when", "none written"),
        ):  # fmt: skip
            assert text in _line(app, group), group
        app.harmless()
        await pilot.press("slash", *"group:checkpoints", "enter")
        await until(pilot, lambda: "next: the w" in app.shown)
        await pilot.press("escape", "slash", *"group:spec", "enter", "enter")
        await until(pilot, lambda: "WU-002 spec" in app.shown and "The page names what is in force." in app.shown)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, UnitScreen) and "Draw the form" in app.shown)


async def test_what_blocks_it_is_opened_from_its_page(room: Any, port: RemotePort) -> None:
    _units(port)
    async with room(_screen(port, at="WU-003")) as (app, pilot):
        await until(pilot, lambda: "Rebase" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "WU-001 (ready) Session manager" in _line(app, "waits for"))
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "two agents start at once" in app.shown)


async def test_in_a_room_that_only_looks_nothing_is_changed(room: Any, port: RemotePort) -> None:
    _units(port)
    async with room(_screen(port, "this room was opened with --read-only")) as (app, pilot):
        await until(pilot, lambda: "Settings page" in app.shown)
        for key in ("a", "ampersand", "P", "t", "i", "u"):
            await pilot.press(key)
            await until(pilot, lambda: "opened with --read-only" in app.shown)
        assert _status(port, "WU-002") == "in_progress"


async def test_hostile_words_do_nothing(room: Any, port: RemotePort, hostile: str) -> None:
    port.submit(NewWorkUnit(title=hostile, lane="Core", body=hostile, acceptance=[hostile]))
    port.submit(SendSignal(message=hostile, wu_id="WU-001"))
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "WU-001" in app.shown)
        app.harmless()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, UnitScreen) and "signals" in app.shown)
        app.harmless()
        await pilot.press("j", "enter")
        await pilot.pause()
        app.harmless()


async def test_a_file_that_cannot_be_read_hides_only_itself(room: Any, port: RemotePort) -> None:
    _units(port)
    Layout(port.root).work_unit("WU-001").write_bytes(b"+++\ntitle = \xff\n+++\n")
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "Settings page" in app.shown)
        assert "WU-001" not in "".join(line for line in app.shown.splitlines() if " P" in line)
