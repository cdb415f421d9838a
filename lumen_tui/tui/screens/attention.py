"""Everything that needs a person, in the order in which it should be looked at, answered where it is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.attention import CHANGES
from lumen_tui.model.requests.attention import DismissItems, RestoreItems
from lumen_tui.model.requests.changes import AcceptChanges, DropChanges
from lumen_tui.model.requests.engine import RaiseBudget, Undo
from lumen_tui.model.snapshot import Attention, EngineLife, Need, Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION, RoomCommand
from lumen_tui.tui.host import appearance_of, show_why
from lumen_tui.tui.kit.keys import KeysLine, key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ListSheet, fill
from lumen_tui.tui.screens.approval_answer import Answers, NeedsHost
from lumen_tui.tui.screens.approvals import NEXT, PREVIOUS, ApprovalScreen
from lumen_tui.tui.screens.attention_rows import AttentionRows

TRIED_AGAIN = frozenset({Need.FAILED, Need.LOST})
_AROUND = 32  # cells of a row beside the text


class NeedVerbs:
    """What the keys do with the rows of a sheet that they are about."""

    def __init__(self, sheet: AnswerSheet) -> None:
        self._sheet = sheet
        self._moved_under = ""  # key of a row that came under the cursor by itself

    def follow(self, before: Attention | None) -> None:
        """After a newer snapshot: see whether the row under the cursor went away without an answer from here."""
        now, going = self._sheet.rows.selected, self._sheet.answers.going if self._sheet.answers else set()
        if before and now and before.key != now.key and before.target not in going:
            self._moved_under = now.key

    def allow(self) -> None:
        rows = self._meant()
        if self._has_moved(rows):
            return
        requests = self._requests(rows)
        seen = len(requests) == len(rows) == 1 and self._in_sight(rows[0], requests[0])
        if self._sheet.answers is not None:
            self._sheet.answers.allow(requests, seen=seen)

    def _has_moved(self, rows: Sequence[Attention]) -> bool:
        """Return whether one of the rows came under the cursor by itself since the last key; that is said."""
        under, self._moved_under = self._moved_under, ""
        moved = bool(under) and under in {row.key for row in rows}
        if moved:
            self._sheet.say("The row under the cursor has changed: press the key again.", bad=True)
        return moved

    def accept(self) -> None:
        """Bring change lists in, all of each that is still open."""
        rows = self._meant()
        lists = [row for row in rows if row.need is Need.CHANGES]
        if not lists:
            self._sheet.say("accept: only a change list is accepted", bad=True)
        elif self._sheet.answers is not None and not self.refused("accept") and not self._has_moved(rows):
            for row in lists:
                self._sheet.answers.send([row.target], AcceptChanges(task_id=row.target.removeprefix(CHANGES)))

    def _drop(self, rows: Sequence[Attention]) -> None:
        if self._sheet.answers is not None and rows and not self.refused("drop") and not self._has_moved(rows):
            for row in rows:
                self._sheet.answers.send([row.target], DropChanges(task_id=row.target.removeprefix(CHANGES)))

    def deny(self) -> None:
        """Deny the questions, drop the change lists, and dismiss the other needs."""
        rows = self._meant()
        self._drop([row for row in rows if row.need is Need.CHANGES])
        others = [row for row in rows if row.need not in (Need.APPROVAL, Need.CHANGES)]
        refusals = [refusal for row in others if (refusal := self._sheet.why_stays(row))]
        aside = [row.target for row in others if not self._sheet.why_stays(row)]
        if refusals:
            self._sheet.say(refusals[0], bad=True)
        if self._sheet.answers is None:
            return
        if aside:
            self._sheet.answers.send(aside, DismissItems(targets=aside))
        if requests := self._requests(rows):
            self._sheet.answers.deny(requests)

    def always(self) -> None:
        row = self._sheet.rows.selected
        requests = self._requests([row]) if row else []
        if self._sheet.answers is not None:
            self._sheet.answers.always(requests[0] if requests else None)

    def retry(self) -> None:
        """Run failed and lost tasks again, which puts them aside."""
        tasks = [row.target for row in self._meant() if row.need in TRIED_AGAIN]
        if not tasks:
            self._sheet.say("retry: only a task that failed or was lost can be run again", bad=True)
        if not tasks or self._sheet.answers is None or self.refused("retry"):
            return
        from lumen_tui.tui.screens.task_form import retry  # only where it is asked for

        only_task = next((view for view in live_ones(self._sheet.snapshot.tasks) if [view.id] == tasks), None)
        for task in tasks:
            retry(self._sheet.app, only_task, task, partial(self._sheet.answers.send, [task]))

    def raise_budget(self) -> None:
        """Raise today's cap, where the budget is what somebody waits for."""
        if not any(row.need is Need.BUDGET for row in self._meant()):
            self._sheet.say("raise: this is not about the budget; $ shows it", bad=True)
        elif not self.refused("raise"):
            from lumen_tui.tui.screens.budget import RaiseForm  # only where it is asked for

            def raised(request: RaiseBudget | None) -> None:
                if request and self._sheet.needs_host is not None:
                    self._sheet.needs_host.send(request, self._sheet.say)

            roles = tuple(self._sheet.snapshot.config.budget.roles)
            self._sheet.app.push_screen(RaiseForm(roles, "; ".join(self._sheet.snapshot.spend.reached)), raised)

    def later(self) -> None:
        """Off the list until tomorrow."""
        if self._sheet.needs_host is None or self._sheet.answers is None or self.refused("later"):
            return
        for row in self._meant():
            name, refusal = self._sheet.needs_host.snooze(row)
            if refusal:
                self._sheet.say(refusal, bad=True)
            else:
                self._sheet.answers.send([row.target], DismissItems(targets=[name]))

    def snooze(self) -> None:
        """Off the list for an hour."""
        if self._sheet.answers is not None and not self.refused("snooze"):
            self._sheet.answers.snooze(self._meant(), lambda _: self._sheet.moved(sent=True))

    def undo(self) -> None:
        if self._sheet.needs_host is not None and not self.refused("undo"):
            self._sheet.needs_host.send(Undo(), self._sheet.say)

    def refused(self, label: str) -> bool:
        """Return whether nothing can be written from here, which is said."""
        refusal = self._sheet.why_not(BY_ACTION["undo"])
        if refusal:
            self._sheet.say(f"{label}: {refusal}", bad=True)
        return bool(refusal)

    def _meant(self) -> list[Attention]:
        keys = set(self._sheet.rows.targets())
        return [row for row in self._sheet.snapshot.attention if row.key in keys]

    def _requests(self, rows: Sequence[Attention]) -> list[Approval]:
        requests = {request.id: request for request in self._sheet.snapshot.approvals}
        return [requests[row.target] for row in rows if row.need is Need.APPROVAL and row.target in requests]

    def _in_sight(self, row: Attention, request: Approval) -> bool:
        """Return whether the row shows every character of the call."""
        text = whole_call(request)
        return text.isprintable() and row.text.endswith(text) and len(row.text) <= self._sheet.rows.size.width - _AROUND


