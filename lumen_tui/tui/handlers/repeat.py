"""`.`: the last command that acted on rows, once more on the selected or marked rows of its pane."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumen_tui.model.requests.base import Request
from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.room_command import EVERYWHERE, SIGNALS, RoomCommand

# The command of each verb that acts on rows.
_ON_ROWS: Mapping[str, str] = {
    "task.cancel": "cancel_task",
    "task.tell": "tell_task",
    "attention.dismiss": "dismiss",
    "signal.read": "read_signal",
    "triage.promote": "promote",
    "triage.archive": "archive",
    "triage.keep": "later",
    "decay.pin": "pin",
    "decay.touch": "touch",
    "node.archive": "archive_node",
}
# Commands that ask before they act: they ask again.
_ASKING: Mapping[str, str] = {
    "task.retry": "retry_task",
    "triage.merge": "merge",
    "decay.apply": "run_decay",
    "kill": "kill",
    "unkill": "kill",
}
_COMMANDS: Mapping[str, str] = {**_ON_ROWS, **_ASKING}
_ARGUMENTS = {"lane": "lane {}", "reason": "“{}”", "text": "“{}”", "days": "{:g} days"}


class RepeatHandler(Handler):
    """Repeats the last command with its arguments, or says why it does not fit here."""

    pane_handler: Callable[[str], Handler | None]  # of a scope; the table of handlers sets it

    def why_repeat(self) -> str:
        request = self._last()
        if request is None:
            return "nothing was done to a row from here yet"
        command = self._command(request)
        if command.scope not in (EVERYWHERE, self.room.current.scope):
            return f"the last command was {command.label}, in {command.scope}"
        return self.room.why_not(command)

    def do_repeat(self) -> None:
        request = self._last()
        if request is None:
            return
        command = self._command(request)
        if request.verb in _ASKING:
            self.room.action_do(command.action)
        elif handler := self.pane_handler(command.scope):
            self.room.say(f"Repeating {repeated_words(command, request)}.")
            handler.again(request)

    def _command(self, request: Request) -> RoomCommand:
        return BY_ACTION[_COMMANDS[request.verb]]

    def _last(self) -> Request | None:
        """Return what was done last; to open a signal reads it, which is no act in another pane."""
        reads = () if self.room.current.scope == SIGNALS else ("signal.read",)
        for entry in reversed(self.host.command_log.commands):
            request = entry.request
            if request is not None and not entry.failed and request.verb in _COMMANDS and request.verb not in reads:
                return request
        return None


def repeated_words(command: RoomCommand, request: Request) -> str:
    """Return what is repeated, with its arguments: `promote, lane Core`."""
    given = [
        words.format(one_line(value, 60) if isinstance(value, str) else value)
        for name, words in _ARGUMENTS.items()
        if (value := getattr(request, name, None))
    ]
    return ", ".join([command.label, *given])
