"""The command log: each key that did something, as the command line that does the same; the newest last."""

from __future__ import annotations

from rich.segment import Segment

from lumen_tui.model import times
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.command_log import CommandLog, LoggedCommand
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line, spread
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.screen import Keys, note
from lumen_tui.tui.kit.sheets import ListSheet, ReadingScreen, Rows, chosen_row, fill

_NO_LINE = "room only: {}"  # the verb


def shown_line(command: LoggedCommand) -> str:
    """Return the command line, or that there is none for it."""
    return command.line or _NO_LINE.format(command.request.verb if command.request is not None else "")


class LoggedRows(Rows[LoggedCommand]):
    """When, and the command line; below the selected one what came of it."""

    def key(self, row: LoggedCommand) -> str:
        return str(row.number)

    def line(self, row: LoggedCommand, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        text = ink.bad if row.failed else ink.text if row.line else ink.muted
        when = times.time_of_day(row.at, exactly=True)
        return line(width, (Cell(when, ink.muted, len(when)), Cell(one_line(shown_line(row)), text)))

    def more(self, row: LoggedCommand, width: int) -> list[Segment]:
        ink = self.look.ink
        return spread(width, [(f"              {one_line(row.result)}", ink.bad if row.failed else ink.muted)], [])

    def words(self, row: LoggedCommand) -> str:
        return f"{shown_line(row)} {row.result}"


class CommandLogScreen(ListSheet[None, LoggedCommand]):
    """Every command of this room since it was opened."""

    SCOPE = "command_log"
    EMPTY = "No command yet. What a key does is shown here as the command line that does the same."
    TWO_LINES = True

    def __init__(self, log: CommandLog, now: float) -> None:
        super().__init__("Command log")
        self._log = log
        self._now = now
        self._newest = 0

    def rows_view(self) -> LoggedRows:
        return LoggedRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return (*self.offer("copy"), *super().keys())

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()

    def show(self, snapshot: Snapshot) -> None:
        """Show what was done meanwhile; the cursor stays at the end where it is there."""
        self._fill()

    def _fill(self) -> None:
        commands = self._log.commands
        newest = commands[-1].number if commands else 0
        selected = self.rows.selected
        follows = selected is None or selected.number == self._newest
        fill(self, commands, "Command log", words.plural(len(commands), "command"))
        self._newest = newest
        if follows:
            self.rows.action_row("bottom")

    def action_copy(self) -> None:
        """Copy the command line."""
        if (row := chosen_row(self)) is None:
            return
        if row.line:
            self.app.copy_to_clipboard(row.line)
            note(self, "The command line is in the clipboard.")
        else:
            self.say("copy: no command line does this", bad=True)

    def opened(self, row: LoggedCommand) -> None:
        facts: list[Fact] = [
            ("when", times.dated(row.at, self._now)),
            ("result", row.result or "–"),
            ("done", "no" if row.failed else "yes"),
        ]
        self.app.push_screen(ReadingScreen("Command", shown_line(row), facts))
