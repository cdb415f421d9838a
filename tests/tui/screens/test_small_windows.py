"""Dialogs in a window that has no room for them: the keys stay, what must be decided is reached by scrolling."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from lumen_robot import until
from lumen_rows import each_row
from textual.screen import Screen

from lumen_tui.model.facts import Fact
from lumen_tui.model.freshness import FactState
from lumen_tui.model.roles import ALL_TOOLS, Role
from lumen_tui.model.tasks import Spec, Status, TaskView
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.questions import ConfirmKey, ConfirmName, ReasonPrompt
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.screens.blocks import BlocksScreen
from lumen_tui.tui.screens.budget import RaiseForm, UnkillForm
from lumen_tui.tui.screens.engine import PauseForm, QuitAsk
from lumen_tui.tui.screens.facts import FactRows
from lumen_tui.tui.screens.hire import RoleForm
from lumen_tui.tui.screens.search import NoteForm
from lumen_tui.tui.screens.signals import SignalForm
from lumen_tui.tui.screens.task_form import RetryForm, TaskForm

SMALL = ((20, 6), (40, 10))
PURPOSE = "Implements a change completely, with its tests and its documentation, and says what it left out and why"
ROLE = Role("builder", PURPOSE, tier="sonnet", tools=ALL_TOOLS, shell="any", write=True)  # noqa: S604
FAILED = TaskView(Spec("tsk-a", "make it"), Status.FAILED, reason="its own cap of 100k tokens is reached")
DIALOGS: dict[str, tuple[Callable[[], Screen[Any]], str]] = {
    "quit": (lambda: QuitAsk(True), "choose"),
    "leave": (lambda: QuitAsk(False), "choose"),
    "key": (lambda: ConfirmKey("Kill?", ["3 workers are ended"] * 9, "confirm_yes", "kill them"), "y kill them"),
    "called": (
        lambda: ConfirmKey("Allow?", ["it asks"], "confirm_allow", "allow", [("the call", "a\nb\n" * 30)]),
        "a allow",
    ),
    "unkill": (lambda: UnkillForm(["killed by ops: a drill"]), "y resume"),
    "name": (lambda: ConfirmName("Delete", "abc", ["it is removed"] * 9), "enter confirm"),
    "reason": (lambda: ReasonPrompt("Kill", ("a drill", "wild"), ["3 workers are ended"] * 9), "enter kill"),
    "pause": (lambda: PauseForm([("", "everything"), ("loop", "the loop")]), "enter apply"),
    "signal": (lambda: SignalForm(None, ("Core", "UI")), "enter send"),
    "note": (NoteForm, "enter keep"),
    "raise": (lambda: RaiseForm(("builder",), "today is full"), "enter raise"),
    "retry": (lambda: RetryForm(FAILED), "enter retry"),
    "task": (lambda: TaskForm((ROLE,)), "enter create"),
    "role": (lambda: RoleForm(ROLE), "enter adjust"),
}


def words(shown: str) -> str:
    return " ".join(shown.replace("│", " ").split())


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize("name", DIALOGS)
async def test_the_keys_are_seen_in_every_window(room, name):
    make, key = DIALOGS[name]
    async with room(make(), size=SMALL[0]) as (app, pilot):
        for size in (*SMALL, (120, 40), SMALL[0]):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: "esc" in app.shown and (key in words(app.shown) or "or F2" in app.shown))


@pytest.mark.parametrize("size", SMALL)
async def test_each_choice_of_leaving_is_reached(room, size):
    async with room(QuitAsk(True), size=size) as (app, pilot):
        await until(pilot, lambda: "▌ q  keep it" in app.shown)
        await pilot.press("down")
        await until(pilot, lambda: "▌ c  stop the" in app.shown)
        await pilot.press("up", "pageup", "pageup")
        await until(pilot, lambda: "This room" in app.shown)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.answers == ["stop"])


async def test_what_is_about_to_be_done_can_be_read_to_its_end(room):
    lines = [f"worker {number} is ended" for number in range(9)]
    async with room(
        ConfirmKey("Kill?", lines, "confirm_yes", "kill", [("the call", "make deploy")]), size=SMALL[0]
    ) as (
        app,
        pilot,
    ):
        await until(pilot, lambda: "worker 0" in app.shown)
        await pilot.press("end")
        await until(pilot, lambda: "make deploy" in app.shown)
        assert "y kill" in app.shown


async def test_the_field_where_one_types_is_seen_with_its_name_and_what_follows_below(room):
    async with room(ConfirmName("Delete", "abc", ["it is removed"] * 9), size=SMALL[0]) as (app, pilot):
        await until(pilot, lambda: "name" in app.shown)
        await pilot.press("a")
        await until(pilot, lambda: "│  a " in app.shown)
        await pilot.press("pagedown", "pagedown")
        await until(pilot, lambda: "Type" in app.shown)
        await pilot.press("enter")
        await until(pilot, lambda: "does not match" in words(app.shown))


async def test_a_line_that_is_longer_than_its_field_is_marked_where_it_goes_on(room):
    async with room(RoleForm(ROLE, names_in_use=()), size=(80, 24)) as (app, pilot):
        line = app.screen.query_one("#purpose", TextField)
        await until(pilot, lambda: "  Implements a change completely, with its tests and its docum…  │" in app.shown)
        line.focus()
        await pilot.press("home", "end")
        await until(pilot, lambda: "  …ts and its documentation, and says what it left out and why" in app.shown)
        await pilot.press("home")
        await until(pilot, lambda: "  Implements a change completely, with its tests and its docum…  │" in app.shown)
        line.value = "short"
        await until(pilot, lambda: "  short  " in app.shown)
        line.value = ""
        line.placeholder = PURPOSE
        await until(
            pilot, lambda: re.search(r"  Implements a change completely, with its tests and its +…  │", app.shown)
        )


async def test_a_sentence_that_is_longer_than_its_lines_says_that_it_goes_on(room):
    class Sheet(DetailScreen[None]):
        def body(self):
            yield StatusLine()

    words = [f"word{number}" for number in range(60)]
    async with room(Sheet("A sheet"), size=(80, 24)) as (app, pilot):
        app.screen.say(" ".join(words), bad=True)
        await until(pilot, lambda: "word0" in app.shown)
        said = [line for line in app.shown.split("\n") if "word" in line]
        assert len(said) == 3 and said[-1].rstrip("│ ").endswith("…")
        app.screen.say("well")
        await until(pilot, lambda: "well" in app.shown and "…" not in app.shown)
        app.screen.say("")
        await until(pilot, lambda: not app.screen.query_one(StatusLine).display)


async def test_a_list_beside_its_details_has_all_of_a_window_of_few_lines_and_says_names_first(room, port):
    async with room(BlocksScreen(port, port.snapshot()), size=SMALL[1]) as (app, pilot):
        await until(pilot, lambda: re.search(r"persona +0/20 k", app.shown) and "human" in app.shown)
        assert "esc back" in app.shown


async def test_a_list_beside_its_details_shows_a_row_with_its_name_in_the_smallest_window(room, port):
    async with room(BlocksScreen(port, port.snapshot()), size=SMALL[0]) as (app, pilot):
        await until(pilot, lambda: "▌persona" in app.shown)
        assert "esc back" in app.shown


@each_row("width", [30, 40, 54])
def test_a_fact_says_its_claim_before_its_clocks(width):
    rows = FactRows(now=3600.0)
    state = FactState(Fact("mem-1", "API on 8080"), confirmed=1800.0)
    drawn = "".join(part.text for part in rows.line(state, width, False, False))
    assert "API on 8080" in drawn and drawn.endswith("30 min")
