"""Everything that needs a person, in the order in which it should be looked at, answered where it is listed."""

from __future__ import annotations

from collections.abc import Callable

from lumen_tui.model.liveness import EngineLife
from lumen_tui.model.requests.attention import RestoreItems
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of, show_why
from lumen_tui.tui.kit.keys import KeysLine, key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ListSheet, fill
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screens.approval_answer import AnswerSender, NeedsHost
from lumen_tui.tui.screens.approvals import NEXT, PREVIOUS, ApprovalScreen
from lumen_tui.tui.screens.attention_rows import AttentionRows
from lumen_tui.tui.screens.need_verbs import VERBS, NeedVerbs, dismiss, offered, pass_over

_SIDES = 4  # cells of the frame around the list
_HIGH = 36  # lines of a window of which it takes two thirds at most: what is left with esc is sent again
_AROUND = 4  # lines around the rows and the keys: the frame, the second line of a row, one for what is said


class AnswerSheet(ListSheet[Attention, Attention]):
    """A list of needs that are answered in place; `why_stays` gives the reason why one cannot be dismissed, or nothing.

    Without `needs_host` it is read-only.
    """

    SCOPE = "answers"
    REPEATS = frozenset({"attention.dismiss", "attention.snooze"})
    verbs: NeedVerbs

    def __init__(self, snapshot: Snapshot, why_stays: Callable[[Attention], str], needs_host: NeedsHost | None) -> None:
        super().__init__("Needs you")
        self.snapshot = snapshot
        self.why_stays = why_stays
        self.needs_host = needs_host
        self.answers: AnswerSender | None = None
        self.verbs = NeedVerbs(self)

    def rows_view(self) -> AttentionRows:
        return AttentionRows(appearance_of(self.app), self.snapshot)

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        refusal = self.needs_host.refusal() if self.needs_host else "this list is read-only"
        return (refusal if command.writes else "") or super().why_not(command)

    def on_mount(self) -> None:
        if self.needs_host is not None:
            self.answers = AnswerSender(self, self.needs_host, self.moved)

    @property
    def subject(self) -> str:
        """The id of what the selected row is about."""
        return self.rows.selected.target if self.is_mounted and self.rows.selected is not None else ""

    def again(self, request: Request) -> None:
        """Dismiss what can be; all else is asked about by its own key."""
        dismiss(self, self.verbs.meant())

    def action_answer(self, verb: str) -> None:
        """Carry out a verb on the marked rows, or on the one under the cursor."""
        VERBS[verb](self.verbs)

    def _show_going(self) -> None:
        view = self.rows.view
        if isinstance(view, AttentionRows) and self.answers is not None:
            view.going = {need.key for need in self.snapshot.attention if need.target in self.answers.going}
            self.rows.refresh_changed()

    def moved(self, sent: bool) -> None:
        """Drop the marks, and put the cursor on the next one without an answer."""
        self._show_going()
        if not sent:
            return
        if isinstance(view := self.rows.view, AttentionRows):
            pass_over(self.rows, view.going)


