"""The operator's own commands: their list, what one asks, and the page with its output."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.engine import own_commands
from lumen_tui.engine.own_commands import Finished
from lumen_tui.model import times
from lumen_tui.model.config import OwnCommand
from lumen_tui.model.own_commands import questions
from lumen_tui.model.text import one_line
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.key_names import key_names, plain_key
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Keys, note, retitle, row
from lumen_tui.tui.kit.sheets import ListSheet, Rows, fill
from lumen_tui.tui.room_commands import COMMANDS


class NamedCommand(NamedTuple):
    """A command of [commands] and its name."""

    name: str
    command: OwnCommand

    def taken(self) -> str:
        """Return what its key does already; empty where it is free."""
        wanted = key_names(self.command.key) if self.command.key else ""
        return next((command.label for command in COMMANDS if wanted in command.keys), "")


def listed(commands: Mapping[str, OwnCommand], pane: str) -> list[NamedCommand]:
    """Return the commands that work in a pane, by name."""
    return [NamedCommand(name, command) for name, command in sorted(commands.items()) if command.pane in ("", pane)]


class OwnRows(Rows[NamedCommand]):
    """Key, name, what it is for; below the selected one what it runs."""

    def key(self, row: NamedCommand) -> str:
        return row.name

    def line(self, row: NamedCommand, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, taken = self.look.ink, row.taken()
        key = one_line(plain_key(row.command.key), 12)
        cells = (
            Cell(key, ink.bad if taken else ink.accent, 10),
            Cell(one_line(row.name, 40), ink.strong if selected else ink.text, min(24, width // 3)),
            Cell(f"its key is {taken} already" if taken else one_line(row.command.help, 200), ink.muted),
        )
        return line(width, cells)

    def more(self, row: NamedCommand, width: int) -> list[Segment]:
        return line(
            width, [Cell("", self.look.ink.muted, 10), Cell(one_line(row.command.run, 400), self.look.ink.muted)]
        )

    def words(self, row: NamedCommand) -> str:
        return f"{row.name} {row.command.help} {row.command.run}"


class OwnCommandsScreen(ListSheet[NamedCommand, NamedCommand]):
    """Answers with the command that was chosen."""

    EMPTY = 'No commands of your own yet: [commands.NAME] in lumen.toml with run = "..." makes one.'
    TWO_LINES = True

    def __init__(self, commands: Sequence[NamedCommand]) -> None:
        super().__init__("Your commands")
        self._commands = list(commands)

    def rows_view(self) -> OwnRows:
        return OwnRows(appearance_of(self.app))

    def keys(self) -> Keys:
        return self.offer("open", "filter", "back", open="run")

    def on_mount(self) -> None:
        super().on_mount()
        fill(self, self._commands, "Your commands")

    def opened(self, row: NamedCommand) -> None:
        self.dismiss(row)


class AnswersForm(FormScreen[tuple[str, ...]]):
    """Answers with what was typed, in the order of the questions."""

    SEND = "run"

    def __init__(self, chosen: NamedCommand) -> None:
        super().__init__(one_line(chosen.name, 60))
        self._chosen = chosen

    def rows(self) -> Iterable[Widget]:
        for place, words in enumerate(questions(self._chosen.command.run)):
            yield row(one_line(words, 30), TextField(id=f"answer-{place}"))

    def preview(self) -> Content:
        return Content.assemble((one_line(self._chosen.command.run, 300), "$room-muted"))

    def read(self) -> tuple[str, ...]:
        asked = range(len(questions(self._chosen.command.run)))
        return tuple(self.query_one(f"#answer-{place}", TextField).text for place in asked)


class OutputScreen(DetailScreen[None]):
    """Runs the command while it is open, and shows what that wrote; to leave it ends the command."""

    SCOPE = "output"

    def __init__(self, chosen: NamedCommand, run: Callable[[threading.Event], Finished]) -> None:
        super().__init__(one_line(chosen.name, 60))
        self._stop, self._finished = threading.Event(), Finished("", None, 0.0)
        self._loader: Loader[Finished] = Loader(self, lambda: run(self._stop), self._show)

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="pages"):
            yield Static(Content("It runs …"), classes="agent words")
        yield StatusLine()

    def keys(self) -> Keys:
        return self.offer("copy", "back")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
        self._loader.load()

    def on_unmount(self) -> None:
        self._stop.set()

    def _show(self, finished: Finished) -> None:
        self._finished = finished
        self.query_one(".words", Static).update(Content(finished.output.rstrip() or "It wrote nothing."))
        code = "" if finished.code is None else f"exit {finished.code}"
        retitle(self, self.heading, " · ".join(part for part in (code, times.span(finished.seconds)) if part))
        cut = "only the beginning of its output is here" if finished.cut else ""
        if words := "; ".join(part for part in (finished.why, cut) if part):
            self.say(f"{words[:1].upper()}{words[1:]}.", bad=bool(finished.why))

    def action_copy(self) -> None:
        """Copy what it wrote."""
        self.app.copy_to_clipboard(self._finished.output)
        note(self, "The output is in the clipboard.")


def runner(chosen: NamedCommand, script: str, variables: Mapping[str, str]) -> Callable[[threading.Event], Finished]:
    """Return what runs the command in a thread."""
    return lambda stop: own_commands.run(script, variables, chosen.command.seconds, stop)
