"""The keys that the operator moved, as `[keys]` of the settings names them, and those that moved with this version."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

from textual.keys import KEY_TO_UNICODE_NAME, Keys

from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.key_names import RENAMED, key_names, operators_key, plain_key
from lumen_tui.tui.room_command import EVERYWHERE, ROWS, RoomCommand
from lumen_tui.tui.room_commands import COMMANDS

_HELD = ("ctrl", "shift", "alt", "super", "hyper", "meta")
_KEY_NAMES = {key.value for key in Keys}

# By scope: keys of earlier versions that do nothing there any more, with the commands that they carried out.
MOVED: Mapping[str, Mapping[str, str]] = {
    "everywhere": {"y": "copy", "r": "roles", "b": "blocks"},
    "workers": {"m": "tell_task"},
    "signals": {"m": "read_signal", "M": "read_all"},
    "decay": {"A": "archived_nodes"},
    "answers": {"z": "answer_snooze", "s": "needs_snoozed"},
    "approval": {"z": "answer_snooze"},
    "pages": {"y": "copy"},
    "packets": {"c": "loop_capsule"},
    "packet": {"c": "loop_capsule"},
    "blocks": {"h": "blocks_history", "l": "blocks_lock", "a": "blocks_new"},
    "budget": {"r": "budget_raise"},
    "evolution": {"r": "evolution_reject", "h": "evolution_versions", "t": "evolution_rejected"},
    "facts": {"c": "facts_confirm", "p": "facts_probe", "A": "facts_all"},
    "node": {"x": "node_pin"},
    "protected": {"x": "protected_unpin"},
    "relays": {"r": "relays_release"},
    "roles": {"f": "roles_fire", "a": "roles_adjust"},
    "task": {"m": "task_tell", "s": "task_stop", "l": "task_limits", "p": "task_replay", "a": "task_answer"},
}


def keymap(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's [keys] as Textual takes them; names that are no command are left out (see `slip_in`)."""
    named = {RENAMED.get(name, name): name for name in keys}
    return {action: operators_key(action, keys) for action in named if action in BY_ACTION}


def slip_in(keys: Mapping[str, str]) -> str:
    """Return what is wrong with [keys], with what would be right; empty where nothing is."""
    return _unknown(keys) or _unsent(keys) or _taken(keys)


def _unknown(keys: Iterable[str]) -> str:
    wrong = [name for name in keys if RENAMED.get(name, name) not in BY_ACTION]
    if not wrong:
        return ""
    import difflib

    near = dict.fromkeys(name for unknown in wrong for name in difflib.get_close_matches(unknown, BY_ACTION, 2, 0.5))
    return f"[keys] has no command {', '.join(wrong)}" + (f"; near it: {', '.join(near)}" if near else "")


def _unsent(keys: Mapping[str, str]) -> str:
    for action in keys:
        wrong = next((key for key in operators_key(action, keys).split(",") if not _is_key(key)), "")
        if wrong:
            return f"[keys] {action}: {one_line(wrong, 20)!r} is no key of a terminal"
    return ""


def _is_key(name: str) -> bool:
    """Return whether a terminal can send a key that Textual calls so."""
    *held, key = name.split("+") if name != "+" else [name]
    known = len(key) == 1 or key in _KEY_NAMES or plain_key(key) != key or _character_named(key)
    return known and all(each in _HELD for each in held)


def _character_named(name: str) -> bool:
    try:
        return bool(unicodedata.lookup(KEY_TO_UNICODE_NAME.get(name, name.replace("_", " "))))
    except KeyError:
        return False


def _taken(keys: Mapping[str, str]) -> str:
    """Return which command of the room has a key that another one of the same place has as well."""
    for own in (command for command in COMMANDS if operators_key(command.action, keys)):
        for other in COMMANDS:
            meet = own.scope == other.scope or {own.scope, other.scope} & {EVERYWHERE, ROWS}
            both = {*_keys_of(own, keys)} & {*_keys_of(other, keys)} if meet and own is not other else set()
            if both:
                return f"[keys] {own.action}: {plain_key(min(both))} is {other.action} already; move that one, too"
    return ""


def _keys_of(command: RoomCommand, keys: Mapping[str, str]) -> Iterable[str]:
    own = operators_key(command.action, keys)
    return own.split(",") if own else command.keys


def moved_to(key: str, scopes: Iterable[str], keys: Mapping[str, str]) -> str:
    """Return where what a key did in one of the scopes has gone, in words; empty where it did not move.

    `keys` are the operator's own, by action: one that they gave to a command has a meaning.
    """
    action = next((MOVED[scope][key] for scope in scopes if key in MOVED.get(scope, ())), "")
    if not action or any(key in key_names(own).split(",") for own in keys.values()):
        return ""
    command = BY_ACTION[action]
    return f"{command.label} is {shown_key(command, keys)} now"
