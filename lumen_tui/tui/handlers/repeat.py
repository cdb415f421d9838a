"""`.`: the last command that acted on rows, once more on what is selected, marked or open in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lumen_tui.model.requests.base import Request
from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.kit.repeats import CLAIMS, REPEATABLE, about, carry_out
from lumen_tui.tui.room_command import EVERYWHERE, SIGNALS, RoomCommand

if TYPE_CHECKING:
    from lumen_tui.tui.kit.screen import DetailScreen

_ARGUMENTS = {
    "lane": "lane {}", "priority": "{}", "type": "{}", "title": "“{}”", "reason": "“{}”", "text": "“{}”",
    "days": "{:g} days",
}  # fmt: skip
_LABELS = {"triage.edit": "edit", "operator.release": "release"}  # where one command has several words


class RepeatHandler(Handler):
    """Repeats the last command with its arguments, or says why it does not fit here."""

    pane_handler: Callable[[str], Handler | None]  # of a scope; the table of handlers sets it

    def why_repeat(self) -> str:
        request = self._last()
        if request is None:
            return "nothing to repeat yet"
        if getattr(request, "title", "") and request.verb == "triage.edit":
            return "a title is that of one discovery alone"
        sheet, command = self.sheet, self._command(request)
        if sheet is not None:
            return self._why_there(sheet, request)
        if command.scope not in (EVERYWHERE, self.room.current.scope):
            return _elsewhere(request, f"in {command.scope}" if self.pane_handler(command.scope) else "on a screen")
        return self.room.why_not(command)

    def _why_there(self, sheet: DetailScreen[Any], request: Request) -> str:
        if request.verb not in (*sheet.REPEATS, *CLAIMS):
            return _elsewhere(request, "elsewhere")
        if not sheet.subjects():
            return "nothing is selected here"
        own = self._own(sheet, request)
        return sheet.why_not(own) if own is not None else ""

    def do_repeat(self) -> None:
        request, sheet = self._last(), self.sheet
        if request is None:
            return
        asks = not REPEATABLE[request.verb].field
        if sheet is not None and asks and (own := self._own(sheet, request)):
            sheet.call_later(sheet.app.run_action, own.call, sheet)
        elif asks:
            self.room.action_do(self._command(request).action)
        elif sheet is not None:
            sheet.say(f"Repeating {repeated_words(request)}.")
            self._again_there(sheet, request)
        else:
            self.room.say(f"Repeating {repeated_words(request)}.")
            (self.pane_handler(self._command(request).scope) or self).again(request)

    def _again_there(self, sheet: DetailScreen[Any], request: Request) -> None:
        if request.verb not in CLAIMS:
            sheet.again(request)
            return
        for each in about(request, sheet.subjects()):
            carry_out(self.host, sheet, each)

    def _own(self, sheet: DetailScreen[Any], request: Request) -> RoomCommand | None:
        """Return the screen's command for it: that of the same key."""
        from lumen_tui.tui.kit.keys import commands_of

        keys = self._command(request).keys
        return next((command for command in commands_of(type(sheet)) if command.keys == keys), None)

    def _command(self, request: Request) -> RoomCommand:
        return BY_ACTION[REPEATABLE[request.verb].action]

    def _last(self) -> Request | None:
        """Return what was done last; to open a signal reads it, which is no act in another pane."""
        in_signals = self.sheet is None and self.room.current.scope == SIGNALS
        reads = () if in_signals else ("signal.read",)
        for entry in reversed(self.host.command_log.commands):
            request = entry.request
            if request is not None and not entry.failed and request.verb in REPEATABLE and request.verb not in reads:
                return request
        return None


def _elsewhere(request: Request, where: str) -> str:
    return f"the last command was {_label(request)}, {where}"


def _label(request: Request) -> str:
    return _LABELS.get(request.verb) or BY_ACTION[REPEATABLE[request.verb].action].label


def repeated_words(request: Request) -> str:
    """Return what is repeated, with its arguments: `promote, lane Core`."""
    given = [
        words.format(one_line(value, 60) if isinstance(value, str) else value)
        for name, words in _ARGUMENTS.items()
        if (value := getattr(request, name, None))
    ]
    return ", ".join([_label(request), *given])
