"""Two ways to find a command: `?` lists every key by where it works, `:` finds a command by a part of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumen_tui.tui.commands import RoomCommand
from lumen_tui.tui.kit.finder import Finder, WhyNot, likeness
from lumen_tui.tui.patches.one_frame import Sheet


class Palette(Finder):
    """Answers the action of the command to run. What cannot be run now is shown with its reason."""

    ASK = "a command, or a part of one"

    def __init__(
        self, commands: Sequence[RoomCommand], why_not: WhyNot, keys: Mapping[str, str] | None = None, front: str = ""
    ) -> None:
        super().__init__("Command", commands, keys or {}, why_not, front)

    def order(self, query: str) -> list[RoomCommand]:
        """Before anything was typed, what can be run comes first, and that of the place in front before all."""
        matches = super().order(query)
        if query.strip():
            return matches
        return sorted(matches, key=lambda command: (bool(self._why_not(command)), self._behind(command)))


class HelpScreen(Sheet, Finder):
    """Answers the action of the command to run. `keys` are the operator's own keys by action."""

    ASK = "type to search: a word, a key"

    def __init__(
        self, commands: Sequence[RoomCommand], keys: dict[str, str], why_not: WhyNot | None = None, front: str = ""
    ) -> None:
        super().__init__("Help", commands, keys, why_not or (lambda command: ""), front)

    def order(self, query: str) -> list[RoomCommand]:
        fits = [command for command in self._commands if not query.strip() or likeness(query, command, self._keys) > 0]
        scopes = list(dict.fromkeys(command.scope for command in self._commands))
        return sorted(
            fits, key=lambda command: (bool(self._why_not(command)), self._behind(command), scopes.index(command.scope))
        )

    def heads(self, rows: Sequence[RoomCommand]) -> frozenset[str]:
        first = {command.scope: self._view.key(command) for command in reversed(rows)}
        return frozenset(first.values())
