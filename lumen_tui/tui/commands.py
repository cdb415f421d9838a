"""Every command by its name, and the key that an operator gave it."""

from __future__ import annotations

from collections.abc import Mapping

from lumen_tui.tui.key_names import operators_key, plain_key
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.room_commands import COMMANDS
from lumen_tui.tui.screen_commands import SCREENS

SCREEN_COMMANDS = tuple(command for commands in SCREENS.values() for command in commands)

BY_ACTION: Mapping[str, RoomCommand] = {command.action: command for command in (*SCREEN_COMMANDS, *COMMANDS)}


def in_scope(scope: str) -> tuple[RoomCommand, ...]:
    """Return the commands of one scope, in footer order."""
    return tuple(command for command in COMMANDS if command.scope == scope)


def shown_key(command: RoomCommand, keys: Mapping[str, str]) -> str:
    """Return the key that works for a command now, as a person reads it."""
    own = operators_key(command.action, keys)
    return plain_key(own.split(",")[0]) if own else command.shown_key
