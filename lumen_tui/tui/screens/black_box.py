"""The black box: the room at an earlier moment, step by step, how it differs from now, and as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import past, times
from lumen_tui.model.past import Past
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.black_box import neighbour, snapshot_at
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.keys import pair_of
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, Keys, note, retitle, row


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


class BlackBoxScreen(DetailScreen[None]):
    """The panes of one moment as text. Nothing in it can be changed."""

    SCOPE = "black_box"

    def __init__(self, root: Path, operator: str, moment: float, clock: Callable[[], float]) -> None:
        super().__init__(past.header_words(moment))
        self._root = root
        self._operator = operator
        self._clock = clock
        self.moment = moment
        self.differs = False  # whether what differs from now is shown instead
        self.shown = ""
        self._loader: Loader[tuple[float, str]] = Loader(self, self._read, self._show_text)

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="pages"):
            yield Static(Content("Reading …"), id="past")
        yield StatusLine()

    def keys(self) -> Keys:
        events = pair_of(self, "moment_back", "moment_on", "event")
        hours = pair_of(self, "hour_back", "hour_on", "hour")
        own = self.offer("moment_diff", "black_box", "copy", "moment_save", "back")
        return (events, hours, *own)

    def on_mount(self) -> None:
        self._loader.load()

    def _read(self) -> tuple[float, str]:
        """Return the moment and its text. Touches the disk."""
        moment = self.moment
        then = self._past(moment)
        if not self.differs:
            return moment, past.text_of(then)
        return moment, past.changes_text(past.changes(then, self._past(self._clock())))

    def _past(self, moment: float) -> Past:
        snapshot = snapshot_at(self._root, self._operator, moment)
        return past.past_of(snapshot, past.COMPARED if self.differs else past.MOST)

    def _show_text(self, result: tuple[float, str]) -> None:
        moment, self.shown = result
        self.query_one("#past", Static).update(Content(safe(self.shown)))
        retitle(self, past.header_words(moment), "what appeared, changed and went since" if self.differs else "")

    def go(self, moment: float) -> None:
        """Show another moment, none that is ahead."""
        self.moment = min(moment, self._clock())
        self._loader.load()

    def action_hours(self, hours: int) -> None:
        self.go(self.moment + hours * times.HOUR)

    def action_events(self, step: int) -> None:
        self.run_worker(self._step(step), group="step", exclusive=True)

    async def _step(self, step: int) -> None:
        find = partial(neighbour, Layout(self._root), self.moment, forward=step > 0)
        moment = await asyncio.to_thread(find)
        if moment:
            self.go(moment)
        else:
            self.say("Nothing is recorded after this." if step > 0 else "Nothing is recorded before this.")

    def action_diff(self) -> None:
        """Show what differs from now, or the moment again."""
        self.differs = not self.differs
        self._loader.load()

    def action_ask(self) -> None:
        """Ask for another moment."""
        self.app.push_screen(MomentForm(self._clock()), lambda moment: self.go(moment) if moment is not None else None)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.shown)
        note(self, "The text is in the clipboard.")

    def action_save(self) -> None:
        """Write the text into a file of the operator's."""
        self.app.push_screen(ExportForm("Save as text"), lambda path: self._save(path) if path is not None else None)

    def _save(self, path: Path) -> None:
        try:
            files.replace(path, f"{self.shown}\n".encode())
        except (files.StoreError, OSError) as error:
            self.say(one_line(str(error), 300), bad=True)
        else:
            self.say(f"Saved as {one_line(str(path), 200)}.")

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
