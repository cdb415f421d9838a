"""Everything that needs a person, in the order in which it should be looked at, answered where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.tui import words
from lumen_tui.tui.screens.approval_answers import Desk
from lumen_tui.tui.screens.approval_rows import AttentionRows, key_of
from lumen_tui.tui.screens.approval_screen import NEXT, PREVIOUS, ApprovalScreen
from lumen_tui.tui.screens.approval_sheet import TRIED_AGAIN, AnswerSheet
from lumen_tui.tui.screens.base import Keys, keys_line
from lumen_tui.tui.widgets.line_list import LineList


class AttentionScreen(AnswerSheet):
    """Answers the one to go to, where its answer is to be found elsewhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "step(1)", show=False, id="next_need"),
        Binding("N", "step(-1)", show=False, id="previous_need"),
        Binding("w", "why", show=False),
    ]
    EMPTY = "Nothing needs you."
    TWO_LINES = True

    def __init__(
        self, snapshot: Snapshot, why_stays: Callable[[Attention], str], desk: Desk | None = None, at: str = ""
    ) -> None:
        super().__init__(snapshot, why_stays, desk)
        self._at = at  # key of the row on which the cursor begins

    def keys(self) -> Keys:
        row = self.rows.selected if self.is_mounted else None
        keys = [("enter", "open" if row and row.need is Need.APPROVAL else "go there, or see what to do")]
        if row is None:
            return super().keys()[1:]
        if row.need is Need.APPROVAL:
            keys = [("y", "allow"), ("d", "deny"), ("A", "allow always"), *keys]
        else:
            retry = [("R", "retry")] if row.need in TRIED_AGAIN else []
            keys = [*keys, *retry, ("d", "put aside"), ("l", "until tomorrow")]
        keys.append(("z", "in an hour"))
        return (*keys, ("space", "mark"), ("u", "undo"), *super().keys()[1:])

    def on_mount(self) -> None:
        self.show(self._snapshot)
        if self._at:
            self.rows.select_key(self._at)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture."""
        self._snapshot = snapshot
        before = self.rows.selected
        if isinstance(self.rows.view, AttentionRows):
            self.rows.view.take(snapshot)
        self._show_going()
        gone = [key for key in self.rows.marks.keys if key not in {key_of(one) for one in snapshot.attention}]
        for key in gone:
            del self.rows.marks.keys[key]
        off = f"{words.number(len(snapshot.snoozed))} snoozed" if snapshot.snoozed else ""
        self.fill(snapshot.attention, f"Needs you: {words.number(len(snapshot.attention))}", off)
        self.follow(before)
        if self._answers is not None:
            self._answers.going &= {one.target for one in snapshot.attention}
        self._show_keys()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(".keys", Static).update(keys_line(self.keys()))

    def opened(self, row: Attention) -> None:
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
        from lumen_tui.tui.screens.why_screen import WhyScreen

        port, row = getattr(self.app, "port", None), self.rows.selected
        if port is not None and row is not None:
            self.app.push_screen(WhyScreen(port, row.target, self._snapshot.taken))

    def action_step(self, by: int) -> None:
        count = len(self.rows.model)
        if count:
            self.rows.select_key(key_of(self.rows.model.row((self.rows.model.cursor + by) % count)))