_VERBS: dict[str, Callable[[NeedVerbs], None]] = {
    "allow": NeedVerbs.allow,
    "deny": NeedVerbs.deny,
    "always": NeedVerbs.always,
    "accept": NeedVerbs.accept,
    "drop": NeedVerbs.deny,
    "retry": NeedVerbs.retry,
    "raise_budget": NeedVerbs.raise_budget,
    "later": NeedVerbs.later,
    "snooze": NeedVerbs.snooze,
    "undo": NeedVerbs.undo,
}


class AnswerSheet(ListSheet[Attention, Attention]):
    """A list of needs that are answered in place; `why_stays` gives the reason why one cannot be dismissed, or nothing.

    Without `needs_host` it is read-only.
    """

    SCOPE = "answers"

    def __init__(self, snapshot: Snapshot, why_stays: Callable[[Attention], str], needs_host: NeedsHost | None) -> None:
        super().__init__("Needs you")
        self.snapshot = snapshot
        self.why_stays = why_stays
        self.needs_host = needs_host
        self.answers: Answers | None = None
        self.verbs = NeedVerbs(self)

    def rows_view(self) -> AttentionRows:
        return AttentionRows(appearance_of(self.app), self.snapshot)

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""
        refusal = self.needs_host.refusal() if self.needs_host else "this list is read-only"
        return (refusal if command.writes else "") or super().why_not(command)

    def on_mount(self) -> None:
        if self.needs_host is not None:
            self.answers = Answers(self, self.needs_host, self.moved)

    def action_answer(self, verb: str) -> None:
        """Carry out a verb on the marked rows, or on the one under the cursor."""
        _VERBS[verb](self.verbs)

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
        self.rows.marks.clear()
        view, model = self.rows.view, self.rows.model
        if not isinstance(view, AttentionRows):
            return
        places = [*range(model.cursor, len(model)), *range(model.cursor - 1, -1, -1)]
        for place in places:
            if (key := model.row(place).key) not in view.going:
                self.rows.select_key(key)
                return


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

    def keys(self) -> Keys:
        row, list_keys = self.rows.selected if self.is_mounted else None, super().keys()[1:]
        needs_host = self.needs_host if self.needs_host is not None and not self.needs_host.refusal() else None
        undo = self.offer("undo") if needs_host else ()
        if self._off:
            lists = self.offer("needs_back", "needs_snoozed", needs_snoozed="what needs you")
            return (*(lists if needs_host else lists[-1:]), *undo, *list_keys)
        other = self.offer("needs_snoozed") if self.snapshot.snoozed else ()
        if row is None:
            return (*other, *undo, *list_keys)
        opens = self.offer("open", open=self._opens(row))
        if needs_host is None:
            return (*opens, *other, *list_keys)
        answers = (*self.offer("answer_allow", "answer_deny", "answer_always"), *opens)
        keys = answers if row.need is Need.APPROVAL else (*opens, *self.offer(*self._verbs(row, needs_host)))
        hour = () if needs_host.hour(row)[1] else self.offer("answer_hour")
        return (*keys, *hour, *other, *self.offer("mark"), *undo, *list_keys)

    def _verbs(self, row: Attention, needs_host: NeedsHost) -> Iterator[str]:
        """Yield what can be done here about a need that is no question."""
        if row.need in TRIED_AGAIN:
            yield "needs_retry"
        if row.need is Need.BUDGET:
            yield "needs_raise"
        if row.need is Need.CHANGES:
            yield "changes_accept"
            yield "changes_drop"
        elif not self.why_stays(row):
            yield "needs_dismiss"
        if not needs_host.snooze(row)[1]:
            yield "needs_tomorrow"

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
        fill(self, shown, f"{'Snoozed' if self._off else 'Needs you'}: {words.number(len(shown))}", off)
        self.verbs.follow(before)
        if self.answers is not None:
            self.answers.going &= {need.target for need in snapshot.attention}
        self._show_keys()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(KeysLine).show(self.keys())

    def action_snoozed(self) -> None:
        """Between what needs a person and what was put off."""
        if not self._off and not self.snapshot.snoozed:
            self.say("Nothing is snoozed: z puts a row off for an hour, l until tomorrow.")
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
        """Go on from a question that was open: the next need, opened too where it is a question."""
        if where not in (NEXT, PREVIOUS):
            return
        self.action_step(1 if where == NEXT else -1)
        row = self.rows.selected
        if row is not None and row.need is Need.APPROVAL:
            self.opened(row)

    def action_why(self) -> None:
        """Show what caused it, and what came of it."""
        if row := self.rows.selected:
            show_why(self.app, row.target)

    def action_step(self, by: int) -> None:
        count = len(self.rows.model)
        if count:
            self.rows.select_key(self.rows.model.row((self.rows.model.cursor + by) % count).key)
