"""The keys of every screen come from the one declaration: what they do, the footer, `?`, and [keys]."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from typing import Any

import msgspec
import pytest

from lumen_tui.model.config import Config
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui import screens
from lumen_tui.tui.commands import COMMANDS, SCREEN_COMMANDS, SCREENS, slip_in
from lumen_tui.tui.kit.keys import commands_of
from lumen_tui.tui.kit.screen import Dialog

# Keys that mean another thing on another screen, with what they mean. It may only shrink.
TWO_MEANINGS = {
    "A": "answer_always archived_nodes facts_all",
    "R": "needs_retry retry_task roles_rehire task_retry",
    "a": "alike_archive answer_signal archive archive_node blocks_new "
    "evolution_accept facts_add_probe node_archive roles_adjust signal_reply",
    "b": "archived_restore blocks blocks_restore evolution_restore needs_back",
    "c": "cancel_task facts_confirm loop_capsule task_cancel",
    "d": "answer_deny dismiss needs_dismiss relays_drop",
    "down": "difference_down down",
    "e": "approval_editor blocks_edit edit evolution_edit roles_edit rule_pattern task_editor",
    "enter": "approval_task open",
    "f3": "search_why task_more",
    "h": "blocks_history evolution_versions roles_hire",
    "i": "send_signal signal_reply",
    "j": "difference_down down line_down",
    "k": "difference_up line_up up",
    "l": "alike_later blocks_lock later needs_tomorrow node_later",
    "m": "merge read_signal",
    "p": "alike_promote facts_probe node_promote promote",
    "r": "budget_raise evolution_reject needs_raise relays_release roles",
    "s": "difference_save needs_snoozed similar",
    "shift+tab": "previous_pane task_half",
    "t": "evolution_rejected new_task",
    "tab": "next_pane task_half",
    "up": "difference_up up",
    "w": "budget_spent why",
    "x": "facts_retire node_pin pin protected_unpin",
    "y": "answer_allow copy task_copy",
    "z": "answer_hour zoom",
}


def classes(kind: type[Dialog[Any]]) -> list[type[Dialog[Any]]]:
    return [kind, *(deeper for below in kind.__subclasses__() for deeper in classes(below))]


@pytest.fixture(scope="module")
def dialogs() -> list[type[Dialog[Any]]]:
    for module in pkgutil.walk_packages(screens.__path__, f"{screens.__name__}."):
        importlib.import_module(module.name)
    return [kind for kind in classes(Dialog) if kind.__module__.startswith("lumen_tui.")]


def test_every_command_of_a_screen_has_a_method_that_carries_it_out(dialogs: list[type[Dialog[Any]]]) -> None:
    named = {scope for kind in dialogs if (scope := vars(kind).get("SCOPE"))}
    assert named == set(SCREENS)
    missing = [
        f"{kind.__name__}: {command.call}"
        for kind in dialogs
        if not kind.__subclasses__()
        for command in commands_of(kind)
        if not hasattr(kind, f"action_{command.call.partition('(')[0]}")
    ]
    assert missing == []


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
