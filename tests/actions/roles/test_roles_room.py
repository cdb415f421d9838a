"""The roles screen with figures: who does worse, what a firing means, a hire for a time, a diff before saving."""

from __future__ import annotations

import stat
from typing import Any

import pytest
from lumen_clock import HandClock
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.storage import files
from lumen_tui.store.settings.roles import load_role
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.hire import RoleForm, difference
from lumen_tui.tui.screens.roles import RolesScreen


def stage(house: Any, at: str = "") -> Stage:
    port = RemotePort(house.root, clock=HandClock(house.now))
    return Stage(RolesScreen(port, port.snapshot(), at=at))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_who_does_worse_is_marked_and_fired_with_the_evidence(house, size):
    house.bad_builder()
    app = stage(house, at="builder")
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "17 %" in app.shown and "100 %" in app.shown)
        assert "does worse than" in app.shown
        await pilot.press("d")
        await until(pilot, lambda: "Fire builder" in app.shown)
        assert "5 of 30" in app.shown and "can be rehired" in app.shown
        app.screen.query_one("#reason", TextField).value = "too often wrong"
        await pilot.press("enter")
        await until(pilot, lambda: "builder fired" in app.shown)
    assert house.layout.retired_role("builder").exists()


async def test_a_copy_of_a_shipped_role_is_hired_for_a_week_after_a_look_at_what_it_means(house):
    house.ended("one", role="analyst")
    app = stage(house)
    async with app.run_test(size=(120, 50)) as pilot:
        await until(pilot, lambda: "1: 1 done" in app.shown)
        await pilot.press("h", "2", "1")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        app.screen.query_one("#name", TextField).value = "aide"
        app.screen.query_one("#stays", TextField).value = "7d"
        await until(pilot, lambda: "until 2027-01-22" in app.shown)
        assert "asks for" in app.shown and "median $0.01" in app.shown
        assert "You are an analyst" in app.screen.query_one("#prompt", Prose).text
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "asks for" in app.shown and "enter or F2" in app.shown)
        await pilot.press("f2")
        await until(pilot, lambda: "aide hired" in app.shown)
    assert times.epoch(load_role(house.layout, "aide").until) == house.now + 7 * times.DAY


async def test_an_edited_role_is_seen_as_a_diff_before_it_is_saved(house, tmp_path, monkeypatch):
    editor = tmp_path / "editor"
    files.replace(
        editor,
        b"#!/bin/sh\nsed -i -e 's/write = true/write = false/' -e 's/\"write_file\", .*_patch\", //' "
        b'-e \'s/"shell_start", .*_stop",//\' "$1"\n',
    )
    editor.chmod(stat.S_IRWXU)
    monkeypatch.setenv("VISUAL", str(editor))
    app = stage(house, at="builder")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: "Save builder?" in app.shown)
        assert "-write = true" in app.shown and "+write = false" in app.shown
        assert "may change: nothing" in app.shown
        await pilot.press("escape")
        await until(pilot, lambda: "Nothing was saved" in app.shown)
        assert load_role(house.layout, "builder").write
        await pilot.press("e")
        await until(pilot, lambda: "Save builder?" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "builder adjusted" in app.shown)
    assert not load_role(house.layout, "builder").write


def test_a_diff_has_what_changed_and_two_lines_around_it():
    before = "\n".join("abcdefgh")
    assert difference(before, before.replace("e", "E")) == ["@@ -3,5 +3,5 @@", " c", " d", "-e", "+E", " f", " g"]
