"""The table of commands agrees with itself and with what carries it out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from lumen_rows import each_row

from lumen_tui.tui.commands import in_scope, shown_key
from lumen_tui.tui.moved_keys import keymap, slip_in
from lumen_tui.tui.room_command import EVERYWHERE, ROWS
from lumen_tui.tui.room_commands import COMMANDS

PANES = ("loop", "wake", "workers", "signals", "discoveries", "decay")
FORBIDDEN = {"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+q", "ctrl+j", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+enter"}


@each_row("pane", PANES)
def test_no_key_means_two_things_in_one_pane(pane: str) -> None:
    commands = [*in_scope(pane), *in_scope(EVERYWHERE), *in_scope(ROWS)]
    keys = Counter(key for command in commands for key in command.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_no_key_that_terminals_keep_for_themselves() -> None:
    assert not FORBIDDEN & {key for command in COMMANDS for key in command.keys}


def test_every_command_says_what_it_does() -> None:
    assert all(command.label and command.help.endswith(".") for command in COMMANDS)
    assert len({command.action for command in COMMANDS}) == len(COMMANDS)


async def test_every_command_has_something_that_carries_it_out(open_room: Any) -> None:
    async with open_room() as room:
        handlers = room.app.room.handlers
        assert {command.action for command in COMMANDS} == set(handlers._do)


def test_the_operators_keys_replace_the_built_in_ones() -> None:
    keys = {"promote": "f5", "help": "?", "filter": "ctrl+f", "no_such": "x"}
    assert keymap(keys) == {"promote": "f5", "help": "question_mark", "filter": "ctrl+f"}
    assert slip_in({"qqqq": "x"}) == "[keys] has no command qqqq"
    assert slip_in({"zom": "z"}) == "[keys] has no command zom; near it: zoom"
    assert slip_in({"zoom": "f4"}) == ""
    promote = next(command for command in COMMANDS if command.action == "promote")
    assert shown_key(promote, keys) == "f5"
    assert shown_key(promote, {}) == "p"


@pytest.mark.parametrize(
    ("keys", "slip"),
    [
        ({"help": "zz+q+"}, "[keys] help: 'zz+q+' is no key of a terminal"),
        ({"help": "ctrl+y, shft+k"}, "[keys] help: 'shft+k' is no key of a terminal"),
        ({"retry_task": "j"}, "[keys] retry_task: j is down already; move that one, too"),
        ({"zoom": "?"}, "[keys] zoom: ? is help already; move that one, too"),
        ({"retry_task": "p"}, ""),  # that is promote, in another pane
        ({"retry_task": "j", "down": "down"}, ""),
        ({"zoom": "ctrl+alt+z, £, shift+f5, [, +, pageup", "page_up": "alt+u", "half_life_down": "alt+d",
          "grow": "alt+g"}, ""),
    ],
)  # fmt: skip
def test_a_key_that_is_none_or_has_a_meaning_already_is_told(keys: dict[str, str], slip: str) -> None:
    assert slip_in(keys).startswith(slip) if slip else slip_in(keys) == ""


def test_the_rooms_own_keys_have_no_slip() -> None:
    assert slip_in({command.action: ",".join(command.keys) for command in COMMANDS}) == ""
