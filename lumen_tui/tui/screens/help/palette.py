"""`:`: any command by a part of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumen_tui.tui.commands import RoomCommand
from lumen_tui.tui.kit.finder import Finder, WhyNot


class Palette(Finder):
    """Answers the action of the command to run. What cannot be run now is shown with its reason."""

    ASK = "a command, or a part of one"

    def __init__(
        self, commands: Sequence[RoomCommand], why_not: WhyNot, keys: Mapping[str, str] | None = None, front: str = ""
    ) -> None:
        super().__init__("Command", commands, keys or {}, why_not, front)

    def order(self, query: str) -> list[RoomCommand]:
        """Before anything was typed, what can be run comes first, and that of the place in front before all."""
        found = super().order(query)
        return found if query.strip() else sorted(found, key=lambda one: (bool(self._why_not(one)), self._behind(one)))
