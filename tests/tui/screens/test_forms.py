"""The forms: what they answer, what they say when something is missing, and that text stays text."""

from __future__ import annotations

from typing import Any

import pytest
from lumen_rows import each_row
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Input

from lumen_tui.model.records import Node, Signal
from lumen_tui.model.requests.engine import RaiseBudget
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.roles import ALL_TOOLS, READ_TOOLS, Role
from lumen_tui.tui.kit.fields import Choice, TextField
from lumen_tui.tui.kit.questions import ConfirmKey, ConfirmName, ReasonPrompt
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.budget import RaiseForm
from lumen_tui.tui.screens.discoveries import PromoteForm
from lumen_tui.tui.screens.engine import QuitAsk
from lumen_tui.tui.screens.hire import RoleForm
from lumen_tui.tui.screens.signals import SignalForm
from lumen_tui.tui.screens.task_form import TaskForm, format_caps, parse_caps

ROLES = (
    Role("builder", "Implements a change completely.", tier="sonnet", tools=ALL_TOOLS, shell="any", write=True),  # noqa: S604
    Role("researcher", "Finds things out.", tools=READ_TOOLS),
)
NODE = Node(id="mem-1", type="discovery", content="Race in the session manager", created_at="2026-01-01T00:00:00Z")
SIGNAL = Signal(
    id="sig-1", message="Port added", created_at="2026-01-01T00:00:00Z", sender="agent-a", wu_id="WU-100", lane="Core"
)


def put(screen: Screen[Any], field: str, text: str) -> None:
    """Type `text` into a field, without the price of a key press for each letter."""
    widget = screen.query_one(f"#{field}")
    if isinstance(widget, Input):
        widget.value = text
    elif isinstance(widget, Prose):
        widget.text = text


async def test_a_task_is_described_chosen_and_sent(room):
    async with room(TaskForm(ROLES)) as (app, pilot):
        assert isinstance(app.focused, Prose)
        put(app.screen, "objective", "What are the 5 largest files?")
        put(app.screen, "constraints", "read only\n\n stay in /tmp ")
        put(app.screen, "limit", "20m")
        await pilot.press("tab", "left")
        assert f"builder on sonnet · {len(ALL_TOOLS)} tools, may write, any command · 20 m · 40 steps" in app.shown
        await pilot.press("enter")
        assert app.answers == [
            NewTask(
                objective="What are the 5 largest files?",
                role="builder",
                constraints=("read only", "stay in /tmp"),
                timeout_seconds=1200.0,
            )
        ]


async def test_keys_that_come_all_at_once_end_up_where_they_were_meant(room):
    """Over a slow line the terminal sends what was typed in one piece."""
    async with room(RaiseForm(())) as (app, pilot):
        for name in ("tab", "7", "0", "0", "tab", "5", "shift+tab", "9", "f2"):
            app.post_message(Key(name, name if len(name) == 1 else None))
        await pilot.pause()
        await pilot.pause()
        assert app.answers == [RaiseBudget(tokens=7009, minutes=5.0)]


async def test_more_room_is_meant_for_the_role_that_has_none(room):
    form = RaiseForm(("builder", "scout"), "today's budget of role scout is used up: 9 of 9 tokens")
    async with room(form) as (app, pilot):
        put(app.screen, "tokens", "700")
        await pilot.press("f2")
        assert app.answers == [RaiseBudget(tokens=700, role="scout")]


async def test_enter_in_an_objective_of_one_line_sends_it_and_in_a_longer_one_breaks_the_line(room):
    async with room(TaskForm(ROLES)) as (app, pilot):
        put(app.screen, "objective", "one\ntwo")
        app.screen.query_one(Prose).move_cursor((1, 3))
        await pilot.press("enter")
        assert not app.answers
        assert app.screen.query_one(Prose).text == "one\ntwo\n"
        put(app.screen, "objective", "one")
        await pilot.press("enter")
        assert app.answers[0].objective == "one"


async def test_a_task_form_says_what_is_wrong_and_keeps_what_was_typed(room):
    async with room(TaskForm(ROLES)) as (app, pilot):
        put(app.screen, "limit", "soon")
        await pilot.press("f2")
        assert "the objective is empty" in app.shown
        put(app.screen, "objective", "x")
        await pilot.press("f2")
        assert "'soon' is not a duration" in app.shown
        assert app.screen.query_one("#limit", TextField).value == "soon"
        assert app.screen.query_one("#limit", TextField).has_focus
        put(app.screen, "limit", "3d")
        await pilot.pause()
        assert "is not between 1s and 1d" in app.shown
        put(app.screen, "limit", "")
        await pilot.press("f3")
        put(app.screen, "wu_id", "42")
        await pilot.press("enter")
        assert "write it as WU-042" in app.shown
        assert not app.answers


