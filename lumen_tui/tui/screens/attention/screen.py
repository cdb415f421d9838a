"""Everything that needs a person, in the order in which it should be looked at, answered where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from lumen_tui.model.snapshot import Attention, EngineLife, Need, Snapshot
from lumen_tui.tui import words
from lumen_tui.tui.kit.keys_line import KeysLine
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.rows_sheet import show_why
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.screens.approvals.answers import Desk
from lumen_tui.tui.screens.approvals.rows import AttentionRows
from lumen_tui.tui.screens.approvals.screen import NEXT, PREVIOUS, ApprovalScreen
from lumen_tui.tui.screens.approvals.sheet import TRIED_AGAIN, AnswerSheet


class AttentionScreen(AnswerSheet):
    """Answers the one to go to, where its answer is to be found elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "step(1)", show=False, id="next_need"),
        Binding("N", "step(-1)", show=False, id="previous_need"),
        Binding("w", "why", show=False),
        Binding("s", "snoozed", show=False),
        Binding("b", "back", show=False),
    ]
    EMPTY = "Nothing needs you."
    TWO_LINES = True

    def __init__(
        self, snapshot: Snapshot, why_stays: Callable[[Attention], str], desk: Desk | None = None, at: str = ""
    ) -> None:
        super().__init__(snapshot, why_stays, desk)
        self._at = at  # key of the row on which the cursor begins
        self._off = False  # whether what was put off is shown instead

    def keys(self) -> Keys:
        row, rest = self.rows.selected if self.is_mounted else None, super().keys()[1:]
        desk = self._desk if self._desk is not None and not self._desk.refusal() else None
        undo = (("u", "undo"),) if desk else ()
        if self._off:
            return (*((("b", "back on the list"),) if desk else ()), ("s", "what needs you"), *undo, *rest)
        other = (("s", "snoozed"),) if self._snapshot.snoozed else ()
        if row is None:
            return (*other, *undo, *rest)
        opens = ("enter", self._opens(row))
        if desk is None:
            return (opens, *other, *rest)
        answers = (("y", "allow"), ("d", "deny"), ("A", "allow always"), opens)
        keys = answers if row.need is Need.APPROVAL else (opens, *self._verbs(row, desk))
        hour = () if desk.hour(row)[1] else (("z", "in an hour"),)
        return (*keys, *hour, *other, ("space", "mark"), *undo, *rest)

    def _verbs(self, row: Attention, desk: Desk) -> Iterator[tuple[str, str]]:
        """What can be done here about a need that is no question."""
        if row.need in TRIED_AGAIN:
            yield "R", "retry"
        if row.need is Need.BUDGET:
            yield "r", "raise the budget"
        if not self._why_stays(row):
            yield "d", "put aside"
        if not desk.snooze(row)[1]:
            yield "l", "until tomorrow"

    def _opens(self, row: Attention | None) -> str:
        """What enter does on a row."""
        if row is not None and row.target == "kill":
            return "let it go on"
        if row is not None and row.need is Need.ENGINE and self._snapshot.engine.life is EngineLife.NONE:
            return "start an engine"
        return "open" if row and row.need is Need.APPROVAL else "go there, or see what to do"

    def on_mount(self) -> None:
        self.show(self._snapshot)
        if self._at:
            self.rows.select_key(self._at)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture."""
        self._snapshot = snapshot
        if not snapshot.snoozed:
            self._off = False
        before = self.rows.selected
        if isinstance(self.rows.view, AttentionRows):
            self.rows.view.take(snapshot)
        self._show_going()
        shown = snapshot.snoozed if self._off else snapshot.attention
        gone = [key for key in self.rows.marks.keys if key not in {one.key for one in shown}]
        for key in gone:
            del self.rows.marks.keys[key]
        off = f"{words.number(len(snapshot.snoozed))} snoozed" if snapshot.snoozed and not self._off else ""
        self.fill(shown, f"{'Snoozed' if self._off else 'Needs you'}: {words.number(len(shown))}", off)
        self.follow(before)
        if self._answers is not None:
            self._answers.going &= {one.target for one in snapshot.attention}
        self._show_keys()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(KeysLine).show(self.keys())

    def action_snoozed(self) -> None:
        """Between what needs a person and what was put off."""
        if not self._off and not self._snapshot.snoozed:
            self.say("Nothing is snoozed: z puts a row off for an hour, l until tomorrow.")
            return
        self._off = not self._off
        self.say("")
        self.rows.marks.clear()
        self.show(self._snapshot)

    def action_back(self) -> None:
        """Put what was put off on the list again: the marked rows, else the one under the cursor."""
        wanted = set(self.rows.targets())
        found = [row.target for row in self._snapshot.snoozed if self._off and row.key in wanted]
        if not found:
            self.say("s shows what is snoozed; b brings it back from there.")
        elif self._answers is not None and not self._refused("back"):
            self.rows.marks.clear()
            self._answers.send((), "attention.back", targets=found)  # no row waits: they come rather than go

    def opened(self, row: Attention) -> None:
        if self._off:
            self.say("It is snoozed: b brings it back, and enter opens it then.")
            return
        if row.need is not Need.APPROVAL or self._desk is None:
            self.dismiss(row)
            return
        self.app.push_screen(ApprovalScreen(self._snapshot, row.target, self._desk), self._left)

    def _left(self, where: str | None) -> None:
        """Go on from a question that was open: the next need, opened too where it is a question."""
        if where not in (NEXT, PREVIOUS):
            return
        self.action_step(1 if where == NEXT else -1)
        row = self.rows.selected
        if row is not None and row.need is Need.APPROVAL:
            self.opened(row)

    def action_why(self) -> None:
        """What caused it, and what came of it."""
        if row := self.rows.selected:
            show_why(self.app, row.target)

    def action_step(self, by: int) -> None:
        count = len(self.rows.model)
        if count:
            self.rows.select_key(self.rows.model.row((self.rows.model.cursor + by) % count).key)
