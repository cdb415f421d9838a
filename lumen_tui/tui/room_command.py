"""What one command of the room or of a screen is; declared in `tui/room_commands.py` and `tui/screen_commands.py`."""

from __future__ import annotations

import msgspec

from lumen_tui.tui.key_names import DIGITS, plain_key

EVERYWHERE = "everywhere"
LOOP, WAKE = "loop", "wake"
WORKERS, SIGNALS, DISCOVERIES, DECAY = "workers", "signals", "discoveries", "decay"
ROWS = "rows"  # any pane or screen with a list


class RoomCommand(msgspec.Struct, frozen=True):
    """One thing the operator can do.

    In the room a handler's method `do_<action>` does it, and `why_<action>` may refuse it; on a screen its method
    `action_<call>` does it, and its `why_not` may refuse it.
    """

    action: str  # its name in [keys]
    keys: tuple[str, ...]  # Textual key names, the first one is shown
    label: str  # one word for the footer
    help: str  # one sentence
    scope: str = EVERYWHERE
    writes: bool = False  # refused in a read-only room, with the reason
    footer: bool = False
    call: str = ""  # on a screen: what Textual runs there, such as `do('edit')`; empty where a widget reads the key
    priority: bool = False  # before the widget that has the focus

    @property
    def shown_key(self) -> str:
        """The key as a person reads it."""
        return "1-9" if self.keys == DIGITS else plain_key(self.keys[0]) if self.keys else ""


def declared(
    action: str, keys: str, label: str, help: str, scope: str = EVERYWHERE, *, writes: bool = False, foot: bool = False
) -> RoomCommand:
    """Return a command of the room; `keys` are Textual key names with blanks between them."""
    return RoomCommand(action, tuple(keys.split()), label, help, scope, writes, foot)


def on_screen(scope: str, *commands: RoomCommand) -> tuple[RoomCommand, ...]:
    """Return the commands as those of a screen."""
    return tuple(msgspec.structs.replace(command, scope=scope) for command in commands)


def first(command: RoomCommand) -> RoomCommand:
    """Return the command as one that comes before the widget that has the focus."""
    return msgspec.structs.replace(command, priority=True)
