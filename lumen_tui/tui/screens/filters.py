"""The saved filters of a pane: taken, saved under a name, taken out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rich.segment import Segment
from textual.content import Content
from textual.widget import Widget

from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import ChangeSettings, Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import newest_snapshot, submit
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ListSheet, Rows, chosen_row, fill
from lumen_tui.tui.room_command import RoomCommand

_MOST, _LONGEST = 50, 200  # filters of a pane, and characters of one


class SavedFilter(NamedTuple):
    """A filter and its name."""

    name: str
    text: str


class FilterRows(Rows[SavedFilter]):
    """The name, and the filter itself."""

    def key(self, row: SavedFilter) -> str:
        return row.name

    def line(self, row: SavedFilter, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        name = Cell(one_line(row.name, 40), ink.strong if selected else ink.text, min(24, width // 3))
        return line(width, [name, Cell(one_line(row.text, _LONGEST), ink.muted)])

    def words(self, row: SavedFilter) -> str:
        return f"{row.name} {row.text}"


class FilterName(FormScreen[str]):
    """Answers with the name under which a filter is saved."""

    SEND = "save"

    def __init__(self, text: str) -> None:
        super().__init__("Save the filter")
        self._text = text

    def rows(self) -> Iterable[Widget]:
        yield row("name", TextField(placeholder="such as bugs", id="name"))

    def preview(self) -> Content:
        return Content.assemble(("Filter: ", "$room-muted"), one_line(self._text, _LONGEST))

    def read(self) -> str:
        try:
            return ids.check_name(self.query_one("#name", TextField).text)
        except ids.BadId as error:
            raise Invalid(f"The {error}.", "name") from error


class FiltersScreen(ListSheet[str, SavedFilter]):
    """Answers with the filter that was chosen. `current` is the one in force, which can be saved."""

    SCOPE = "filters"
    OF_ROWS = frozenset({"filters_drop"})
    EMPTY = "No saved filters yet. Filter the list first, then open this again: it saves the filter under a name."

    def __init__(self, port: Port, snapshot: Snapshot, scope: str, current: str, refusal: str = "") -> None:
        super().__init__(f"Filters of {scope}")
        self._port, self._scope, self._current, self._refusal = port, scope, current[:_LONGEST], refusal
        self._snapshot = snapshot

    def rows_view(self) -> FilterRows:
        return FilterRows(appearance_of(self.app))

    def keys(self) -> Keys:
        return self.offer("open", "filters_save", "filters_drop", "undo", "back", open="use")

    def on_mount(self) -> None:
        super().on_mount()
        self._fill()

    @property
    def _saved(self) -> Mapping[str, str]:
        return self._snapshot.config.filters.get(self._scope, {})

    def _fill(self) -> None:
        saved = [SavedFilter(name, text) for name, text in sorted(self._saved.items())]
        fill(self, saved, f"Filters of {self._scope}", f"now: {self._current}" if self._current else "")

    def show(self, snapshot: Snapshot) -> None:
        if snapshot.config.filters != self._snapshot.config.filters:
            self._snapshot = snapshot
            self._fill()

    def why_not(self, command: RoomCommand) -> str:
        if command.action == "filters_save" and not self._current:
            return "no filter narrows the list now"
        if command.action == "filters_save" and len(self._saved) >= _MOST:
            return f"there are {_MOST}: delete one first"
        return super().why_not(command)

    def opened(self, row: SavedFilter) -> None:
        self.dismiss(row.text)

    def _do(self, request: Request) -> None:
        async def run() -> None:
            if await submit(self, self._port, request):
                self._snapshot = await newest_snapshot(self, self._port) or self._snapshot
                self._fill()

        self.run_worker(run(), group="act")

    def _may(self, action: str) -> bool:
        if refusal := self.why_not(BY_ACTION[action]):
            self.say(f"{refusal[:1].upper()}{refusal[1:]}.", bad=True)
        return not refusal

    def action_save(self) -> None:
        """Save the filter that narrows the list now."""

        def named(name: str | None) -> None:
            if name:
                self._do(ChangeSettings(changes={f"filters.{self._scope}.{name}": self._current}))

        if self._may("filters_save"):
            self.app.push_screen(FilterName(self._current), named)

    def action_drop(self) -> None:
        """Take a saved filter out."""
        if self._may("filters_drop") and (row := chosen_row(self)):
            self._do(ChangeSettings(changes={f"filters.{self._scope}.{row.name}": None}))

    def action_undo(self) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
        else:
            self._do(Undo())
