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
from lumen_robot import Robot
from textual.app import App
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from lumen_tui.model.config import Config
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui import screens
from lumen_tui.tui.commands import BY_ACTION, SCREEN_COMMANDS
from lumen_tui.tui.kit.keys import commands_of
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.moved_keys import MOVED, slip_in
from lumen_tui.tui.room_command import EVERYWHERE, ROWS
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screen_commands import SCREENS

_DECLARED = ("room_commands.py", "screen_commands.py", "key_names.py")  # the commands, and what keys are called

PANES = ("loop", "wake-state", "workers", "signals", "discoveries", "decay")
# What each key means, wherever it works: a sentence, and the labels of the commands that have it.
MEANINGS = {
    **{
        key: ("a pane; in a question the answer of that number", {pane, "offered", "choose"})
        for key, pane in zip("123456", PANES, strict=True)
    },
    **dict.fromkeys("789", ("in a question the answer of that number", {"offered", "choose"})),
    "A": ("how far: the call's rule, all signals", {"all read", "allow always"}),
    "B": ("run now", {"beat", "run now", "probe now"}),
    "H": ("history", {"packets", "history", "versions"}),
    "K": ("keep as it is", {"pin", "unpin", "lock"}),
    "M": ("message a worker", {"message"}),
    "P": ("pause", {"pause", "pause/resume", "block", "cordon"}),
    "R": ("again", {"retry", "rehire"}),
    "Y": ("copy", {"copy", "copy result"}),
    "Z": ("put what is recorded to the rules again", {"replay", "trials"}),
    "a": ("accept or archive", {"accept", "archive", "allow", "confirm", "save", "read", "done"}),
    "b": ("bring back", {"unsnooze", "restore", "restore version", "bring back"}),
    "c": ("end what runs, or have it end", {"drain", "cancel", "stop the engine", "stop the trial"}),
    "f": ("divide real work between two versions", {"A/B test"}),
    "d": ("deny or dismiss", {"deny", "dismiss", "drop", "drop the text", "reject", "retire", "fire"}),
    "T": ("say of what sort, or that it is in use", {"touch", "type"}),
    "e": (
        "edit, in the editor where there is more than a line",
        {"edit", "edit it again", "editor", "edit pattern", "open in $EDITOR", "hand-over note"},
    ),
    "equals_sign": ("set a limit", {"write", "raise budget", "raise for today", "adjust", "limits"}),
    "f2": ("save what is typed or chosen", {"send", "say it", "save a note", "save as text"}),
    "tilde": ("the room at an earlier moment", {"black box", "another moment"}),
    "ctrl+o": ("save it from any field", {"send", "say it"}),
    "ctrl+c": ("stop the answer, or say how to leave", {"stop", "how to leave"}),
    "f3": ("more about it", {"more", "what caused it"}),
    "f4": ("the approval request", {"answer request"}),
    "h": ("hire", {"roles", "hire"}),
    "i": ("send a signal", {"signal"}),
    "left_square_bracket": ("shorter", {"shorter"}),
    "right_square_bracket": ("longer", {"half-life", "longer"}),
    "l": ("snooze", {"snooze"}),
    "n": ("next that needs you; in a change list the next hunk", {"next", "next hunk"}),
    "N": ("previous that needs you", {"previous"}),
    "p": ("promote", {"promote"}),
    "q": ("leave the room", {"quit", "keep it running"}),
    "r": ("reply, or write a reason", {"reply", "reason"}),
    "s": ("similar", {"similar"}),
    "t": ("make a new one", {"task", "new", "save", "add a probe", "to a worker"}),
    "u": ("undo", {"undo", "undo this one"}),
    "w": ("why", {"why", "tasks and why"}),
    "x": ("expand: show what is left out", {"archived", "snoozed", "rejected", "all", "capsule", "expand"}),
    "semicolon": ("what was done, as command lines", {"commands"}),
    "full_stop": ("repeat", {"repeat"}),
    "ampersand": ("claim, or release", {"claim"}),
    "y": ("allow", {"allow", "yes", "merge", "release"}),
}
# Moving is not an answer: the same way on every screen, whatever it goes through there.
MOVES = (
    "down",
    "up",
    "left",
    "right",
    "shift+left",
    "shift+right",
    "tab",
    "shift+tab",
    "space",
    "enter",
    "escape",
    "j",
    "k",
    "G",
    "end",
    "pagedown",
    "pageup",
)
# What was decided of keys whatever a screen calls them.
DECIDED = {"y": "allow", "Y": "copy", "d": "deny or dismiss", "a": "accept or archive", "l": "snooze", "p": "promote"}


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
    assert slip_in({command.action: ",".join(command.keys) for command in SCREEN_COMMANDS}) == ""


