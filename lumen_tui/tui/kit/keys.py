"""Textual bindings made from the table of commands, and the last line of a dialog, which names those that work.

The ids of bindings are the actions, so that [keys] can move them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from lumen_tui.tui.commands import BY_ACTION, in_scope, shown_key
from lumen_tui.tui.host import host_of
from lumen_tui.tui.key_names import operators_key, together
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screen_commands import SCREENS


def bindings(scope: str, action: str) -> list[BindingType]:
    """Return one binding for each command of a scope, calling `action('<command>')`."""
    return [
        Binding(",".join(command.keys), f"{action}('{command.action}')", command.label, show=False, id=command.action)
        for command in in_scope(scope)
    ]


def screen_bindings(scope: str) -> list[BindingType]:
    """Return a binding for each command of a screen or of a widget in it; none where a widget reads the key itself."""
    return [
        Binding(
            ",".join(command.keys), command.call, command.label, show=False, id=command.action,
            priority=command.priority,
        )
        for command in SCREENS[scope]
        if command.call
    ]  # fmt: skip


class Scoped:
    """A screen or widget whose keys are those of the commands in its `SCOPE`."""

    def __init_subclass__(cls, **options: Any) -> None:
        if scope := vars(cls).get("SCOPE"):
            cls.BINDINGS = screen_bindings(scope)  # type: ignore[attr-defined]
        super().__init_subclass__(**options)


Keys = Sequence[tuple[str, str]]
_GAP = "   "
TINY = "-tiny"  # the class of a screen in a window of few lines
_FEW = 2  # lines of keys in such a window: the last key, which leaves, and as many of the first ones as fit


class KeysLine(Static):
    """`enter open   esc back`: each key in the accent, each word beside it."""

    def __init__(self, keys: Keys) -> None:
        super().__init__(classes="keys")
        self._keys = keys

    def show(self, keys: Keys) -> None:
        """Show other keys: these work now."""
        if tuple(keys) != tuple(self._keys):
            self._keys = keys
            self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return len(_GAP.join(f"{key} {word}" for key, word in self._keys))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(map(_line, self._lines(self.content_size.width)))

    def _lines(self, width: int) -> list[list[tuple[str, str]]]:
        lines, shown = _broken(self._keys, width), len(self._keys)
        while self.screen.has_class(TINY) and _height(lines, width) > _FEW and shown > 1:
            shown -= 1
            lines = _broken((*self._keys[: shown - 1], self._keys[-1]), width)
        return lines


def _line(keys: Keys) -> Content:
    parts = [Content.assemble((key, "bold $room-accent"), " ", (word, "$room-muted")) for key, word in keys]
    return Content(_GAP).join(parts)


def _height(lines: list[list[tuple[str, str]]], width: int) -> int:
    """Return lines on the screen: a key that is longer than the window takes more than one."""
    return sum(-(-len(_GAP.join(f"{key} {word}" for key, word in line)) // max(1, width)) for line in lines)


def _broken(keys: Keys, width: int) -> list[list[tuple[str, str]]]:
    """Return the keys by line."""
    lines: list[list[tuple[str, str]]] = [[]]
    used = 0
    for key, word in keys:
        size = len(f"{key} {word}")
        if lines[-1] and used + len(_GAP) + size > width:
            lines.append([])
            used = 0
        used += size + (len(_GAP) if lines[-1] else 0)
        lines[-1].append((key, word))
    return lines


def commands_of(kind: type) -> list[RoomCommand]:
    """Return the commands of a class of screens or widgets: of its own `SCOPE`, then of its base classes."""
    scopes = dict.fromkeys(vars(base)["SCOPE"] for base in kind.__mro__ if "SCOPE" in vars(base))
    by_action: dict[str, RoomCommand] = {}
    for command in (command for scope in scopes for command in SCREENS[scope]):
        by_action.setdefault(command.action, command)
    return list(by_action.values())


def command_of(kind: type, action: str) -> RoomCommand:
    """Return a command of a class of screens, or of the room where that has none of the name."""
    return next((command for command in commands_of(kind) if command.action == action), BY_ACTION[action])


def commands_in(screen: Screen[Any]) -> list[RoomCommand]:
    """Return all that can be done on an open screen: its own commands, then those of the widgets in it."""
    by_action: dict[str, RoomCommand] = {}
    for kind in (type(screen), *(type(widget) for widget in screen.focus_chain)):
        for command in commands_of(kind):
            by_action.setdefault(command.action, command)
    return list(by_action.values())


def owner_of(screen: Screen[Any], command: RoomCommand) -> DOMNode | None:
    """Return what carries a command out: the screen or the widget in it that has the focus; None for another widget."""
    if command in commands_of(type(screen)):
        return screen
    return screen.focused if screen.focused is not None and command in commands_of(type(screen.focused)) else None


def why_not_now(screen: Screen[Any], command: RoomCommand) -> str:
    """Return why the help of a screen cannot carry a command out; the empty string where it can."""
    if not command.call:
        return "press its key where one types or chooses"
    return "" if owner_of(screen, command) is not None else "another field has the focus"


def operators_keys(node: DOMNode) -> Mapping[str, str]:
    """Return the keys that the operator moved, by action."""
    host = host_of(node.app) if node.is_running else None
    return host.room.snapshot.config.keys if host is not None else {}


def key_of(node: DOMNode, action: str) -> str:
    """Return the key that carries a command out, as the operator has it."""
    return shown_key(BY_ACTION[action], operators_keys(node))


def keys_of(node: DOMNode, action: str) -> Sequence[str]:
    """Return all keys of a command as Textual names them, for a widget that reads them itself."""
    own = operators_key(action, operators_keys(node))
    return own.split(",") if own else BY_ACTION[action].keys


def pair_of(node: DOMNode, first: str, second: str, label: str) -> tuple[str, str]:
    """Return the keys of two commands that belong together, such as ↑↓, with one word for both."""
    return together(key_of(node, first), key_of(node, second)), label