async def test_a_task_is_given_a_worktree_of_its_own(room, tmp_path):
    async with room(TaskForm(ROLES, {"objective": "make it faster"}), size=(80, 24)) as (app, pilot):
        await pilot.press("f3")
        app.screen.query_one("#isolate", Choice).focus()
        await pilot.press("right")
        await pilot.press("f2")
        assert "A worktree is of a folder: say of which" in app.shown
        put(app.screen, "folder", str(tmp_path))
        await pilot.press("f2")
        assert [(one.isolate, one.folder) for one in app.answers] == [("worktree", str(tmp_path))]


async def test_a_task_form_takes_defaults_and_shows_the_rest_of_the_fields_where_they_are_set(room):
    given = {"objective": "again", "role": "builder", "lane": "Core", "priority": "P0", "model": "opus"}
    async with room(TaskForm(ROLES, given), size=(80, 24)) as (app, pilot):
        assert "work unit" in app.shown
        await pilot.press("f2")
        assert app.answers == [NewTask(**given)]


async def test_a_task_form_takes_checks_and_refuses_what_is_none(room):
    given = {"objective": "again", "role": "builder", "priority": "P2", "accept": ("command: make test",)}
    async with room(TaskForm(ROLES, given), size=(80, 24)) as (app, pilot):
        app.screen.query_one("#accept", Prose).text = "make test"
        await pilot.press("f2")
        assert "is no check" in app.shown
        assert app.screen.query_one("#accept", Prose).has_focus
        app.screen.query_one("#accept", Prose).text = "command: make test\n\nfile: ../x"
        await pilot.press("f2")
        assert "may lead out" in app.shown
        app.screen.query_one("#accept", Prose).text = "Command:make test\n\nfile: dist/*.whl"
        await pilot.press("f2")
        assert app.answers == [NewTask(**{**given, "accept": ("command: make test", "file: dist/*.whl")})]


async def test_a_task_form_takes_a_budget_in_dollars_or_tokens(room):
    given = {"objective": "again", "role": "builder", "priority": "P2", "budget": {"tokens": 100_000, "usd": 0.5}}
    async with room(TaskForm(ROLES, given), size=(80, 24)) as (app, pilot):
        assert "at most 100,000 tokens, $0.50" in " ".join(app.shown.replace("│", " ").split())
        put(app.screen, "budget", "5")
        await pilot.press("f2")
        assert "write $5 for dollars" in app.shown
        assert app.screen.query_one("#budget", TextField).has_focus
        put(app.screen, "budget", "$2 and 1.5m tokens")
        await pilot.press("f2")
        assert app.answers == [NewTask(**{**given, "budget": {"usd": 2.0, "tokens": 1_500_000}})]


@each_row(
    ("typed", "caps"),
    [
        ("", {}), ("$.5", {"usd": 0.5}), ("100k", {"tokens": 100_000}), ("20,000 tokens, $0.10", {"tokens": 20_000,
        "usd": 0.1}), ("$1 50 k tokens", None), ("0", {}), ("lots", None), ("$1e9", None), ("-5k", None),
        ("99999999999999999", None),
    ],
)  # fmt: skip
def test_a_budget_is_read_as_it_is_typed_or_refused(typed, caps):
    if caps is None:
        with pytest.raises(ValueError):
            parse_caps(typed)
        return
    assert parse_caps(typed) == caps
    assert parse_caps(format_caps(caps)) == caps


async def test_a_task_form_without_roles_says_so(room):
    async with room(TaskForm(())) as (app, pilot):
        put(app.screen, "objective", "x")
        await pilot.press("f2")
        assert "hire one first" in app.shown
        assert not app.answers


async def test_a_reason_is_typed_or_an_earlier_one_is_taken(room):
    async with room(ReasonPrompt("Archive", ("too old", "not ours"))) as (app, pilot):
        await pilot.press("enter")
        assert "Give a reason" in app.shown
        await pilot.press("2")
        assert "‹not ours›" in app.shown
        await pilot.press("up", "enter")
        assert app.answers == ["too old"]


async def test_a_digit_is_a_digit_once_something_was_typed(room):
    async with room(ReasonPrompt("Archive", ("too old",))) as (app, pilot):
        await pilot.press("x", "1", "9", "enter")
        assert app.answers == ["x19"]


async def test_a_lane_is_taken_or_typed(room):
    async with room(PromoteForm(NODE, ("Core", "UI"))) as (app, pilot):
        await pilot.press("enter")
        assert "Choose a known lane" in app.shown
        await pilot.press("down", "down")
        assert app.screen.query_one("#lane", TextField).value == "UI"
        put(app.screen, "lane", "Brand new")
        await pilot.pause()
        assert "a new lane" in app.shown
        await pilot.press("enter")
        assert app.answers == [{"lane": "Brand new", "title": "Race in the session manager"}]


async def test_a_promotion_needs_a_title(room):
    async with room(PromoteForm(NODE, ("Core",))) as (app, pilot):
        put(app.screen, "title", " ")
        await pilot.press("enter")
        assert "Give a title" in app.shown


