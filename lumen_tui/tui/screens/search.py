"""Search: a line to type in, the hits while one types, why each is listed, and a note for the archive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids, times
from lumen_tui.model.archive import passage
from lumen_tui.model.requests.memory import InsertPassage
from lumen_tui.model.searching import Found, Hit, parse, why
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import safe
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.files import StoreError
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.fields import Choice, TextField
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import key_of, pair_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, fit, line, push
from lumen_tui.tui.kit.parts import Fact, StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ReadingScreen, Rows
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.memory import node_text
from lumen_tui.tui.theme import Appearance

_WIDE = 100  # columns from which work unit and trust have a column
_AROUND = 300  # characters of what was said before and after a hit
_HEAD = 22  # cells before the excerpt


class HitRows(Rows[Hit]):
    """The cursor is drawn here: the focus is in the line above."""

    def __init__(self, look: Appearance, now: float) -> None:
        super().__init__(look, now)
        self.current = ""  # ref of the row under the cursor

    def key(self, row: Hit) -> str:
        return row.ref

    def line(self, row: Hit, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink, shapes = self.look.ink, self.look.shapes
        here = row.ref == self.current
        wide = width >= _WIDE
        cells = (
            Cell(shapes.chosen if here else "", ink.accent, len(shapes.chosen)),
            Cell(row.type, ink.strong if here else ink.muted, 12, gap=1),
            Cell(words.age(self.now - row.at) if row.at else "", ink.muted, 6, right=True, gap=1),
            *((Cell(row.wu_id, ink.muted, 8), Cell(row.trust, ink.muted, 9)) if wide else ()),
        )
        size = _HEAD - 1 + len(shapes.chosen) + (21 if wide else 0)
        drawn = line(size - 1, cells)
        push(drawn, " ", ink.muted)
        room = width - size
        near = "beside: " if row.neighbour_of else ""
        for text, hit in ((near, False), *row.excerpt):
            size = min(room, cell_len(text))
            push(drawn, fit(text, size), ink.loud if hit else ink.text if here else ink.muted)
            room -= size
        push(drawn, " " * room, ink.muted)
        return drawn

    def words(self, row: Hit) -> str:
        return f"{row.ref} {row.title}"


def summary(result: Found) -> str:
    """Return how much there is; of nothing the list itself speaks."""
    count = f"more than {result.matches - 1:,}" if result.matches > 1000 else f"{result.matches:,}"
    beside = sum(1 for hit in result.hits if hit.neighbour_of)
    near = f" and {beside} beside {'it' if result.matches == 1 else 'them'}" if beside else ""
    matches = f"{count} found{near}" if result.matches else ""
    less = f"without {', '.join(result.dropped)}: too common" if result.dropped else ""
    return " · ".join(part for part in (matches, less) if part)


def reasons(hit: Hit) -> str:
    """Return why a hit stands where it does, and whose word it is."""
    whose = f" · by {hit.by}" if hit.by else ""
    status = f" · {hit.status}" if hit.status not in ("", "open") else ""
    return f"{ids.short(hit.ref)} · {why(hit)}{whose}{status}"


def facts(hit: Hit, now: float) -> Iterator[Fact]:
    """Yield one hit, name by name."""
    yield "id", hit.ref
    yield "what", f"{hit.type} · {hit.kind}"
    yield "when", times.dated(hit.at, now) if hit.at else "unknown"
    for name, value in (
        ("status", hit.status),
        ("tags", " ".join(hit.tags)),
        ("work unit", hit.wu_id),
        ("lane", hit.lane),
        ("by", hit.by),
        ("trust", hit.trust),
        ("source", hit.source),
        ("session", hit.session),
        ("place", hit.place),
    ):
        if value:
            yield name, value
    yield "found by", why(hit)


def conversation_text(parts: Sequence[tuple[str, str, str]], ref: str) -> str:
    """Return what was said around a hit, one part below the other; only the hit itself in full."""
    turns = [(name, by, text.strip() if name == ref else _cut(text.strip())) for name, by, text in parts]
    return "\n\n".join(f"{'>' if name == ref else '-'} {by}, {_place(name)}\n{text}" for name, by, text in turns)


def _cut(text: str) -> str:
    return text if len(text) <= _AROUND else f"{text[:_AROUND].rstrip()} …"


def _place(name: str) -> str:
    return f"line {name.rpartition(':')[2].partition('.')[0]}"


async def show_hit(
    screen: DetailScreen[Any], port: Port, searcher: Searcher, hit: Hit, snapshot: Snapshot, refusal: str
) -> None:
    """Open the page of a task or a work unit, or the text of what was found with all that is known of it."""
    if hit.type == "task":
        from lumen_tui.tui.screens.task_detail import TaskDetailScreen

        screen.app.push_screen(TaskDetailScreen(port, hit.ref, snapshot.taken, refusal=refusal))
        return
    if hit.type == "unit":
        from lumen_tui.tui.screens.unit_page import UnitScreen

        screen.app.push_screen(UnitScreen(port, snapshot, hit.ref, refusal))
        return
    text = await looked(screen, _text, port, searcher, hit)
    heading = f"{hit.type.capitalize()} {ids.short(hit.ref)}"
    screen.app.push_screen(ReadingScreen(heading, text, list(facts(hit, snapshot.taken))))


def _text(port: Port, searcher: Searcher, hit: Hit) -> str:
    """Return all of it, or as much as is indexed."""
    if hit.type == "conversation":
        return conversation_text(searcher.surroundings(hit.ref), hit.ref)
    text = searcher.text(hit.ref)
    if not hit.ref.startswith("mem-"):
        return text
    try:
        chain = port.provenance(hit.ref)
        return node_text(port.node(hit.ref), chain)
    except (ActionError, StoreError):
        return text


_KINDS = (("semantic", "what is so"), ("procedural", "how it is done"), ("episodic", "what happened"))
_WORTH = (("0.2", "little"), ("0.5", "usual"), ("0.9", "much"))


class NoteForm(FormScreen[InsertPassage]):
    """Answers with the request to keep a note."""

    DEFAULT_CLASSES = "long"
    SEND = "keep"

    def __init__(self, tags: str = "", wu_id: str = "") -> None:
        super().__init__("Save a note")
        self._tags, self._wu_id = tags, wu_id

    def rows(self) -> Iterable[Widget]:
        yield row("note", Prose(placeholder="What must not be forgotten? Its title first.", sends=True, id="text"))
        yield row("kind", Choice(_KINDS, id="kind"))
        yield row("worth", Choice(_WORTH, "0.5", id="importance"))
        yield row("tags", TextField(self._tags, placeholder="with commas; such as nginx, deploy", id="tags"))
        yield row("work unit", TextField(self._wu_id, placeholder="none; such as WU-042", id="wu_id"))
        yield row("source", TextField(placeholder="where it is from", id="source"))

    def read(self) -> InsertPassage:
        text = self.query_one("#text", Prose).typed
        if not text:
            raise Invalid("Write a note: there is nothing to save yet.", "text")
        tags = tuple(tag.strip() for tag in self.query_one("#tags", TextField).text.split(",") if tag.strip())
        texts = {name: self.query_one(f"#{name}", TextField).text for name in ("wu_id", "source")}
        kind = self.query_one("#kind", Choice).value
        importance = float(self.query_one("#importance", Choice).value)
        self._check("tags", text, tags=tags)
        self._check("wu_id", text, wu_id=texts["wu_id"])
        return InsertPassage(text=text, tags=tags, kind=kind, importance=importance, **texts)

    def _check(self, field: str, text: str, **fields: Any) -> None:
        try:
            passage(text, by="operator", now=0.0, **fields)
        except ValueError as error:
            raise Invalid(f"The {error}.", field) from error


_PLACEHOLDER = "words, tag:x, wu:WU-1, since:7d, in:conversations"
_SHOWN = 60  # hits
HINT = """Type what you look for: memory, archive, signals, loops and tasks; the best comes first.

