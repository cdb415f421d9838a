"""Runs the operator's own commands on the selected row: from their list, or by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumen_tui.model.own_commands import questions, script, variables
from lumen_tui.tui.handlers.base import Handler
from lumen_tui.tui.key_names import key_names

if TYPE_CHECKING:
    from lumen_tui.tui.screens.own_commands import NamedCommand


class OwnCommandsHandler(Handler):
    """What [commands] of the settings names."""

    def do_own_commands(self) -> None:
        """Open those that work in this pane; the chosen one is run."""
        from lumen_tui.tui.screens.own_commands import OwnCommandsScreen, listed

        commands = listed(self.snapshot.config.commands, self.room.current.scope)
        self.host.push_screen(OwnCommandsScreen(commands), lambda chosen: self._run(chosen.name) if chosen else None)

    def pressed(self, key: str) -> bool:
        """Run the command that has this key here; return whether there is one."""
        if name := self.with_key(key):
            self._run(name)
        return bool(name)

    def with_key(self, key: str) -> str:
        """Return the name of the command that has this key here; empty where none has."""
        pane = self.room.current.scope
        for name, command in sorted(self.snapshot.config.commands.items()):
            if command.key and key in key_names(command.key).split(",") and command.pane in ("", pane):
                return name
        return ""

    def _run(self, name: str) -> None:
        """Ask what the command asks, then run it on the row that is selected now."""
        from lumen_tui.tui.screens.own_commands import AnswersForm, NamedCommand

        if self.refusal:
            self.room.say(f"{name}: {self.refusal}")
            return
        chosen, rows = NamedCommand(name, self.snapshot.config.commands[name]), self.room.current.rows
        selected = rows.view.key(rows.selected) if rows is not None and rows.selected is not None else ""
        about = (self.room.current.scope, selected, tuple(rows.marks.keys) if rows is not None else ())

        def answered(answers: tuple[str, ...] | None) -> None:
            if answers is not None:
                self._start(chosen, about, answers)

        if questions(chosen.command.run):
            self.host.push_screen(AnswersForm(chosen), answered)
        else:
            answered(())

    def _start(self, chosen: NamedCommand, about: tuple[str, str, tuple[str, ...]], answers: tuple[str, ...]) -> None:
        from lumen_tui.tui.screens.own_commands import OutputScreen, runner

        pane, selected, marked = about
        told = variables(pane, selected, marked, self.snapshot.root, answers)
        self.host.push_screen(OutputScreen(chosen, runner(chosen, script(chosen.command.run), told)))