def test_each_key_means_one_thing_wherever_it_works() -> None:
    labels = defaultdict(set)
    for command in (*COMMANDS, *SCREEN_COMMANDS):
        for key in command.keys:
            labels[key].add(command.label)
    several = {key for key in labels if len(labels[key]) > 1 or key in MEANINGS} - set(MOVES)
    new = {key: labels[key] for key in several if not labels[key] <= MEANINGS.get(key, ("", set()))[1]}
    gone = {key: words - labels[key] for key, (_, words) in MEANINGS.items() if words - labels[key]}
    assert new == {}
    assert gone == {}, "take them off the list"
    assert len({meaning for meaning, _ in MEANINGS.values()}) == len(MEANINGS) - len("23456") - len("89")
    assert {key: MEANINGS[key][0] for key in DECIDED} == DECIDED


def test_the_key_between_two_panes_of_a_screen_is_called_the_same_on_each() -> None:
    labels = {command.label for command in SCREEN_COMMANDS if command.action == "task_half"}
    assert labels == {"other pane"}


def test_the_global_keys_work_on_every_sheet(owners: list[type[Any]]) -> None:
    wanted = {"question_mark", "colon", "exclamation_mark", "q", *"123456nu"}
    sheets = [kind for kind in owners if issubclass(kind, DetailScreen)]
    bound = {kind: {key for command in commands_of(kind) for key in command.keys} for kind in sheets}
    assert {kind.__name__: wanted - keys for kind, keys in bound.items() if wanted - keys} == {}


def test_a_key_that_moved_does_nothing_where_it_was(owners: list[type[Any]]) -> None:
    sheets = {scope: kind for kind in owners if (scope := vars(kind).get("SCOPE")) in MOVED}
    for scope, moved in MOVED.items():
        panes = [command for command in COMMANDS if command.scope in (scope, EVERYWHERE, ROWS)]
        bound = commands_of(sheets[scope]) if scope in sheets else panes
        assert not {key for command in bound for key in command.keys} & set(moved), scope
        assert set(moved.values()) <= set(BY_ACTION), scope


async def test_a_key_that_moved_names_the_new_one(open_room: Any, busy_snapshot: Snapshot) -> None:
    config = Config(keys={"blocks": "f5", "needs_tomorrow": "f6"})
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config)) as room:
        await room.press("y")
        assert "copy is Y now" in room.footer
        await room.press("b")
        assert "blocks is f5 now" in room.footer
        await room.press("!")
        await room.until(lambda: "f6 snooze" in room.text)
        await room.press("z")
        await room.until(lambda: [note.message for note in room.app._notifications] == ["snooze is f6 now"])


async def test_a_note_is_shown_in_a_corner_that_is_made_for_it(frozen_room: Any, busy_snapshot: Snapshot) -> None:
    app = frozen_room(msgspec.structs.replace(busy_snapshot, config=Config(keys={"needs_tomorrow": "f6"})))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        robot = Robot(app, pilot)
        await robot.press("!")
        await robot.until(lambda: "f6 snooze" in robot.text and not app.screen.query(ToastRack))
        await robot.press("z")
        await robot.until(lambda: "snooze is f6 now" in robot.text)
        await robot.press("escape")
        await robot.until(lambda: app.screen is app.room and "snooze is f6 now" in robot.text)


async def test_the_global_keys_leave_a_sheet_for_the_room(open_room: Any, busy_snapshot: Snapshot) -> None:
    async with open_room(busy_snapshot) as room:
        await room.press("exclamation_mark", "4")
        await room.until(lambda: room.app.screen is room.app.room)
        assert room.app.room.current.scope == "signals"
        await room.press("enter", "u")
        await room.until(lambda: room.port.asked and room.port.asked[-1][0] == "undo")
        await room.press("exclamation_mark")
        await room.until(lambda: "Needs you ·" in room.text)


async def test_a_key_of_a_screen_can_be_moved_and_its_footer_says_so(open_room: Any, busy_snapshot: Snapshot) -> None:
    config = Config(keys={"needs_snoozed": "f5", "answer_snooze": "f6", "undo": "f9"})
    async with open_room(msgspec.structs.replace(busy_snapshot, config=config)) as room:
        await room.press("!")
        await room.until(lambda: "f6 snooze" in room.text)
        assert "f9 undo" in room.text
        asked = len(room.port.asked)
        await room.press("l")
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
        await room.until(lambda: "Help" in room.text and "Show the less common fields" in room.text)
        assert "Go to the next field." in room.text
        assert "Leave the room." not in room.text
        await room.press(*"common", "enter")
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
        await room.until(lambda: "Answer yes." in room.text)
        assert "not now: f7 answers this question" in room.text
        await room.press("escape", "f7")
        await room.until(lambda: answers == [True])
