"""The band above the panes: what needs a person, the most urgent first, answered where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual import on
from textual.app import ComposeResult

from lumen_tui.model import times
from lumen_tui.model.attention import can_wait
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.text import humanize, one_line
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.keys import Scoped
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import WRONG, Cell, line, need_shape, sign
from lumen_tui.tui.panes.base import PanedRoom, PaneFrame
from lumen_tui.tui.room_command import RoomCommand

if TYPE_CHECKING:
    from lumen_tui.tui.screens.approval_answer import AnswerSender, NeedsHost
    from lumen_tui.tui.screens.need_verbs import NeedVerbs

MOST = 3  # rows; the list of needs has all of them
_KIND, _AGE = 10, 11  # cells
_HINTS_FROM = 90  # cells from which a row names its keys
# What a row offers beside its text: the full choice is in the footer, once the row is selected.
_HINTS: Mapping[Need, tuple[str, ...]] = {
    Need.APPROVAL: ("answer_allow", "answer_deny"),
    Need.QUESTION: ("needs_reply",),
    Need.P0_SIGNAL: ("needs_reply", "needs_dismiss"),
    Need.FAILED: ("needs_retry", "needs_dismiss"),
    Need.LOST: ("needs_retry", "needs_dismiss"),
    Need.STALLED: ("needs_tell",),
    Need.CHANGES: ("changes_accept", "changes_drop"),
    Need.BUDGET: ("needs_raise",),
}


class BandRows:
    """How a need is drawn on one line."""

    def __init__(self, band: NeedsBand) -> None:
        self._band = band
        self.going: set[str] = set()  # keys of the rows whose answer is on its way

    def key(self, row: Attention) -> str:
        return row.key

    def line(self, row: Attention, width: int, selected: bool, marked: bool) -> list[Segment]:
        look = appearance_of(self._band.app)
        ink, going = look.ink, row.key in self.going
        hints = self._hints(row) if width >= _HINTS_FROM else ""
        cells = (
            sign("" if look.spoken else need_shape(row.need, look.shapes), ink.bad if row.need in WRONG else ink.loud),
            Cell(row.need.value, ink.muted, _KIND, gap=1),
            Cell(
                words.held(self._band.snapshot.operators, row.target, humanize(row.text)),
                ink.muted if going else ink.strong if selected else ink.text,
                gap=1,
            ),
            Cell("sent" if going else self._when(row), ink.muted, _AGE, right=True),
            *((Cell(hints, ink.muted, cell_len(hints)),) if hints else ()),
        )
        return line(width, cells)

    def _hints(self, row: Attention) -> str:
        if self._band.why_not(BY_ACTION["answer_allow"]):
            return ""
        keys = self._band.snapshot.config.keys
        actions = _HINTS.get(row.need, ("needs_dismiss",) if can_wait(row) else ("open",))
        return "  ".join(f"{shown_key(BY_ACTION[action], keys)} {BY_ACTION[action].label}" for action in actions)

    def _when(self, row: Attention) -> str:
        asked = (*self._band.snapshot.approvals, *self._band.snapshot.questions)
        ends = next((one.expires for one in asked if one.id == row.target), 0.0)
        if ends:
            remaining = ends - self._band.now
            return f"{times.age(remaining)} left" if remaining > times.MINUTE else times.countdown(remaining)
        return words.age(self._band.now - row.since) if row.since else ""

    def more(self, row: Attention, width: int) -> list[Segment]:
        return [Segment(" " * width)]

    def words(self, row: Attention) -> str:
        return one_line(f"{row.need} {row.target} {row.text}")

    def fields(self, row: Attention) -> Mapping[str, str]:
        return {"need": row.need.value, "target": row.target}


class NeedsBand(Scoped, PaneFrame):
    """Gone where nothing needs a person. `host` makes what answers need, and is asked once a row is selected."""

    SCOPE = "answers"
    scope = "needs"

    def __init__(
        self,
        room: PanedRoom,
        host: Callable[[], NeedsHost],
        why_stays: Callable[[Attention], str],
        chosen: Callable[[Attention], None],
        moved: Callable[[], None],
    ) -> None:
        super().__init__()
        self.now = 0.0
        self.why_stays = why_stays
        self._room, self._host, self._chosen, self._cursor_moved = room, host, chosen, moved
        self._view = BandRows(self)
        self._list: LineList[Attention] = LineList(self._view)
        self._shown: tuple[Attention, ...] = ()
        self.answers: AnswerSender | None = None
        self.needs_host: NeedsHost | None = None
        self._verbs: NeedVerbs | None = None

    def compose(self) -> ComposeResult:
        yield self._list

    @property
    def rows(self) -> LineList[Attention]:
        """The list."""
        return self._list

    @property
    def lines_wanted(self) -> int:
        """Rows that it would show."""
        return min(MOST, len(self._shown))

    @property
    def in_front(self) -> bool:
        """Whether keys are about it."""
        return self._list.has_focus

    @property
    def there(self) -> bool:
        """Whether it is open: as long as the room is."""
        return self._room.there

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence in the footer."""
        self._room.say(text, bad)

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        return self._room.refusal if command.writes else ""

    def carry_out(self, command: RoomCommand) -> None:
        """Do what a key of the band does."""
        self.call_later(self.app.run_action, command.call, self)

    def show(self, snapshot: Snapshot, now: float) -> None:
        """Take a newer snapshot."""
        self.snapshot, self.now = snapshot, now
        before = self._list.selected
        if self.answers is not None:
            self.answers.going &= {need.target for need in snapshot.attention}
            self._mark_going()
        if snapshot.attention != self._shown:
            self._shown = snapshot.attention
            self._list.set_rows(self._shown)
        if self._verbs is not None:
            self._verbs.follow(before)
        self.tick(now)

    def tick(self, now: float) -> None:
        """Bring ages up to date."""
        self.now = now
        self._list.refresh_changed()
        _caption(self)

    def step(self, by: int) -> Attention | None:
        """Take the focus, and go to the next or the previous row; return it, None where there is none."""
        model = self._list.model
        if not len(model):
            return None
        if self.in_front:
            model.move((model.cursor + by) % len(model))
            self._list.select_key(model.row(model.cursor).key)
        else:
            self._prepare()
            self.screen.set_focus(self._list)
        _caption(self)
        return self._list.selected

    def _prepare(self) -> None:
        if self._verbs is None:
            from lumen_tui.tui.screens.approval_answer import AnswerSender  # only where somebody answers
            from lumen_tui.tui.screens.need_verbs import NeedVerbs

            self.needs_host = self._host()
            self.answers = AnswerSender(self, self.needs_host, self.moved)
            self._verbs = NeedVerbs(self)

    def offered(self) -> list[RoomCommand]:
        """Return the commands that the footer offers for the selected row."""
        row = self._list.selected
        if row is None:
            return []
        self._prepare()
        from lumen_tui.tui.screens.need_verbs import offered

        host = self.needs_host
        actions = offered(row, host, self.why_stays) if host is not None else ()
        commands = [BY_ACTION[action] for action in (*actions, "open", "next_need", "needs")]
        return [command for command in commands if not self.why_not(command)]

    def action_answer(self, verb: str) -> None:
        """Carry out a verb on the selected row, or say why nothing can be answered from here."""
        from lumen_tui.tui.screens.need_verbs import VERBS

        if refusal := self.why_not(BY_ACTION["answer_allow"]):
            self.say(f"{verb}: {refusal}", bad=True)
            return
        self._prepare()
        if self._verbs is not None:
            VERBS[verb](self._verbs)

    def moved(self, sent: bool) -> None:
        """Put the cursor on the next row without an answer."""
        from lumen_tui.tui.screens.need_verbs import pass_over

        self._mark_going()
        if sent:
            pass_over(self._list, self._view.going)

    def _mark_going(self) -> None:
        going = self.answers.going if self.answers is not None else set()
        self._view.going = {need.key for need in self.snapshot.attention if need.target in going}
        self._list.refresh_changed()

    @on(LineList.Selected)
    def opened(self, event: LineList.Selected) -> None:
        """Enter was pressed on a row."""
        event.stop()
        if row := self._list.selected:
            self._chosen(row)

    @on(LineList.Highlighted)
    def highlighted(self, event: LineList.Highlighted) -> None:
        """Follow the cursor: what answers the row is in the footer."""
        event.stop()
        _caption(self)
        if self.in_front:
            self._cursor_moved()


def _caption(band: NeedsBand) -> None:
    """Say how many there are, or which one the cursor is on, and with which keys one goes on."""
    count, shapes = len(band._shown), appearance_of(band.app).shapes
    place = f"{band._list.model.cursor + 1} of {count}" if band.in_front else words.number(count)
    keys = band.snapshot.config.keys
    following, every = (shown_key(BY_ACTION[action], keys) for action in ("next_need", "needs"))
    title = f"{shapes.need} Needs you {shapes.sep} {place}"
    band.caption(title, f"{following} next {shapes.sep} {every} all")