class AttentionScreen(AnswerSheet):
    """Answers the one to go to, where its answer is to be found elsewhere."""

    SCOPE = "needs"
    EMPTY = "Nothing needs you."
    TWO_LINES = True

    def __init__(
        self,
        snapshot: Snapshot,
        why_stays: Callable[[Attention], str],
        needs_host: NeedsHost | None = None,
        at: str = "",
    ) -> None:
        super().__init__(snapshot, why_stays, needs_host)
        self._at = at  # key of the row on which the cursor begins
        self._off = False  # whether what was put off is shown instead
        self._lines = 0  # of its box, which gets no lower while one looks at it

    def keys(self) -> Keys:
        row, list_keys = self.rows.selected if self.is_mounted else None, self.offer("why", "filter", "back")
        needs_host = self.needs_host if self.needs_host is not None and not self.needs_host.refusal() else None
        undo = self.offer("undo") if needs_host else ()
        if self._off:
            lists = self.offer("needs_back", "needs_snoozed", needs_snoozed="what needs you")
            return (*(lists if needs_host else lists[-1:]), *undo, *list_keys)
        other = self.offer("needs_snoozed", "needs_history") if self.snapshot.snoozed else self.offer("needs_history")
        if row is None:
            return (*other, *undo, *list_keys)
        opens = self.offer("open", open=self._opens(row))
        if needs_host is None:
            return (*opens, *other, *list_keys)
        keys = self.offer(*offered(row, needs_host, self.why_stays))
        first = (*keys[:3], *opens, *keys[3:]) if row.need is Need.APPROVAL else (*opens, *keys)
        return (*first, *other, *self.offer("mark"), *undo, *list_keys)

    def _opens(self, row: Attention | None) -> str:
        """Return what enter does on a row."""
        if row is not None and row.target == "kill":
            return "resume"
        if row is not None and row.need is Need.ENGINE and self.snapshot.engine.life is EngineLife.NONE:
            return "start an engine"
        if row is not None and row.need is Need.QUESTION:
            return "answer"
        return "open" if row and row.need in (Need.APPROVAL, Need.CHANGES) else "open/fix"

    def on_mount(self) -> None:
        self.show(self.snapshot)
        if self._at:
            self.rows.select_key(self._at)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot."""
        self.snapshot = snapshot
        if not snapshot.snoozed:
            self._off = False
        before = self.rows.selected
        if isinstance(self.rows.view, AttentionRows):
            self.rows.view.take(snapshot)
        self._show_going()
        shown = snapshot.snoozed if self._off else snapshot.attention
        gone = [key for key in self.rows.marks.keys if key not in {need.key for need in shown}]
        for key in gone:
            del self.rows.marks.keys[key]
        off = f"{words.number(len(snapshot.snoozed))} snoozed" if snapshot.snoozed and not self._off else ""
        fill(self, shown, f"{'Snoozed' if self._off else 'Needs you'} · {words.number(len(shown))}", off)
        self.verbs.follow(before)
        if self.answers is not None:
            self.answers.going &= {need.target for need in snapshot.attention}
        self._show_keys()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_keys()

    def on_resize(self) -> None:
        super().on_resize()
        self._lines = 0
        self._fit()

    def _show_keys(self) -> None:
        self.query_one(KeysLine).show(self.keys())
        self._fit()

    def _fit(self) -> None:
        """Take as many lines as the list needs: what is below it of the room stays, and need not be sent again."""
        width, height = self.app.size
        keys = self.query_one(KeysLine).get_content_height(self.size, self.size, width - _SIDES)
        wanted = max(self._lines, len(self.rows.model.rows) + keys + _AROUND)
        if height >= _HIGH:
            wanted = min(wanted, height * 2 // 3)
        if wanted != self._lines:
            self._lines, self.covers = wanted, wanted >= height - 1
            self.query_one(".box").styles.height = "1fr" if self.covers else wanted

    def action_history(self) -> None:
        from lumen_tui.tui.screens.notifications import show_notifications

        show_notifications(self.app)

    def action_snoozed(self) -> None:
        """Between what needs a person and what was put off."""
        if not self._off and not self.snapshot.snoozed:
            self.say(f"Nothing is snoozed: {key_of(self, 'answer_snooze')} snoozes a row.")
            return
        self._off = not self._off
        self.say("")
        self.rows.marks.clear()
        self.show(self.snapshot)

    def action_back(self) -> None:
        """Put what was put off on the list again: the marked rows, else the one under the cursor."""
        keys = set(self.rows.targets())
        targets = [row.target for row in self.snapshot.snoozed if self._off and row.key in keys]
        if not targets:
            snoozed, back = key_of(self, "needs_snoozed"), key_of(self, "needs_back")
            self.say(f"{snoozed} shows what is snoozed; {back} brings it back from there.")
        elif self.answers is not None and not self.verbs.refused("back"):
            self.rows.marks.clear()
            self.answers.send((), RestoreItems(targets=targets))  # no row waits: they come rather than go

    def opened(self, row: Attention) -> None:
        if self._off:
            back, enter = key_of(self, "needs_back"), key_of(self, "open")
            self.say(f"It is snoozed: {back} brings it back, and {enter} opens it then.")
            return
        if row.need is not Need.APPROVAL or self.needs_host is None:
            self.dismiss(row)
            return
        self.app.push_screen(ApprovalScreen(self.snapshot, row.target, self.needs_host), self._left)

    def _left(self, where: str | None) -> None:
        """Go on from the pages of approvals: to the first or the last of what else is listed."""
        others = [need for need in self.snapshot.attention if need.need is not Need.APPROVAL]
        if where in (NEXT, PREVIOUS) and others:
            self.rows.select_key(others[0 if where == NEXT else -1].key)

    def action_why(self) -> None:
        """Show what caused it, and what came of it."""
        if row := self.rows.selected:
            show_why(self.app, row.target)

    def action_step(self, by: int) -> None:
        count = len(self.rows.model)
        if count:
            self.rows.select_key(self.rows.model.row((self.rows.model.cursor + by) % count).key)
