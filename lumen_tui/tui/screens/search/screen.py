"""Search: a line to type in, the hits as one types, and why each stands where it does."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from lumen_tui.engine.port import Port
from lumen_tui.model.searching import Found, Hit, parse
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import safe
from lumen_tui.queries.search.search import Searcher
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.parts import Said
from lumen_tui.tui.kit.rows_sheet import look_of
from lumen_tui.tui.kit.screen import DetailScreen, Keys
from lumen_tui.tui.screens.search.pages import show_hit
from lumen_tui.tui.screens.search.view import HitRows, reasons, summary

_SHOWN = 60  # hits
HINT = """Type what you look for: memory, archive, signals, loops and tasks; the best comes first.

"session lock" finds these words together, !word leaves out
tag:nginx wu:WU-101 lane:Core since:7d until:2026-01-31
type:discovery also note, fact, summary, checkpoint, archival, signal, packet, task
kind:procedural also semantic, episodic
in:conversations looks through what was said in sessions

F2 keeps a note of your own in the archive."""


class SearchScreen(DetailScreen[None]):
    """The focus stays in the line; up and down choose, enter opens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move('down')", show=False),
        Binding("up", "move('up')", show=False),
        Binding("pagedown", "move('page_down')", show=False),
        Binding("pageup", "move('page_up')", show=False),
        Binding("f2", "note", show=False),
        Binding("f3", "why", show=False),
    ]

    def __init__(self, port: Port, searcher: Searcher, snapshot: Snapshot, refusal: str = "", query: str = "") -> None:
        super().__init__("Search")
        self._port, self._searcher, self._refusal = port, searcher, refusal
        self._now, self._query = snapshot.taken, query
        self._found = Found()
        self._news = ""  # what the last action did
        self._loader: jobs.Loader[tuple[str, Found]] = jobs.Loader(self, self._ask, self._loaded)

    def body(self) -> ComposeResult:
        yield (asked := Line(self._query, placeholder="words, tag:x, wu:WU-1, since:7d, in:conversations", id="find"))
        asked.add_class("find")
        self._view = HitRows(look_of(self.app), self._now)
        found: LineList[Hit] = LineList(self._view, empty=HINT, id="list")
        found.can_focus = False
        yield found
        yield Static(classes="why")
        yield Said()

    def keys(self) -> Keys:
        note = () if self._refusal else (("F2", "keep a note"),)
        return (("↑↓", "choose"), ("enter", "open"), ("F3", "what caused it"), *note, ("esc", "back"))

    def on_mount(self) -> None:
        self.query_one("#find").focus()
        self._loader.load()

    async def on_unmount(self) -> None:
        await asyncio.to_thread(self._searcher.close)

    def show(self, snapshot: Snapshot) -> None:
        """Something changed: what fits may be new."""
        self._now = self._view.now = snapshot.taken
        if self._query:
            self._loader.load()

    def tick(self, now: float) -> None:
        self._now = self._view.now = now
        self._list.refresh_changed()

    @property
    def _list(self) -> LineList[Hit]:
        found: LineList[Hit] = self.query_one("#list", LineList)
        return found

    def _ask(self) -> tuple[str, Found]:
        """In a thread: the query as it reads when the question is asked."""
        query = self._query
        return query, self._searcher.search(parse(query, self._now, limit=_SHOWN, typing=True), self._now)

    def _loaded(self, answer: tuple[str, Found]) -> None:
        query, found = answer
        if query != self._query:
            return  # a newer question is on its way
        self._found = found
        self._list.empty = HINT if not query.strip() else "Nothing fits. Fewer words or filters find more."
        self._list.set_rows(found.hits)
        if self._list.selected is not None and not self._list.select_key(self._view.current):
            self._list.action_row("top")
        self._list.refresh()
        self._tell()
        if found.more:
            self._loader.load()

    def _tell(self) -> None:
        found = self._found
        bad = bool(found.notes) and not found.hits and not found.more
        asked = bool(self._query.strip())
        parts = (self._news, summary(found) if asked and not bad else "", *(found.notes if asked else ()))
        self.say(" · ".join(part for part in parts if part), bad)
        self.on_line_list_highlighted()

    def say(self, text: str, bad: bool = False) -> None:
        if self.there:
            self.query_one(Said).say(text.replace("·", self._view.look.shapes.sep), bad)

    def on_line_list_highlighted(self) -> None:
        chosen = self._list.selected
        self._view.current = chosen.ref if chosen else ""
        self._list.refresh_changed()
        text = reasons(chosen).replace("·", self._view.look.shapes.sep) if chosen else ""
        self.query_one(".why", Static).update(Content.assemble((safe(text), "$room-muted")))

    def on_input_changed(self, event: Line.Changed) -> None:
        self._query, self._news = event.value, ""
        self._loader.load()

    def action_move(self, how: str) -> None:
        self._list.action_row(how)

    @on(LineList.Selected)
    @on(Line.Submitted)
    def open_chosen(self) -> None:
        """Enter in the line, or a double click on a hit."""
        chosen = self._list.selected
        if chosen is not None:
            opening = show_hit(self, self._port, self._searcher, chosen, self._now, self._refusal)
            self.run_worker(opening, group="open", exclusive=True)

    def action_why(self) -> None:
        """The chain around the selected one."""
        from lumen_tui.tui.screens.audit.lineage_screen import WhyScreen

        chosen = self._list.selected
        if chosen is None or chosen.type == "conversation":
            self.say("Nothing is recorded of what caused this one." if chosen else "Nothing is selected.")
            return
        self.app.push_screen(WhyScreen(self._port, chosen.ref, self._now))

    def action_note(self) -> None:
        """Keep a note; the filters of the query are offered as its tags and work unit."""
        from lumen_tui.tui.screens.memory.note_form import NoteForm

        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        wish = parse(self._query, self._now)
        self.app.push_screen(NoteForm(", ".join(wish.tags), wish.wus[0] if wish.wus else ""), self._filled)

    def _filled(self, arguments: dict[str, Any] | None) -> None:
        if arguments:
            self.run_worker(self._keep(arguments), group="act")

    async def _keep(self, arguments: dict[str, Any]) -> None:
        done = await jobs.submit(self, self._port, "archive.insert", **arguments)
        self._news = done.summary if done else ""