async def test_an_answer_goes_to_the_sender_on_the_same_work(room):
    async with room(SignalForm(SIGNAL, ("Core",))) as (app, pilot):
        assert "Port added" in app.shown
        await pilot.press("enter")
        assert "Write a message" in app.shown
        put(app.screen, "message", "thanks")
        app.screen.query_one(Choice).choose("P0")
        await pilot.press("f2")
        assert app.answers == [
            SendSignal(message="thanks", to="agent-a", wu_id="WU-100", lane="Core", priority="P0", reply_to="sig-1")
        ]


async def test_a_new_signal_says_only_what_was_said(room):
    async with room(SignalForm(None, ()), size=(80, 24)) as (app, pilot):
        put(app.screen, "message", "hello")
        put(app.screen, "wu_id", "nine")
        await pilot.press("f2")
        assert "write it as WU-042" in app.shown
        put(app.screen, "wu_id", "")
        await pilot.press("f2")
        assert app.answers == [SendSignal(message="hello")]


async def test_a_role_is_adjusted_with_keys_alone(room):
    async with room(RoleForm(ROLES[1])) as (app, pilot):
        await pilot.press("right", "tab", "space", "tab", "right")
        put(app.screen, "timeout", "5m")
        put(app.screen, "max_steps", "many")
        await pilot.press("f2")
        assert "Steps: 1 to 10000" in app.shown
        put(app.screen, "max_steps", "12")
        await pilot.press("f2")
        role = app.answers[0]
        assert (role.name, role.tier, role.shell) == ("researcher", "sonnet", "read")
        assert role.tools == ("list_dir", "glob", "grep", "disk_usage", "shell")
        assert (role.limits.timeout_seconds, role.limits.max_steps) == (300.0, 12)


async def test_a_new_role_needs_a_free_name_a_purpose_and_a_prompt(room):
    async with room(RoleForm(Role("", ""), names_in_use=["builder"])) as (app, pilot):
        for field, text, complaint in (
            ("name", "Not A Name", "is not usable"),
            ("name", "builder", "exists already"),
            ("name", "scout", "Give a purpose"),
            ("purpose", "Looks ahead.", "Write a prompt"),
        ):
            put(app.screen, field, text)
            await pilot.press("f2")
            assert complaint in app.shown
        put(app.screen, "prompt", "Look ahead.")
        await pilot.press("f2")
        assert app.answers[0].name == "scout"
        assert app.answers[0].prompt == "Look ahead."


async def test_leaving_asks_only_what_can_be_answered(room):
    async with room(QuitAsk(True)) as (app, pilot):
        await pilot.press("c")
        assert app.answers == ["stop"]
    async with room(QuitAsk(False)) as (app, pilot):
        await pilot.press("c")
        assert not app.answers
        await pilot.press("enter")
        assert app.answers == ["keep"]


async def test_a_name_must_be_typed_out(room):
    async with room(ConfirmName("Drop the state folder", "lumen")) as (app, pilot):
        put(app.screen, "name", "lumen2")
        await pilot.press("enter")
        assert "does not match" in app.shown
        put(app.screen, "name", "lumen")
        await pilot.press("enter")
        assert app.answers == [True]


async def test_a_bulk_step_is_confirmed_by_its_own_key_only(room):
    async with room(ConfirmKey("Archive 40", [f"row {n}" for n in range(40)], "confirm_yes", "archive them")) as (
        app,
        pilot,
    ):
        assert "… and 28 more" in app.shown
        await pilot.press("a")
        assert not app.answers
        await pilot.press("y")
        assert app.answers == [True]


def screens(text: str) -> list[Screen[Any]]:
    """Every form, with `text` wherever the data can put it."""
    node = Node(id="mem-1", type="discovery", content=text, created_at=text, wu_id=text)
    role = Role(text, text, tools=(text,), prompt=text)
    signal = Signal(id="sig-1", message=text, created_at=text, sender=text, wu_id=text, lane=text)
    given = {"objective": text, "constraints": (text,), "lane": text, "wu_id": text, "role": text}
    return [
        TaskForm([role], given),
        ReasonPrompt(text, (text,), (text,)),
        PromoteForm(node, (text,)),
        SignalForm(signal, (text,)),
        RoleForm(role),
        RoleForm(role, names_in_use=()),
        ConfirmName(text, text, (text,)),
        ConfirmKey(text, (text,), "confirm_yes", "do it"),
    ]


async def test_hostile_text_is_shown_as_text_in_every_form(room, hostile):
    for screen in screens(hostile):
        async with room(screen) as (app, pilot):
            assert "[/]" in app.shown, screen
            assert "[@click=app.quit]" in app.shown, screen
            app.harmless()
            await pilot.press("escape")
            assert app.answers in ([None], [False])
