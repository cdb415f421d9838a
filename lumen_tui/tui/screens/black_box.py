"""What is asked and shown over the room of the past: another moment, what differs from now, and a file to save as."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import past, times
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import Loader, Says
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ReadingScreen


class MomentForm(FormScreen[float]):
    """Asks for a moment that is over; answers seconds since 1970."""

    SEND = "show"

    def __init__(self, now: float) -> None:
        super().__init__("Black box: the room at an earlier moment")
        self._now = now

    def rows(self) -> Iterable[Widget]:
        field = TextField(placeholder="03:12, yesterday 18:00, 20 m ago", id="moment")
        yield row("when", field, note="times are in UTC")

    def read(self) -> float:
        try:
            return past.parse_past(self.query_one("#moment", TextField).text, self._now)
        except (ValueError, OverflowError) as error:
            raise Invalid(str(error), "moment") from error

    def preview(self) -> Content:
        try:
            return Content(times.dated(self.read(), self._now))
        except Invalid:
            return Content()


class ExportForm(FormScreen[Path]):
    """Asks for a file that is not there yet."""

    SEND = "save"

    def rows(self) -> Iterable[Widget]:
        yield row("file", TextField(placeholder="~/room.txt", id="file"))

    def read(self) -> Path:
        text = self.query_one("#file", TextField).text
        path = Path(text).expanduser()
        if not text or path.is_dir():
            raise Invalid("Name a file.", "file")
        if path.exists():
            raise Invalid("There is a file of that name already.", "file")
        return path


def save_as(screen: Says, text: str) -> None:
    """Ask for a file and write a text into it; the screen says what came of it."""

    def save(path: Path | None) -> None:
        if path is None:
            return
        try:
            files.replace(path, f"{text}\n".encode())
        except (files.StoreError, OSError) as error:
            screen.say(one_line(str(error), 300), bad=True)
        else:
            screen.say(f"Saved as {one_line(str(path), 200)}.")

    screen.app.push_screen(ExportForm("Save as text"), save)


class SinceThen(ReadingScreen[None]):
    """What appeared, changed and went since a moment, pane by pane. `read` touches the disk."""

    SCOPE = "since_then"

    def __init__(self, moment: float, read: Callable[[], str]) -> None:
        super().__init__(f"Between {times.exact(moment)} and now", "Reading …")
        self._loader = Loader(self, read, self._take)

    def body(self) -> ComposeResult:
        yield from super().body()
        yield StatusLine()

    def keys(self) -> Keys:
        return (*super().keys()[:-1], *self.offer("since_save", "back"))

    def on_mount(self) -> None:
        self._loader.load()

    def _take(self, text: str) -> None:
        self._text = text
        self.query_one(".words", Static).update(Content(text))

    def action_save(self) -> None:
        save_as(self, self._text)
