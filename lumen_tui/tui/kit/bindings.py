"""Textual bindings made from the table of commands. Their ids are the actions, so that [keys] can move them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from lumen_tui.tui.commands import SCREENS, in_scope


def bindings(scope: str, action: str) -> list[BindingType]:
    """One binding for each command of a scope, calling `action('<command>')`."""
    return [
        Binding(",".join(command.keys), f"{action}('{command.action}')", command.label, show=False, id=command.action)
        for command in in_scope(scope)
    ]


def screen_bindings(scope: str) -> list[BindingType]:
    """One binding for each command of a screen."""
    return [
        Binding(
            ",".join(command.keys), command.call, command.label, show=False, id=command.action,
            priority=command.priority,
        )
        for command in SCREENS[scope]
    ]  # fmt: skip
