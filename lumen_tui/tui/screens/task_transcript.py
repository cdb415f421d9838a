"""The course of a task as one transcript: what the model said, each call with what came of it, and what was noted.

Every line is a row of the shared list, so that cursor, filter and window are those of all lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Vertical

from lumen_tui.model import times
from lumen_tui.model.liveness import ASKS
from lumen_tui.model.tasks import Status, TaskEvent, legible
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, edge_title, line, wrap
from lumen_tui.tui.kit.sheets import FILTERING, ListFilter, Rows
from lumen_tui.tui.theme import Appearance, Shapes

_COMMANDS = ("shell", "Bash")
_TIME = 6  # columns of the time
_ASIDE = 30  # most columns at the right edge: exit code, lines, seconds
_NARROW = 24  # columns below which nothing stands at the right edge
_SAID, _TYPED, _WROTE = 12, 3, 4  # lines that are shown of a text, of a command, of its output, unless it is expanded
_MOST = 400  # lines of one entry
_OPEN = 5  # entries back in which the call of a result is looked for


@dataclass
class Entry:
    """A piece of the transcript: the model's words, a call with its result, or a remark of the program."""

    name: str  # by which the cursor finds it again
    event: TaskEvent  # with which it begins
    text: str
    result: TaskEvent | None = None  # of a call
    started: float = 0.0  # of its attempt, in seconds since 1970

    @property
    def failed(self) -> bool:
        """Whether something went wrong in it."""
        return self.event.kind == "error" or not (self.result or self.event).ok

    @property
    def is_command(self) -> bool:
        """Whether it is a call of the shell."""
        return self.event.kind == "call" and self.event.tool in _COMMANDS

    def full_text(self) -> str:
        """Return all that is known of it, to be read or copied."""
        parts = [self.text]
        if self.result is not None:
            parts += [self.result.output or self.result.text]
        return "\n\n".join(part for part in parts if part)


class TranscriptRow(NamedTuple):
    """One line of an entry."""

    name: str
    entry: Entry
    number: int  # of the line in its entry
    text: str
    kind: str  # said, typed, wrote or more


def entries(events: Sequence[TaskEvent]) -> list[Entry]:
    """Return the events as entries, oldest first: results with their calls."""
    seen: Counter[str] = Counter()
    made: list[Entry] = []
    started = {0: 0.0}
    for event in legible(events):
        started.setdefault(event.attempt, times.epoch(event.at))
        if event.kind == "started" and event.attempt == 1:
            continue
        if event.kind == "result" and (call := _call_of(event, made)) is not None:
            call.result = event
        else:
            seen[event.at] += 1
            name = f"{event.at} {seen[event.at]}"
            made.append(Entry(name, event, event.text, started=started[event.attempt]))
    return made


def _call_of(result: TaskEvent, made: Sequence[Entry]) -> Entry | None:
    for entry in reversed(made[-_OPEN:]):
        same = (entry.event.tool, entry.event.attempt) == (result.tool, result.attempt)
        if entry.event.kind == "call" and entry.result is None and same:
            return entry
    return None


def transcript_rows(made: Sequence[Entry], width: int, expanded: frozenset[str]) -> list[TranscriptRow]:
    """Lay entries out in rows of `width` columns; what is long is cut unless its name is among the expanded."""
    rows: list[TranscriptRow] = []
    for entry in made:
        newest = entry is made[-1]
        for number, (kind, text) in enumerate(_lines(entry, width, entry.name in expanded, newest)):
            rows.append(TranscriptRow(f"{entry.name} {number}", entry, number, text, kind))
    return rows


def _lines(entry: Entry, width: int, expanded: bool, newest: bool) -> Iterator[tuple[str, str]]:
    room = max(10, width - _TIME - 4 - _aside_width(entry, width))
    typed = wrap(entry.text.strip("\n"), room)[:_MOST]
    first = "typed" if entry.event.kind == "call" else "said"
    yield from _cut(first, typed, _SAID if first == "said" else _TYPED, expanded)
    if entry.result is not None and entry.result.output and (expanded or newest or entry.failed):
        yield from _cut("wrote", entry.result.output.split("\n"), _WROTE, expanded)


def _cut(kind: str, lines: Sequence[str], most: int, expanded: bool) -> Iterator[tuple[str, str]]:
    shown = lines if expanded or len(lines) <= most + 1 else lines[:most]
    yield from ((kind, text) for text in shown)
    if len(shown) < len(lines):
        yield "more", f"… {words.plural(len(lines) - len(shown), 'more line')}"


def _aside_width(entry: Entry, width: int) -> int:
    aside = came_of(entry, " · ")
    return min(_ASIDE, len(aside)) + 2 if aside and width >= 3 * _NARROW else 0


def came_of(entry: Entry, sep: str) -> str:
    """Return what came of a call: `exit 1 · 22 lines · 0.1 s`."""
    if entry.result is None:
        return ""
    parts = []
    if (code := entry.result.data.get("exit")) is not None:
        parts.append(f"exit {code}")
    if not entry.failed or not parts:
        parts.append(one_line(entry.result.text, _ASIDE))
    took = times.epoch(entry.result.at) - times.epoch(entry.event.at)
    return sep.join([*(part for part in parts if part), times.span(took)])


