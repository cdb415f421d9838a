"""More room for today, and the kill switch with its typed name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from textual.content import Content
from textual.widget import Widget

from lumen_tui.model import budget
from lumen_tui.tui.kit.confirm import ConfirmKey, ConfirmName
from lumen_tui.tui.kit.fields import Line, Offers
from lumen_tui.tui.kit.screen import FormScreen, Invalid, row

_NUMBERS = {"tokens": int, "usd": float, "minutes": float}


class RaiseForm(FormScreen[dict[str, Any]]):
    """Answers with the arguments of `budget.raise`, without those that were left alone.

    `full` says which cap is reached: where that is a role's, its name stands in the form.
    """

    SEND = "raise"

    def __init__(self, roles: Sequence[str], full: str = "") -> None:
        super().__init__("More room for today")
        self._roles = roles
        self._role = next((role for role in roles if full.startswith(f"today's budget of role {role} ")), "")

    def rows(self) -> Iterable[Widget]:
        yield row("dollars", Line(placeholder="such as 5", id="usd"))
        yield row("tokens", Line(placeholder="such as 100000", id="tokens"))
        yield row("minutes", Line(placeholder="such as 60", id="minutes"))
        if self._roles:
            yield row("role", Offers(self._roles, value=self._role, id="role", placeholder="none: the whole day"))
        yield row("reason", Line(placeholder="why", id="reason"))

    def preview(self) -> Content:
        return Content("For today only: tomorrow the settings hold again. u takes it back.")

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, kind in _NUMBERS.items():
            text = self.query_one(f"#{name}", Line).text.lstrip("$").replace(",", "")
            try:
                found[name] = kind(text) if text else 0
            except ValueError:
                raise Invalid(f"{text!r} is not a number: write how much more, such as 5.", name) from None
            if why := budget.out_of_range(**{name: found[name]}):
                raise Invalid(why, name)
        if not any(found.values()):
            raise Invalid("Name how much more there shall be today.", "usd")
        found |= {"role": self.query_one("#role", Line).text} if self._roles else {}
        found["reason"] = self.query_one("#reason", Line).text
        return {name: value for name, value in found.items() if value}


class KillForm(ConfirmName):
    """As `ConfirmName`, with a reason, which is kept in `reason`."""

    SEND = "kill"

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        super().__init__("Kill everything", name, lines)
        self.reason = ""

    def rows(self) -> Iterable[Widget]:
        yield from super().rows()
        yield row("reason", Line(placeholder="why", id="reason"))

    def action_kill(self) -> None:
        """It is being asked already."""

    def read(self) -> bool:
        self.reason = self.query_one("#reason", Line).text
        return super().read()


class UnkillForm(ConfirmKey):
    """Asks with a key that no way here uses: neither ctrl+k nor enter lifts the switch."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("Let the agent go on", lines, "y", "let it go on")

    def action_kill(self) -> None:
        """It is being asked already."""
