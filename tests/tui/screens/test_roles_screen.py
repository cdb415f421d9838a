"""Hire, fire, rehire, adjust and edit, from the keyboard, on a real state folder."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest
from lumen_robot import until

from lumen_tui.model.requests.roles import FireRole, HireRole
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.storage import files
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.hire import RoleForm
from lumen_tui.tui.screens.roles import RolesScreen

HIRED = '+++\npurpose = "Looks ahead."\n# a remark of the operator\ntier = "haiku"\n+++\n\nLook ahead.\n'


def newest(port) -> Snapshot:
    return port.snapshot()


def in_force(port) -> list[str]:
    return [role.name for role in newest(port).roles]


@pytest.fixture
def scouted(port):
    """A port with one hired role beside the shipped ones, and a queued task for it."""
    port.submit(HireRole(name="aide", text=HIRED))
    port.submit(NewTask(objective="look around the corner", role="aide"))
    return port


@pytest.fixture
def editor(tmp_path: Path, monkeypatch):
    """`editor(script)`: $VISUAL runs these shell lines; `$1` is the file."""

    def write(script: str) -> None:
        path = tmp_path / "editor"
        files.replace(path, f"#!/bin/sh\n{script}\n".encode())
        path.chmod(stat.S_IRWXU)
        monkeypatch.setenv("VISUAL", str(path))

    return write


async def test_the_list_shows_who_is_in_force_and_what_the_role_may_do(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted)), size=(80, 24)) as (app, _pilot):
        assert "aide" in app.shown
        assert "hired" in app.shown
        assert "Looks ahead." in app.shown
        assert "1 retired" not in app.shown
        assert "0 retired" in app.shown
        assert "tier    tasks  done 12 weeks       used" in app.shown
        assert "what for" in app.shown


async def test_the_detail_names_the_skills_that_a_role_has(room, scouted):
    text = HIRED.replace("purpose =", 'skills = ["pdf", "docx"]\npurpose =', 1)
    scouted.submit(HireRole(name="clerk", text=text))
    async with room(RolesScreen(scouted, newest(scouted), at="clerk"), size=(160, 50)) as (app, _pilot):
        assert "pdf docx" in app.shown
    async with room(RolesScreen(scouted, newest(scouted), at="aide"), size=(160, 50)) as (app, _pilot):
        assert "all where it works" in app.shown


async def test_the_example_of_a_role_is_filled_in_as_a_task(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted), at="tester")) as (app, pilot):
        await until(pilot, lambda: "t fills it in" in " ".join(app.shown.split()))
        await pilot.press("t")
        await until(pilot, lambda: "New task" in app.shown and "Find out how the tests" in app.shown)
        await pilot.press("f2")
        await until(pilot, lambda: len(newest(scouted).tasks) == 2)
    spec = next(task.spec for task in newest(scouted).tasks if task.spec.role == "tester")
    role = next(role for role in newest(scouted).roles if role.name == "tester")
    assert spec.objective == role.example.objective


async def test_the_main_agent_is_given_no_task(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted), at="main")) as (app, pilot):
        await pilot.press("t")
        await until(pilot, lambda: "is given no tasks" in app.shown)


async def test_hosts_of_a_role_for_the_web_are_named_in_its_form_and_shown(room, scouted):
    reader = Path(newest(scouted).root) / "roles" / "reader.md"
    reader.write_text('+++\npurpose = "p"\ntools = ["web_fetch"]\n+++\n\nRead.\n')
    async with room(RolesScreen(scouted, newest(scouted), at="reader")) as (app, pilot):
        await until(pilot, lambda: "none: it is given no task" in app.shown)
        await pilot.press("equals_sign")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        await pilot.press("f2")
        await until(pilot, lambda: "web_fetch needs hosts" in app.shown)
        assert app.screen.focused.id == "hosts"
        app.screen.focused.value = "https://docs.python.org/3"
        await pilot.press("f2")
        await until(pilot, lambda: "is no host" in app.shown)
        app.screen.query_one("#hosts", TextField).value = "docs.python.org, *.example.org"
        await pilot.press("f2")
        await until(pilot, lambda: "reader adjusted" in app.shown)
        await until(pilot, lambda: "docs.python.org *.example.org" in app.shown)
    role = next(role for role in newest(scouted).roles if role.name == "reader")
    assert role.hosts == ("docs.python.org", "*.example.org")


async def test_firing_previews_what_it_means_asks_why_and_can_be_taken_back(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("d")
        await until(pilot, lambda: "Fire aide" in app.shown)
        assert "1 task queued" in app.shown
        assert "look around the corner" in app.shown
        app.screen.query_one("#reason", TextField).value = "nobody needs it"
        await pilot.press("enter")
        await until(pilot, lambda: "1 retired" in app.shown)
        assert "aide fired" in app.shown
        assert "aide" not in in_force(scouted)
        await pilot.press("u")
        await until(pilot, lambda: "0 retired" in app.shown)
        assert "aide" in in_force(scouted)


async def test_a_retired_role_is_rehired_and_nothing_else_is_done_to_it(room, scouted):
    scouted.submit(FireRole(name="aide", reason="too slow"))
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("G", "d")
        await until(pilot, lambda: "is retired" in app.shown)
        await pilot.press("R")
        await until(pilot, lambda: "hired again" in app.shown)
        assert "aide" in in_force(scouted)


async def test_a_copy_is_hired_from_a_form(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("h", "1")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        assert app.screen.query_one("#prompt", Prose).text == "Look ahead."
        app.screen.query_one("#name", TextField).value = "bscout"
        await pilot.press("f2")
        await until(pilot, lambda: "bscout hired" in app.shown)
        assert {"aide", "bscout"} <= set(in_force(scouted))


async def test_a_role_is_adjusted(room, scouted):
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("equals_sign")
        await until(pilot, lambda: isinstance(app.screen, RoleForm))
        await pilot.press("right", "enter")
        await until(pilot, lambda: "aide adjusted" in app.shown)
        assert newest(scouted).roles[0].tier == "sonnet"


async def test_the_editor_gets_the_operators_own_file_with_its_remarks(room, scouted, editor):
    editor('grep -q "a remark of the operator" "$1" && sed -i s/haiku/opus/ "$1"')
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "Save aide?" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "aide adjusted" in app.shown)
        assert newest(scouted).roles[0].tier == "opus"


async def test_a_broken_text_is_named_by_its_line_kept_and_taken_up_again(room, scouted, editor):
    editor("sed -i 's/haiku/gpt/; s/Look ahead/Look far ahead/' \"$1\"")
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "not valid" in app.shown)
        assert "Line 4: tier 'gpt' is unknown" in app.shown
        await pilot.press("escape")
        await until(pilot, lambda: "Your text is kept" in app.shown)
        assert newest(scouted).roles[0].tier == "haiku"
        editor('sed -i s/gpt/sonnet/ "$1"')
        await pilot.press("e")
        await until(pilot, lambda: "Save aide?" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "aide adjusted" in app.shown)
        role = newest(scouted).roles[0]
        assert (role.tier, role.prompt) == ("sonnet", "Look far ahead.")


async def test_a_role_is_written_from_scratch(room, scouted, editor):
    editor('sed -i \'s/purpose = ""/purpose = "New."/\' "$1"')
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("h", "4")
        await until(pilot, lambda: app.screen.query("#name"))
        app.screen.query_one("#name", TextField).value = "cscout"
        await pilot.press("enter")
        await until(pilot, lambda: "cscout hired" in app.shown)
        assert "cscout" in in_force(scouted)


async def test_an_editor_that_cannot_be_started_is_named(room, scouted, monkeypatch):
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    async with room(RolesScreen(scouted, newest(scouted))) as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "/nowhere/editor cannot be started" in app.shown)


async def test_a_room_that_only_reads_says_why(room, scouted):
    reading = msgspec.structs.replace(newest(scouted), read_only="the folder belongs to root")
    async with room(RolesScreen(scouted, reading)) as (app, pilot):
        await pilot.press("d")
        await until(pilot, lambda: "belongs to root" in app.shown)


async def test_hostile_text_in_a_role_stays_text(room, scouted, hostile):
    picture = newest(scouted)
    role = msgspec.structs.replace(picture.roles[0], name=hostile, purpose=hostile, prompt=hostile, tools=(hostile,))
    async with room(RolesScreen(scouted, msgspec.structs.replace(picture, roles=(role,), retired=(hostile,)))) as (
        app,
        pilot,
    ):
        assert app.shown.count("[@click=app.quit]") > 3
        app.harmless()
        await pilot.press("d")
        await pilot.pause()
        app.harmless()