class TranscriptRows(Rows[TranscriptRow]):
    """The time since the attempt began, who or what speaks, its words, and what came of a call."""

    def __init__(self, look: Appearance) -> None:
        super().__init__(look)
        self.running = ""  # what stands behind a call that has not ended: how long it runs

    def key(self, row: TranscriptRow) -> str:
        return row.name

    def line(self, row: TranscriptRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        entry, ink = row.entry, self.look.ink
        mark, mark_ink = self._mark(row)
        aside = self._aside_of(row) if width >= 3 * _NARROW else ""
        body = ink.strong if selected else self._ink(row)
        indent = "  " if row.kind == "wrote" else ""
        cells = (
            Cell(self._time(row), ink.muted, _TIME, right=True),
            Cell(mark, mark_ink, self.look.shapes.size),
            Cell(f"{indent}{row.text}", body, gap=1),
            *(
                (Cell(aside, ink.bad if entry.failed else ink.muted, min(_ASIDE, len(aside)), right=True),)
                if aside
                else ()
            ),
        )
        return line(width, cells)

    def words(self, row: TranscriptRow) -> str:
        return row.text

    def _time(self, row: TranscriptRow) -> str:
        since = times.epoch(row.entry.event.at) - row.entry.started
        return times.clock(since) if row.number == 0 and row.entry.started and since >= 0 else ""

    def _mark(self, row: TranscriptRow) -> tuple[str, Style]:
        ink, shapes, entry = self.look.ink, self.look.shapes, row.entry
        if entry.event.kind == "text":
            return shapes.quotes, ink.accent
        if row.number:
            return " ", ink.faint
        if entry.failed and not entry.is_command:
            return shapes.status[Status.FAILED], ink.bad
        return _marks(shapes).get(entry.event.kind, shapes.runs if entry.is_command else shapes.sep), ink.muted

    def _ink(self, row: TranscriptRow) -> Style:
        ink, kind = self.look.ink, row.entry.event.kind
        if row.kind in ("wrote", "more"):
            return ink.muted
        if row.entry.failed and row.entry.result is None:
            return ink.bad
        return ink.text if kind in ("text", "call", "answered", "error") else ink.muted

    def _aside_of(self, row: TranscriptRow) -> str:
        if row.number:
            return ""
        if row.entry.event.kind == "call" and row.entry.result is None:
            return self.running or "did not end"
        return came_of(row.entry, f" {self.look.shapes.sep} ")


class TranscriptView(Vertical):
    """The transcript with its filter. Whoever looks at its end goes on seeing it as it grows."""

    def __init__(self, look: Appearance, *, classes: str) -> None:
        super().__init__(classes=classes)
        self.border_title = edge_title("steps")
        self._rows = TranscriptRows(look)
        self.list: LineList[TranscriptRow] = LineList(
            self._rows, empty="Nothing yet: its steps appear here.", id="transcript"
        )
        self._filter = ListFilter(self.list)
        self._entries: list[Entry] = []
        self._expanded: frozenset[str] = frozenset()  # names of entries that are shown whole
        self._omitted = False  # whether earlier events were left out

    def compose(self) -> ComposeResult:
        yield self._filter
        yield self.list

    @property
    def selected(self) -> Entry | None:
        """The entry under the cursor."""
        row = self.list.selected
        return None if row is None else row.entry

    def show(self, events: Sequence[TaskEvent], *, omitted: bool) -> None:
        """Show a task's events; `omitted` where earlier ones were left out."""
        self._entries, self._omitted = entries(events), omitted
        self._lay_out()

    def count_to(self, now: float, *, going_on: bool) -> None:
        """Count how long the call that has not ended runs or waits, in a task that is `going_on`."""
        last = self._entries[-1].event if self._entries else None
        began = times.epoch(last.at) if last and going_on else 0.0
        verb = "waits" if last is not None and last.kind == ASKS else "runs"
        self._rows.running = f"{verb} for {times.clock(now - began)}" if began and now >= began else ""
        self.list.refresh_changed()

    def unfold(self) -> None:
        """Show the selected entry whole, or cut it again."""
        if (entry := self.selected) is not None:
            self._expanded ^= {entry.name}
            self._lay_out()
            self.list.select_key(f"{entry.name} 0")

    def narrow(self) -> None:
        """Open the filter."""
        self.screen.add_class(FILTERING)
        self._filter.focus()

    def widen(self) -> bool:
        """Drop the filter; return whether there was one."""
        narrowed = self.screen.has_class(FILTERING)
        if narrowed:
            self._filter.drop()
        return narrowed

    def _lay_out(self) -> None:
        follows = self.list.model.cursor >= len(self.list.model) - 1
        marks = appearance_of(self.app).shapes.size
        self.list.set_rows(transcript_rows(self._entries, self.list.size.width - 1 - marks, self._expanded))
        if follows:
            self.list.action_row("bottom")

    def on_line_list_highlighted(self) -> None:
        model = self.list.model
        parts = ["steps", *(["earlier steps omitted"] if self._omitted else [])]
        if len(model):
            at_end = model.cursor >= len(model) - 1
            parts.append("following" if at_end else f"line {model.cursor + 1:,} of {len(model):,}")
        self.border_title = edge_title(" · ".join(parts))

    def on_resize(self) -> None:
        self.call_after_refresh(self._lay_out)


def _marks(shapes: Shapes) -> dict[str, str]:
    return {
        "waiting": shapes.waits,
        "answered": shapes.waits,
        "finished": shapes.status[Status.DONE],
    }
