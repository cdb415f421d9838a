"""The screen of trials, driven by keys in a small app with the room's styles."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.roles import ToolRule
from lumen_tui.model.text import is_safe
from lumen_tui.model.trials import EvolutionCandidate, PairedCase, candidate_id
from lumen_tui.store.evolution import candidates, champions
from lumen_tui.tui.screens.trials import TrialsScreen, side_by_side
from tests.actions.conftest import ActionsFolder
from tests.actions.test_promotion import EDIT, NAME, folder_at, passed


def on_stage(desk: ActionsFolder, refusal: str = "") -> Stage:
    port = RemotePort(desk.layout.root, "ana")
    return Stage(TrialsScreen(port, port.snapshot(), refusal))


def says(app: Stage, text: str) -> bool:
    """Whether a text is on the screen, over as many lines as it takes."""
    return "".join(text.split()) in app.unwrapped


@pytest.fixture
def desk(tmp_path: Path) -> ActionsFolder:
    """A candidate that passed, with a case on which the two differ."""
    made = folder_at(tmp_path / "state")
    differing = (
        PairedCase("cas-a", champion=False, challenger=True, words="attempt 1 said it was done"),
        PairedCase("cas-b", champion=True, challenger=False, must=True, words="git push: allowed by a person"),
        PairedCase("cas-c", champion=True, challenger=False, flaky=True, words="x"),
    )
    candidates.report(made.layout, msgspec.structs.replace(passed(made.layout), differing=differing))
    return made


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_champion_and_challenger_stand_side_by_side(desk: ActionsFolder, size: tuple[int, int]) -> None:
    app = on_stage(desk)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "passed" in app.shown)
        shown = " ".join(app.shown.split())
        assert "no edit in force" in shown
        await pilot.press("enter")
        await until(pilot, lambda: "fails      passes     attempt 1 said" in app.shown)
        assert says(app, "40 of 40 measured") or size[1] < 24


def test_each_way_in_which_two_differ_has_its_sign(desk: ActionsFolder) -> None:
    report = candidates.reports_by_candidate(desk.layout)[NAME][-1]
    assert side_by_side(report).splitlines() == [
        "  champion   challenger",
        "- passes     fails      must hold: git push: allowed by a person",
        "! passes     fails      x",
        "+ fails      passes     attempt 1 said it was done",
    ]
    assert side_by_side(None) == ""


async def test_it_is_promoted_rolled_back_and_undone_by_keys(desk: ActionsFolder) -> None:
    app = on_stage(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "passed" in app.shown)
        await pilot.press("p")
        await until(pilot, lambda: says(app, "From the next task on role builder works like this."))
        await pilot.press("y")
        await until(pilot, lambda: champions.current(desk.layout).edits == (EDIT,) and "1 edit in force" in app.shown)
        await pilot.press("b")
        await until(pilot, lambda: says(app, "byte for byte"))
        await pilot.press("y")
        await until(pilot, lambda: champions.pointed(desk.layout) == "" and "no edit in force" in app.shown)
        await pilot.press("u")
        await until(pilot, lambda: champions.current(desk.layout).edits == (EDIT,) and "1 edit in force" in app.shown)


async def test_one_is_tried_and_what_no_model_can_show_is_said_to_be_not_measured(tmp_path: Path) -> None:
    desk = folder_at(tmp_path / "state")
    desk.do("evolution.propose", role="builder", why="it may help", text="Say which test you ran.")
    app = on_stage(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "not tried" in app.shown)
        await pilot.press("B")
        await until(pilot, lambda: says(app, "not passed: not measured"))
        await pilot.press("p")
        await until(pilot, lambda: "Promote" in app.shown)
        await pilot.press("y")
        await until(pilot, lambda: says(app, "is not promoted: not measured"))
        await pilot.press("d")
        await until(pilot, lambda: "withdrawn" in app.shown)


async def test_nothing_to_show_and_a_refusal_are_one_sentence(tmp_path: Path) -> None:
    desk = ActionsFolder(tmp_path / "state")
    desk.layout.create()
    app = on_stage(desk, "The state folder is read only.")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: says(app, "Nothing is proposed"))
        await pilot.press("b")
        await until(pilot, lambda: says(app, "The state folder is read only."))


async def test_hostile_words_and_a_damaged_pointer_are_shown_as_what_they_are(tmp_path: Path) -> None:
    desk = folder_at(tmp_path / "state")
    hostile = EvolvedEdit("builder", EditKind.RULE, ToolRule("deny", "shell", why="[/] [@click=app.quit] \x1b[2J"))
    made = EvolutionCandidate(candidate_id(hostile), "2026-11-20T10:00:00Z", "x", hostile, "w")
    candidates.write(desk.layout, [made])
    desk.layout.champion.write_bytes(b"{")
    app = on_stage(desk)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: says(app, "evals/champion.json cannot be read"))
        assert is_safe(app.shown.replace("\n", ""))
        assert "click" not in app.shown  # an edit that holds controls is no candidate
