"""`?`: every key and command by where it works; typing searches, enter runs."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.tui.commands import RoomCommand
from lumen_tui.tui.kit.finder import Finder, WhyNot, likeness
from lumen_tui.tui.kit.sheet import Sheet


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
        return sorted(fits, key=lambda one: (bool(self._why_not(one)), self._behind(one), scopes.index(one.scope)))

    def heads(self, rows: Sequence[RoomCommand]) -> frozenset[str]:
        first = {command.scope: self._view.key(command) for command in reversed(rows)}
        return frozenset(first.values())