"session lock" finds these words together, !word leaves out
tag:nginx wu:WU-101 lane:Core since:7d until:2026-01-31
type:discovery also note, fact, summary, checkpoint, archival, signal, packet, task, unit
kind:procedural also semantic, episodic
in:conversations looks through what was said in sessions

{note} saves a note of your own in the archive."""


class SearchScreen(DetailScreen[None]):
    """The focus stays in the line; up and down choose, enter opens."""

    SCOPE = "search"

    def __init__(self, port: Port, searcher: Searcher, snapshot: Snapshot, refusal: str = "", query: str = "") -> None:
        super().__init__("Search")
        self._port, self._searcher, self._refusal = port, searcher, refusal
        self._now, self._query, self._snapshot = snapshot.taken, query, snapshot
        self._result = Found()
        self._news = ""  # what the last action did
        self._loader: jobs.Loader[tuple[str, Found]] = jobs.Loader(self, self._ask, self._loaded)

    def body(self) -> ComposeResult:
        query_line = TextField(self._query, placeholder=_PLACEHOLDER, id="find")
        yield query_line.add_class("find")
        self._view = HitRows(appearance_of(self.app), self._now)
        hits: LineList[Hit] = LineList(self._view, empty=self._hint(), id="list")
        hits.can_focus = False
        yield hits
        yield Static(classes="why")
        yield StatusLine()

    def _hint(self) -> str:
        return HINT.format(note=key_of(self, "search_note"))

    def keys(self) -> Keys:
        choose = pair_of(self, "hit_up", "hit_down", "choose")
        return (choose, *self.offer("hit_take", "search_why", "search_note", "back"))

    def on_mount(self) -> None:
        self.query_one("#find").focus()
        self._loader.load()

    async def on_unmount(self) -> None:
        await asyncio.to_thread(self._searcher.close)

    def show(self, snapshot: Snapshot) -> None:
        """Search again: what fits may be new."""
        self._now, self._snapshot = snapshot.taken, snapshot
        self._view.now = self._now
        if self._query:
            self._loader.load()

    def tick(self, now: float) -> None:
        self._now = self._view.now = now
        self._list.refresh_changed()

    @property
    def _list(self) -> LineList[Hit]:
        hits: LineList[Hit] = self.query_one("#list", LineList)
        return hits

    def _ask(self) -> tuple[str, Found]:
        """In a thread: the query as it reads when the question is asked."""
        query = self._query
        return query, self._searcher.search(parse(query, self._now, limit=_SHOWN, typing=True), self._now)

    def _loaded(self, answer: tuple[str, Found]) -> None:
        query, result = answer
        if query != self._query:
            return  # a newer question is on its way
        self._result = result
        self._list.empty = self._hint() if not query.strip() else "No results. Try fewer words or filters."
        self._list.set_rows(result.hits)
        if self._list.selected is not None and not self._list.select_key(self._view.current):
            self._list.action_row("top")
        self._list.refresh()
        self._tell()
        if result.more:
            self._loader.load()

    def _tell(self) -> None:
        result = self._result
        bad = bool(result.notes) and not result.hits and not result.more
        has_query = bool(self._query.strip())
        parts = (self._news, summary(result) if has_query and not bad else "", *(result.notes if has_query else ()))
        self.say(" · ".join(part for part in parts if part), bad)
        self.on_line_list_highlighted()

    def say(self, text: str, bad: bool = False) -> None:
        if self.there:
            self.query_one(StatusLine).say(text.replace("·", self._view.look.shapes.sep), bad)

    def on_line_list_highlighted(self) -> None:
        chosen = self._list.selected
        self._view.current = chosen.ref if chosen else ""
        self._list.refresh_changed()
        text = reasons(chosen).replace("·", self._view.look.shapes.sep) if chosen else ""
        self.query_one(".why", Static).update(Content.assemble((safe(text), "$room-muted")))

    def on_input_changed(self, event: TextField.Changed) -> None:
        self._query, self._news = event.value, ""
        self._loader.load()

    def action_move(self, how: str) -> None:
        self._list.action_row(how)

    @on(LineList.Selected)
    @on(TextField.Submitted)
    def action_take(self) -> None:
        """Enter in the line, or a double click on a hit."""
        chosen = self._list.selected
        if chosen is not None:
            opening = show_hit(self, self._port, self._searcher, chosen, self._snapshot, self._refusal)
            self.run_worker(opening, group="open", exclusive=True)

    def action_why(self) -> None:
        """Show the chain around the selected one."""
        from lumen_tui.tui.screens.lineage import WhyScreen

        chosen = self._list.selected
        if chosen is None or chosen.type == "conversation":
            self.say("No cause is recorded for this one." if chosen else "Nothing is selected.")
            return
        self.app.push_screen(WhyScreen(self._port, chosen.ref, self._now))

    def action_note(self) -> None:
        """Keep a note; the filters of the query are offered as its tags and work unit."""
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        wish = parse(self._query, self._now)
        self.app.push_screen(NoteForm(", ".join(wish.tags), wish.wus[0] if wish.wus else ""), self._filled)

    def _filled(self, request: InsertPassage | None) -> None:
        if request:
            self.run_worker(self._keep(request), group="act")

    async def _keep(self, request: InsertPassage) -> None:
        done = await jobs.submit(self, self._port, request)
        self._news = done.summary if done else ""
