"""The inbox of the operator: notes between agents, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from lumen_tui.model import times
from lumen_tui.model.records import SignalRow
from lumen_tui.model.snapshot import Revisions
from lumen_tui.tui import words
from lumen_tui.tui.kit.keys import bindings
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import GAP, Cell, line
from lumen_tui.tui.panes.base import Detail, Heads, Pane, in_order, place_of, sorted_by
from lumen_tui.tui.panes.sorting import Sorting, SortOrder
from lumen_tui.tui.room_command import SIGNALS

_LOOKED_AT = 50  # rows that decide which columns are shown
_WU, _LANE, _SENDER, _AGE, _READ, _SENT = 7, 6, 8, 6, 4, 11
_SENT_FROM = 90  # cells of a row


class _SignalTexts(NamedTuple):
    """What stands in each column, of a row or of the headings."""

    flag: str
    unit: str
    lane: str
    sender: str
    message: str
    age: str
    to: str  # from here on: of a zoomed list alone
    sent: str
    read: str


def _cells(pane: SignalsPane, texts: _SignalTexts, width: int, side: Style, text: Style) -> list[Cell]:
    """Return the columns that a row of `width` cells has room for; the flag is the first."""
    cells = [Cell(texts.flag, side, 9 if pane.look.spoken else 2)]
    if width >= 60 and pane.with_wu:
        cells.append(Cell(texts.unit, side, _WU))
    if width >= 72 and pane.with_lane:
        cells.append(Cell(texts.lane, side, _LANE, gap=1))
    if width >= 40:
        cells.append(Cell(texts.sender, text, _SENDER, gap=1))
    if pane.zoomed and width >= 60:
        cells.append(Cell(texts.to, side, _SENDER, gap=1))
    cells.append(Cell(texts.message, text))
    if pane.zoomed and not pane.look.spoken:  # where the flag says it
        cells.append(Cell(texts.read, side, _READ, gap=1))
    if pane.zoomed and width >= _SENT_FROM:
        cells.append(Cell(texts.sent, side, _SENT, gap=1))
    return [*cells, Cell(texts.age, side, _AGE, right=True, gap=1 if pane.zoomed else GAP)]


class SignalRows:
    """How a signal is drawn in the list."""

    def __init__(self, pane: SignalsPane) -> None:
        self._pane = pane

    def key(self, row: SignalRow) -> str:
        return row.signal.id

    def line(self, row: SignalRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        look, signal = self._pane.look, row.signal
        ink = look.ink
        side = ink.muted
        urgent = signal.priority == "P0"
        flag = signal.priority or (look.shapes.dot if row.unread else "")
        if look.spoken:
            flag = f"{signal.priority} {'unread' if row.unread else 'read'}".strip()
        text = ink.strong if selected else ink.text if row.unread else side
        sent = times.epoch(signal.created_at) if signal.created_at else 0.0
        texts = _SignalTexts(
            flag,
            signal.wu_id or look.shapes.dash,
            signal.lane or look.shapes.dash,
            signal.sender,
            signal.message,
            words.age(self._pane.now - sent) if sent else "",
            signal.target_agent or "all",
            times.iso(sent)[5:16].replace("T", " ") if sent else "",
            "no" if row.unread else "yes",
        )
        cells = _cells(self._pane, texts, width, side, text)
        cells[0] = cells[0]._replace(style=(ink.loud if urgent else ink.accent) if row.unread else side)
        return line(width, cells)

    def more(self, row: SignalRow, width: int) -> list[Segment]:
        return line(width, [Cell(row.signal.message, self._pane.look.ink.muted)])

    def words(self, row: SignalRow) -> str:
        signal = row.signal
        return f"{signal.message} {signal.sender} {signal.wu_id} {signal.lane} {signal.id}"

    def fields(self, row: SignalRow) -> Mapping[str, str]:
        signal = row.signal
        return {
            "id": signal.id, "from": signal.sender, "to": signal.target_agent, "wu": signal.wu_id,
            "lane": signal.lane, "type": signal.type, "priority": signal.priority,
            "is": "unread" if row.unread else "read",
        }  # fmt: skip


class SignalsPane(Pane):
    """Pane 4."""

    scope, number, name_shown = SIGNALS, 4, "Signals"
    BINDINGS: ClassVar[list[BindingType]] = bindings(SIGNALS, "screen.do")

    def __init__(self) -> None:
        super().__init__()
        self._list: LineList[SignalRow] = LineList(SignalRows(self), empty=self.nothing_shown)
        self.sorting = Sorting(
            "age",
            SortOrder("priority", lambda row: row.signal.priority or "P9", falling=False),
            SortOrder("sender", lambda row: row.signal.sender, falling=False),
            SortOrder("work unit", lambda row: row.signal.wu_id, falling=True),
            SortOrder("lane", lambda row: row.signal.lane, falling=True),
            SortOrder("unread", lambda row: row.unread),
        )
        self.with_wu = self.with_lane = False  # whether any signal near the front names one

    def compose(self) -> ComposeResult:
        yield Heads(self)
        yield self._list

    def empty_words(self) -> str:
        return f"No signals yet. Agents leave notes for each other here; {self.key('send_signal')} sends one."

    def empty_line(self) -> str:
        return f"none; {self.key('send_signal')} sends one"

    def revision(self, revisions: Revisions) -> object:
        return revisions.signals

    def fill(self) -> None:
        near = [self.snapshot.signals[index].signal for index in range(min(_LOOKED_AT, len(self.snapshot.signals)))]
        self.with_wu = any(signal.wu_id for signal in near)
        self.with_lane = any(signal.lane for signal in near)
        self._list.set_rows(in_order(self, self.snapshot.signals))

    @on(LineList.Highlighted)
    def moved(self, event: LineList.Highlighted) -> None:
        """Follow the cursor."""
        self.recaption()
        self.tell(event)

    def subtitle_words(self) -> str:
        rows = self._list
        unread = f"{words.number(self.snapshot.unread)} unread" if self.snapshot.unread else ""
        if rows.has_focus or rows.marks.keys or rows.filter_text:
            return " · ".join(part for part in (place_of(rows, "signals"), unread, sorted_by(self)) if part)
        if by := sorted_by(self):
            return " · ".join(part for part in (unread, by) if part)
        return unread or ("all read" if self.snapshot.signals else "")

    def heads(self, width: int) -> list[Segment]:
        """Return the headings."""
        muted = self.look.ink.muted
        texts = _SignalTexts("", "unit", "lane", "from", "message", "age", "to", "sent (UTC)", "read")
        return line(width, _cells(self, texts, width, muted, muted))

    def short(self) -> tuple[str, bool]:
        if not self.snapshot.signals:
            return "no signals yet", False
        newest = self.snapshot.signals[0].signal
        return f"{self.subtitle_words()} · {newest.sender}: {newest.message}", self.snapshot.unread > 0

    def detail(self) -> Detail | None:
        row = self._list.selected
        if row is None:
            return None
        signal = row.signal
        facts = (
            ("from", signal.sender), ("to", signal.target_agent), ("at", signal.created_at), ("type", signal.type),
            ("priority", signal.priority), ("work unit", signal.wu_id), ("lane", signal.lane),
            ("answers", signal.reply_to), ("read", "no" if row.unread else "yes"),
        )  # fmt: skip
        return Detail(signal.id, facts, signal.message)
