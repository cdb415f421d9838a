"""The rule behind "allow always": shown before it is saved, and its pattern edited where it should say less or more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.approvals import Approval, preview_rule
from lumen_tui.model.text import safe
from lumen_tui.tui.kit.confirm import ConfirmKey
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row

_COMMAND = "the whole command, or its beginning and ` *`"
_HELP = {"shell": _COMMAND, "shell_start": _COMMAND}


class RuleConfirm(ConfirmKey):
    """Shows the rule; `e` leaves it to `edit` instead."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", show=False)]

    def __init__(
        self, lines: Iterable[str], key: str, rule: str, edit: Callable[[], None], call: tuple[str, str]
    ) -> None:
        super().__init__("Allow always?", lines, key, "save the rule and allow", [("the rule", rule), call])
        self._edit = edit

    def keys(self) -> Keys:
        first, *rest = super().keys()
        return (first, ("e", "edit its pattern"), *rest)

    def action_edit(self) -> None:
        self.dismiss(False)
        self._edit()


class PatternForm(FormScreen[str]):
    """Answers with a pattern that is narrow enough and covers the call."""

    SEND = "look at the rule"

    def __init__(self, request: Approval, pattern: str) -> None:
        super().__init__("The rule's pattern")
        self._request, self._pattern = request, pattern

    def rows(self) -> Iterable[Widget]:
        help = _HELP.get(self._request.tool, "* stands for anything")
        yield row("covers", Line(value=self._pattern, id="pattern"), note=help)

    def preview(self) -> Content:
        return Content(safe(preview_rule(self._request, self.query_one("#pattern", Line).text)))

    def read(self) -> str:
        from lumen_tui.actions.approvals import rule_for  # only once a pattern was typed

        text = self.query_one("#pattern", Line).text.strip()
        try:
            return rule_for(self._request, text, by="", now=0.0).pattern
        except ActionError as error:
            raise Invalid(str(error), "pattern") from error
