"""The keys of every screen come from the one declaration: what they do, the footer, `?`, and [keys]."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.app import App
from textual.widget import Widget

from lumen_tui.model.config import Config
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui import screens
from lumen_tui.tui.commands import BY_ACTION, COMMANDS, SCREEN_COMMANDS, SCREENS
from lumen_tui.tui.kit.keys import commands_of
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.moved_keys import slip_in

_DECLARED = ("commands.py", "key_names.py")  # the commands, and what keys are called

# Keys that mean another thing on another screen or in another widget, with what they mean. It may only shrink.
TWO_MEANINGS = {
    "1": "menu_number offer_number pane_1",
    "2": "menu_number offer_number pane_2",
    "3": "menu_number offer_number pane_3",
    "4": "menu_number offer_number pane_4",
    "5": "menu_number offer_number pane_5",
    "6": "menu_number offer_number pane_6",
    "7": "menu_number offer_number",
    "8": "menu_number offer_number",
    "9": "menu_number offer_number",
    "A": "answer_always archived_nodes facts_all",
    "R": "needs_retry retry_task roles_rehire task_retry",
    "a": "alike_archive answer_signal archive archive_node blocks_new "
    "changes_accept confirm_allow evolution_accept facts_add_probe node_archive roles_adjust signal_reply task_answer",
    "b": "archived_restore blocks blocks_restore evolution_restore needs_back",
    "c": "cancel_task facts_confirm hire_copy loop_capsule task_cancel",
    "d": "answer_deny changes_drop dismiss draft_drop needs_dismiss relays_drop",
    "down": "choice_next difference_down down filter_keep hit_down offer_next option_next",
    "e": "approval_editor blocks_edit changes_edit draft_edit edit evolution_edit roles_edit rule_pattern task_editor",
    "enter": "approval_task form_send hit_take menu_take open question_leave",
    "f2": "form_send_now search_note",
    "f3": "search_why task_more",
    "h": "blocks_history evolution_versions roles_hire",
    "i": "send_signal signal_reply",
    "j": "difference_down down line_down option_next",
    "k": "difference_up line_up option_previous quit_keep up",
    "l": "alike_later blocks_lock later needs_tomorrow node_later task_limits",
    "left": "choice_previous day_back",
    "m": "merge read_signal task_tell tell_task",
    "n": "hire_form next_need",
    "p": "alike_promote facts_probe node_promote promote",
    "pagedown": "hit_page_down page_down",
    "pageup": "hit_page_up page_up",
    "r": "budget_raise evolution_reject needs_raise relays_release roles",
    "right": "choice_next day_on",
    "s": "difference_save needs_snoozed quit_stop similar task_stop",
    "shift+tab": "form_previous option_previous previous_pane task_half",
    "space": "choice_next mark toggle",
    "t": "evolution_rejected hire_template new_task",
    "tab": "filter_keep form_next next_pane option_next task_half",
    "up": "choice_previous difference_up filter_keep hit_up offer_previous option_previous up",
    "w": "budget_spent why",
    "x": "facts_retire hire_editor node_pin pin protected_unpin",
    "y": "answer_allow confirm_yes copy merge_yes task_copy",
    "z": "answer_hour zoom",
}


TUI = Path(screens.__path__[0]).parent
NAMED_KEY = re.compile(r"\b[Ee]sc(ape)?\b|\b[Ff]\d+\b|\b(ctrl|shift|alt)\+\w+|\bpage(up|down)\b|\bbackspace\b|[↑↓←→]")
# Where a key, or what looks like one, is no key of a command.
NO_COMMAND = {
    ("handlers/decay.py", " → "),  # a setting before and after
    *(("patches/terminal.py", arrow) for arrow in "↑↓←→"),  # what they become in ASCII
}


def classes(kind: type) -> list[type[Any]]:
    return [kind, *(deeper for below in kind.__subclasses__() for deeper in classes(below))]


@pytest.fixture(scope="module")
def owners() -> list[type[Any]]:
    """Screens over the room, and widgets, with keys of their own."""
    for module in pkgutil.walk_packages([str(TUI)], "lumen_tui.tui."):
        importlib.import_module(module.name)
    ours = [kind for kind in classes(Widget) if kind.__module__.startswith("lumen_tui.")]
    return [kind for kind in ours if hasattr(kind, "SCOPE")]


def test_every_command_of_a_screen_has_a_method_that_carries_it_out(owners: list[type[Any]]) -> None:
    named = {scope for kind in owners if (scope := vars(kind).get("SCOPE"))}
    assert named == set(SCREENS)
    missing = [
        f"{kind.__name__}: {command.call}"
        for kind in owners
        if not kind.__subclasses__()
        for command in commands_of(kind)
        if command.call and not has_action(kind, command.call.partition("(")[0])
    ]
    assert missing == []


def has_action(kind: type, name: str) -> bool:
    return hasattr(App if name.startswith("app.") else kind, f"action_{name.removeprefix('app.')}")


def spelled_keys(path: Path) -> Iterator[str]:
    """What a module says of keys by itself: bindings, keys in comparisons and footers, and in its sentences."""
    tree = ast.parse(path.read_text())
    owned = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, owned) and ast.get_docstring(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            if NAMED_KEY.search(node.value) and (str(path.relative_to(TUI)), node.value) not in NO_COMMAND:
                yield f"{path.name}:{node.lineno}: {node.value[:60]!r}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Binding" and path.name != "keys.py":
            yield f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Compare) and ast.unparse(node.left) in ("event.key", "event.character"):
            if any(isinstance(literal, ast.Constant) for literal in node.comparators):
                yield f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.FunctionDef) and node.name in ("keys", "foot"):
            pairs = [pair for pair in ast.walk(node) if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
            for pair in pairs:
                if isinstance(pair.elts[0], ast.Constant) and pair.elts[0].value not in BY_ACTION:
                    yield f"{path.name}:{pair.lineno}: {ast.unparse(pair)}"


def test_no_module_of_the_room_but_the_declaration_spells_a_key() -> None:
    paths = [path for path in sorted(TUI.rglob("*.py")) if path.name not in _DECLARED]
    assert [line for path in paths for line in spelled_keys(path)] == []


def test_every_command_of_a_screen_says_what_it_does() -> None:
    assert all(command.label and command.help.endswith(".") for command in SCREEN_COMMANDS)
    own = [command.action for command in SCREEN_COMMANDS if command.action.partition("_")[0] == command.scope]
    assert len(own) == len(set(own))
    assert slip_in(command.action for command in SCREEN_COMMANDS) == ""


def test_the_keys_with_two_meanings_become_no_more() -> None:
    meanings = defaultdict(set)
    for command in (*COMMANDS, *SCREEN_COMMANDS):
        for key in command.keys:
            meanings[key].add(command.action)
    new = {
        key: sorted(actions)
        for key, actions in meanings.items()
        if len(actions) > 1 and not actions <= set(TWO_MEANINGS.get(key, "").split())
    }
    gone = {
        key: actions
        for key, actions in TWO_MEANINGS.items()
        if set(actions.split()) != meanings[key] or len(meanings[key]) < 2
    }
    assert new == {}
    assert gone == {}, "take them off the list"


async def test_a_key_of_a_screen_can_be_moved_and_its_footer_says_so(open_room: Any, busy_snapshot: Snapshot) -> None:
    config = Config(keys={"needs_snoozed": "f5", "answer_hour": "f6", "undo": "f9"})
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config)) as room:
        await room.press("!")
        await room.until(lambda: "f6 snooze 1 h" in room.text)
        assert "f9 undo" in room.text
        asked = len(room.port.asked)
        await room.press("z")
        assert len(room.port.asked) == asked
        await room.press("f9")
        await room.until(lambda: [verb for verb, _ in room.port.asked[asked:]] == ["undo"])


async def test_the_help_of_a_screen_begins_with_its_own_keys(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(msgspec.structs.replace(busy_snapshot, read_only="the disk is full")) as room:
        await room.press("!", "question_mark")
        await room.until(lambda: "Help" in room.text and "Show what is snoozed" in room.text)
        await room.press(*"retry")
        assert "not now: the disk is full" in room.text


async def test_a_command_of_a_screen_is_found_by_its_name_and_carried_out_there(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("!", "colon", *"undo", "enter")
        await room.until(lambda: [verb for verb, _ in room.port.asked] == ["undo"])


async def test_the_help_of_a_form_lists_its_own_keys_and_carries_them_out(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("t")
        await room.until(lambda: "New task" in room.text)
        await room.press("question_mark")
        assert "Help" not in room.text, "a question mark is text where one types"
        await room.press("f1")
        await room.until(lambda: "Help" in room.text and "Show the rarer fields" in room.text)
        assert "Go to the next field." in room.text
        assert "Leave the room." not in room.text
        await room.press(*"rarer", "enter")
        await room.until(lambda: "Help" not in room.text and "work unit" in room.text)


async def test_the_help_of_a_question_lists_its_answers_which_have_the_operators_keys(
    open_room: Any, busy_snapshot: Snapshot
) -> None:
    answers: list[bool | None] = []
    config = Config(keys={"confirm_yes": "f7"})
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config)) as room:
        room.app.push_screen(ConfirmKey("Go on?", ["it goes on"], "confirm_yes", "go on"), answers.append)
        await room.until(lambda: "f7 go on" in room.text)
        await room.press("y", "question_mark")
        await room.until(lambda: "Answer with yes." in room.text)
        assert "not now: f7 answers this question" in room.text
        await room.press("escape", "f7")
        await room.until(lambda: answers == [True])
