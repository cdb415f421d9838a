"""The schedules in the room: made, paused, run, removed and undone from the keyboard, and readable at any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lumen_robot import until
from textual.screen import Screen
from textual.widgets import Input

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.schedules import AddSchedule, PauseSchedule
from lumen_tui.queries.schedule_views import view_reader, views
from lumen_tui.storage.layout import Layout
from lumen_tui.store.schedules import schedules
from lumen_tui.tui.kit.fields import Choice
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.schedules import ScheduleForm, SchedulesScreen

_NOW = 1_790_000_000.0  # 2026-09-21 14:13 UTC


def _screen(port: RemotePort, why: str = "") -> SchedulesScreen:
    read = view_reader(Layout(port.root), lambda: _NOW)
    return SchedulesScreen(port, _NOW, read, ["researcher", "tester"], why)


def _nightly(name: str = "nightly", text: str = "Run the tests", **more: Any) -> AddSchedule:
    return AddSchedule(**{"name": name, "text": text, "when": "0 3 * * *", "zone": "UTC", **more})


def _put(screen: Screen[Any], field: str, text: str) -> None:
    widget = screen.query_one(f"#{field}")
    if isinstance(widget, Input):
        widget.value = text
    elif isinstance(widget, Prose):
        widget.text = text


def _states(port: RemotePort) -> Callable[[], list[str]]:
    return lambda: [f"{view.schedule.name} {view.state}" for view in views(Layout(port.root), _NOW)]


async def test_an_empty_list_names_the_next_step(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "No schedules yet: t makes one" in app.shown)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_next_to_run_is_first_with_its_time_and_rule(
    room: Any, port: RemotePort, size: tuple[int, int]
) -> None:
    port.submit(_nightly())
    port.submit(_nightly("soon", "Look at the queue", when="in 2h", makes="wake"))
    port.submit(_nightly("help", "Unblock it", when="", on_signal=["kind:blocked"]))
    port.submit(PauseSchedule(name="nightly", reason="a release"))
    async with room(_screen(port), size) as (app, pilot):
        await until(pilot, lambda: "soon" in app.shown)
        lines = [line for line in app.shown.splitlines() if "│" in line]
        first = next(line for line in lines if "soon" in line)
        assert "in 2 h" in first and "at 2026-09-21" in first
        assert "paused" in next(line for line in lines if "nightly" in line)
        assert "on signal" in next(line for line in lines if "help" in line)
        assert "it has not been due yet" in app.shown
        app.harmless()


async def test_it_is_paused_run_removed_and_brought_back_by_keys(room: Any, port: RemotePort) -> None:
    port.submit(_nightly())
    states = _states(port)
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "nightly" in app.shown)
        await pilot.press("P")
        await until(pilot, lambda: states() == ["nightly paused"])
        await until(pilot, lambda: "1 paused" in app.shown)
        await pilot.press("P")
        await until(pilot, lambda: states() == ["nightly active"])
        await pilot.press("B")
        await until(pilot, lambda: [str(run.state) for run in schedules.runs(Layout(port.root))] == ["asked"])
        await pilot.press("delete")
        await until(pilot, lambda: states() == [])
        await pilot.press("u")
        await until(pilot, lambda: states() == ["nightly active"])
        await until(pilot, lambda: "nightly" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "0 3 * * * (UTC)" in app.shown)


async def test_a_new_one_is_made_in_a_form_that_says_when_it_runs_first(room: Any, port: RemotePort) -> None:
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "No schedules yet" in app.shown)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ScheduleForm))
        _put(app.screen, "name", "standup")
        _put(app.screen, "zone", "Europe/Berln")
        _put(app.screen, "when", "0 9 * * 1-5")
        _put(app.screen, "text", "What is open?")
        await until(pilot, lambda: "no time zone 'Europe/Berln'" in app.shown)
        _put(app.screen, "zone", "Europe/Berlin")
        await until(pilot, lambda: "first 2026-09-22 07:00:00 UTC" in app.shown)
        await pilot.press("f2")
        await until(pilot, lambda: _states(port)() == ["standup active"])
        await until(pilot, lambda: "standup" in app.shown)


async def test_one_by_files_and_signals_is_made_in_the_form(room: Any, port: RemotePort) -> None:
    async with room(_screen(port), (80, 24)) as (app, pilot):
        await until(pilot, lambda: "No schedules yet" in app.shown)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ScheduleForm))
        _put(app.screen, "name", "lint")
        _put(app.screen, "text", "Lint what changed")
        await pilot.press("f2")
        await until(pilot, lambda: "Say when: a time, files or a signal." in app.shown)
        _put(app.screen, "on_signal", "colour:red")
        await until(pilot, lambda: "a signal has no field 'colour'" in app.shown)
        _put(app.screen, "on_signal", "kind:blocked from:agent-*")
        _put(app.screen, "folder", str(port.root / "nowhere"))
        _put(app.screen, "on_change", "../x")
        await until(pilot, lambda: "'../x' will not do" in app.shown)
        _put(app.screen, "on_change", "src/** *.md")
        await until(pilot, lambda: "there is no folder" in app.shown)
        _put(app.screen, "folder", str(port.root))
        await pilot.press("f2")
        await until(pilot, lambda: _states(port)() == ["lint active"])
    (made,) = [view.schedule for view in views(Layout(port.root), _NOW)]
    assert made.on_change == ("src/**", "*.md") and made.folder == str(port.root)
    assert made.on_signal == {"kind": "blocked", "from": "agent-*"} and not made.when


async def test_in_a_room_that_only_looks_nothing_is_changed(room: Any, port: RemotePort) -> None:
    port.submit(_nightly())
    async with room(_screen(port, "read-only")) as (app, pilot):
        await until(pilot, lambda: "nightly" in app.shown)
        await pilot.press("delete")
        await until(pilot, lambda: "read-only" in app.shown)
        assert _states(port)() == ["nightly active"]


@pytest.mark.threat("S2", "clicks on markup, widgets and words that look like it")
async def test_hostile_words_do_nothing(room: Any, port: RemotePort, hostile: str) -> None:
    port.submit(_nightly(text=hostile, to=""))
    async with room(_screen(port)) as (app, pilot):
        await until(pilot, lambda: "nightly" in app.shown)
        app.harmless()
        await pilot.press("enter")
        await pilot.pause()
        app.harmless()


async def test_a_schedule_has_its_tasks_work_apart_and_proved(room: Any, tmp_path: Any) -> None:
    async with room(ScheduleForm(_NOW, ["builder"]), (80, 24)) as (app, pilot):
        for field, text in (("name", "nightly"), ("when", "0 3 * * *"), ("text", "Run it"), ("folder", str(tmp_path))):
            _put(app.screen, field, text)
        _put(app.screen, "accept", "make test")
        app.screen.query_one("#isolate", Choice).focus()
        await pilot.press("right", "right", "f2")
        await until(pilot, lambda: "Accept: 'make test' is no check" in app.shown)
        assert app.screen.query_one("#accept", Prose).has_focus
        _put(app.screen, "accept", "command: make test\n\nfile: dist/*.whl")
        await pilot.press("f2")
        await until(pilot, lambda: app.answers)
    (asked,) = app.answers
    assert (asked.isolate, asked.folder) == ("copy", str(tmp_path))
    assert [line for line in asked.accept if line] == ["command: make test", "file: dist/*.whl"]


async def test_what_proves_its_tasks_is_among_its_facts(room: Any, port: RemotePort, tmp_path: Any) -> None:
    port.submit(_nightly(accept=["command: make test"], folder=str(tmp_path)))
    async with room(_screen(port), (120, 40)) as (app, pilot):
        await until(pilot, lambda: "nightly" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "command: make test" in app.shown)
        assert tmp_path.name in app.shown
