"""Who is here, what they have claimed, what they changed a moment ago, and the hand-over note: read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rich.segment import Segment
from textual.widget import Widget

from lumen_tui.model import times
from lumen_tui.model.operators import MOST_NOTE, HandoverNote, OperatorsView
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.operators import LeaveNote
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.sheets import ListSheet, ReadingScreen, Rows, fill
from lumen_tui.tui.kit.text_area import Prose

_KIND, _WHO, _AGE = 10, 14, 7  # cells


class OperatorRow(NamedTuple):
    """One line about one operator."""

    key: str
    kind: str  # note | here | claim | changed
    who: str
    what: str
    at: float  # seconds since 1970


def rows_of(view: OperatorsView) -> Iterator[OperatorRow]:
    """Yield the note, then who is here, what is claimed, and what others changed, the newest first."""
    if (note := view.note) is not None:
        yield OperatorRow(note.id, "note", note.by, note.text, note.at)
    for room in view.rooms:
        login = f"login {room.login}, " if room.login and room.login != room.operator else ""
        yield OperatorRow(room.client, "here", room.operator, f"{login}{room.origin}", times.epoch(room.since))
    for claim in view.claims.values():
        until = times.time_of_day(claim.until)
        yield OperatorRow(f"claim {claim.target}", "claim", claim.by, f"{claim.target} until {until}", claim.at)
    for deed in reversed(view.deeds):
        yield OperatorRow(deed.id, "changed", deed.by, deed.summary, deed.at)


class OperatorRows(Rows[OperatorRow]):
    """What kind, who, what, since when."""

    def key(self, row: OperatorRow) -> str:
        return row.key

    def line(self, row: OperatorRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        cells = (
            Cell(row.kind, ink.loud if row.kind == "note" else ink.muted, _KIND),
            Cell(row.who, ink.accent, _WHO),
            Cell(humanize(one_line(row.what)), ink.strong if selected else ink.text),
            Cell(words.age(self.now - row.at) if row.at else "", ink.muted, _AGE, right=True),
        )
        return line(width, cells)

    def words(self, row: OperatorRow) -> str:
        return one_line(f"{row.kind} {row.who} {row.what}")

    def fields(self, row: OperatorRow) -> dict[str, str]:
        return {"kind": row.kind, "by": row.who}


class OperatorsScreen(ListSheet[None, OperatorRow]):
    """Several operators on one agent."""

    SCOPE = "operators"
    EMPTY = "Nobody else is here, and no note was left."

    def __init__(self, snapshot: Snapshot, send: Callable[[Request], None], refusal: str = "") -> None:
        super().__init__("Operators")
        self._snapshot, self._send, self._refusal = snapshot, send, refusal

    def rows_view(self) -> OperatorRows:
        return OperatorRows(appearance_of(self.app), self._snapshot.taken)

    def keys(self) -> Keys:
        return (*self.offer("operators_note"), *super().keys())

    def on_mount(self) -> None:
        super().on_mount()
        self.show(self._snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot."""
        self._snapshot = snapshot
        view = snapshot.operators
        fill(self, list(rows_of(view)), f"Operators: {words.plural(len(view.rooms), 'room')}", "")

    def opened(self, row: OperatorRow) -> None:
        note = self._snapshot.operators.note
        if row.kind == "note" and note is not None:
            self.app.push_screen(note_page(note, self._snapshot.taken))
            return
        facts = (("who", row.who), ("since", times.dated(row.at, self._snapshot.taken)))
        self.app.push_screen(ReadingScreen(row.kind, humanize(row.what), facts))

    def action_note(self) -> None:
        if self._refusal:
            self.say(self._refusal, bad=True)
            return
        note = self._snapshot.operators.note
        own = note.text if note is not None and note.by == self._snapshot.operators.me else ""
        self.app.push_screen(HandoverNoteForm(own), self._written)

    def _written(self, request: LeaveNote | None) -> None:
        if request is not None:
            self._send(request)


class HandoverNoteForm(FormScreen[LeaveNote]):
    """Answers with the request that leaves a hand-over note; it begins with one's own last one."""

    SEND = "leave"

    def __init__(self, before: str) -> None:
        super().__init__("Hand-over note")
        self._before = before

    def rows(self) -> Iterable[Widget]:
        hint = "What should the next one know? Each other operator is shown it once."
        yield row("note", Prose(self._before, placeholder=hint, sends=True, id="text"))

    def read(self) -> LeaveNote:
        text = self.query_one("#text", Prose).typed
        if not text.strip():
            raise Invalid("Write a note: there is nothing to leave yet.", "text")
        if len(text) > MOST_NOTE:
            raise Invalid(f"{len(text):,} characters are too many: {MOST_NOTE:,} at most.", "text")
        return LeaveNote(text=text)


def note_page(note: HandoverNote, now: float) -> ReadingScreen[None]:
    """Return the page of a hand-over note."""
    facts = (("from", note.by), ("left", times.dated(note.at, now)))
    return ReadingScreen(f"Hand-over note from {one_line(note.by, 40)}", note.text, facts)
