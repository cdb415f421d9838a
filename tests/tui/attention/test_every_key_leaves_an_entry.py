"""Every key of the room that writes leaves an entry in the journal of actions, of the verb that it is for.

The room writes through verbs alone; that each verb leaves an entry is for tests/actions/test_undo_property.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lumen_tui import tui
from lumen_tui.actions.registry import HANDLERS, request_types
from lumen_tui.tui.room_commands import COMMANDS

NOW = 1_800_000_000.0
WORKERS, SIGNALS, DISCOVERIES, DECAY, ROOM = "3456 "  # the keys of the panes
ASKED = "..."  # until the screen that asks is there
# command -> the pane, the keys, and the verb of the entry that then is the newest
KEYS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "read_signal": (SIGNALS, ("a",), "signal.read"),
    "answer_signal": (SIGNALS, ("r", *"thanks", "f2"), "signal.send"),
    "read_all": (SIGNALS, ("A",), "signal.read_all"),
    "send_signal": (SIGNALS, ("i", *"hello", "f2"), "signal.send"),
    "less_urgent": (DISCOVERIES, ("less_than_sign",), "triage.edit"),
    "more_urgent": (DISCOVERIES, ("greater_than_sign",), "triage.edit"),
    "retype": (DISCOVERIES, ("T", "2"), "triage.edit"),
    "later": (DISCOVERIES, ("l", "1"), "triage.keep"),
    "archive": (DISCOVERIES, ("a", "3"), "triage.archive"),
    "promote": (DISCOVERIES, ("p", *"Core", "enter"), "triage.promote"),
    "merge": (DISCOVERIES, ("g", "space", "space", "m", ASKED, "y"), "triage.merge"),
    "similar": (DISCOVERIES, ("s", ASKED, "l", "enter"), "triage.keep"),
    "pin": (DECAY, ("K",), "decay.pin"),
    "touch": (DECAY, ("j", "T"), "decay.touch"),
    "archive_node": (DECAY, ("a", "r", *"old", "enter"), "node.archive"),
    "apply_rule": (DECAY, ("right_square_bracket", "equals_sign", ASKED, "y"), "setting.change"),
    "run_decay": (DECAY, ("0", "D", ASKED, "y"), "decay.apply"),
    "new_task": (WORKERS, ("t", *"count", "f2"), "task.new"),
    "retry_task": (WORKERS, ("G", "R"), "task.retry"),
    "dismiss": (WORKERS, ("G", "k", "d"), "attention.dismiss"),
    "tell_task": (WORKERS, ("g", "M", ASKED, *"hurry", "f2"), "task.tell"),
    "cancel_task": (WORKERS, ("g", "c"), "task.cancel"),
    "claim": (WORKERS, ("g", "ampersand"), "operator.claim"),
    "beat": (ROOM, ("B",), "engine.beat"),
    "pause": (ROOM, ("P", ASKED, "enter"), "engine.pause"),
    "undo": (ROOM, ("u",), "undo"),
    "redo": (ROOM, ("U",), "redo"),
    "kill": (ROOM, ("ctrl+k", ASKED, *"lumen", "f2"), "kill"),
}
# what writes nothing itself: a process is started, of which the log tells; an editor is opened, whose text is a verb
WITHOUT = {"engine", "edit", "repeat", "own_commands"}


def test_every_command_that_writes_is_in_the_table():
    assert {command.action for command in COMMANDS if command.writes} == KEYS.keys() | WITHOUT
    assert {verb for _, _, verb in KEYS.values()} <= HANDLERS.keys()


def test_the_room_and_its_screens_write_by_requests_of_the_registry() -> None:
    kinds = {kind.__name__ for kind in request_types().values()}
    text = "".join(path.read_text() for path in Path(tui.__path__[0]).rglob("*.py"))
    assert len({name for name in re.findall(r"\b([A-Z]\w+)\(", text) if name in kinds}) > 30


@pytest.fixture
def furnished(driven: Any) -> Any:
    """Something for every key."""
    driven.clock.wall = NOW - 400 * 86_400
    for word in ("long ago", "longer ago"):
        driven.do("node.create", content=f"a note: {word}", type="note")
    driven.clock.wall = NOW
    for number in range(3):
        driven.do("signal.send", message=f"note {number}")
    for word in ("lamps are dim", "doors stay open", "the roof leaks", "a stair creaks", "the tap drips"):
        driven.do("node.create", content=word, type="discovery")
        driven.do("node.create", content=f"a note: {word}", type="note")
    for objective in ("ship it", "count it"):
        driven.ended(driven.task(objective))
    driven.task("wait for it")
    return driven


async def test_each_key_that_writes_leaves_its_entry(furnished: Any, open_room: Any) -> None:
    async with open_room(furnished) as room:
        for action, (where, keys, verb) in KEYS.items():
            before = _newest(furnished)
            await room.press(*where.strip())
            for key in keys:
                if key == ASKED:
                    await room.until(lambda: room.app.screen is not room.app.room)
                else:
                    await room.press(key)
            await room.until(lambda: _newest(furnished) != before)  # noqa: B023
            assert verb in _newest_verbs(furnished), (action, room.text)
            furnished.clock.wall += 1
            await room.until(lambda: room.app.screen is room.app.room)
            await room.until(lambda: not room.app.room.pane("discoveries").leaving.keys)


def _newest_verbs(desk: Any) -> set[str]:
    """Those of the newest entry, of which `u` takes back all."""
    deeds = desk.port.audit_entries(5)
    return {deed.verb for deed in deeds if (deed.group or deed.id) == (deeds[0].group or deeds[0].id)}


def _newest(desk: Any) -> str:
    return next((deed.id for deed in desk.port.audit_entries(1)), "")


async def test_what_is_put_off_from_the_list_of_needs_stands_in_the_journal(furnished: Any, open_room: Any) -> None:
    async with open_room(furnished) as room:
        await room.press("exclamation_mark", "l", "1")
        await room.until(lambda: furnished.port.audit_entries(1)[0].verb == "attention.snooze")
        await room.press("escape", "J")
        await room.sees("Journal", "snoozed until")
        await room.press("u")
        await room.sees("undone: ")
        assert not furnished.port.snapshot().snoozed
