"""A list of needs that is answered where it stands: for the marked rows, else for the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui.kit.rows_sheet import ListSheet, look_of
from lumen_tui.tui.screens.approvals.answers import Answers, Desk
from lumen_tui.tui.screens.approvals.rows import AttentionRows

TRIED_AGAIN = frozenset({Need.FAILED, Need.LOST})
_AROUND = 32  # cells of a row beside the text


class AnswerSheet(ListSheet[Attention, Attention]):
    """`why_stays` says why a need cannot be put aside, or the empty string. Without a desk nothing can be done here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "allow", show=False),
        Binding("d", "deny", show=False),
        Binding("A", "always", show=False),
        Binding("R", "retry", show=False),
        Binding("r", "raise", show=False),
        Binding("l", "later", show=False),
        Binding("z", "snooze", show=False),
        Binding("u", "undo", show=False),
    ]

    def __init__(self, snapshot: Snapshot, why_stays: Callable[[Attention], str], desk: Desk | None) -> None:
        super().__init__("Needs you")
        self._snapshot = snapshot
        self._why_stays = why_stays
        self._desk = desk
        self._answers: Answers | None = None
        self._moved_under = ""  # key of a row that came under the cursor by itself

    def rows_view(self) -> AttentionRows:
        return AttentionRows(look_of(self.app), self._snapshot)

    def on_mount(self) -> None:
        if self._desk is not None:
            self._answers = Answers(self, self._desk, self._moved)

    def _meant(self) -> list[Attention]:
        wanted = set(self.rows.targets())
        return [row for row in self._snapshot.attention if row.key in wanted]

    def _requests(self, meant: Sequence[Attention]) -> list[Approval]:
        found = {one.id: one for one in self._snapshot.approvals}
        return [found[row.target] for row in meant if row.need is Need.APPROVAL and row.target in found]

    def follow(self, before: Attention | None) -> None:
        """After a newer picture: see whether the row under the cursor went away without an answer from here."""
        now, going = self.rows.selected, self._answers.going if self._answers else set()
        if before and now and before.key != now.key and before.target not in going:
            self._moved_under = now.key

    def action_allow(self) -> None:
        meant = self._meant()
        under, self._moved_under = self._moved_under, ""
        if under and under in {row.key for row in meant}:
            self.say("The row that stood here is gone; this is another one: press the key again.", bad=True)
            return
        requests = self._requests(meant)
        seen = len(requests) == len(meant) == 1 and self._in_sight(meant[0], requests[0])
        if self._answers is not None:
            self._answers.allow(requests, seen=seen)

    def _in_sight(self, row: Attention, request: Approval) -> bool:
        """Whether the row shows every character of the call."""
        text = whole_call(request)
        return text.isprintable() and row.text.endswith(text) and len(row.text) <= self.rows.size.width - _AROUND

    def action_deny(self) -> None:
        """No to the questions, and the rest put aside."""
        meant = self._meant()
        others = [row for row in meant if row.need is not Need.APPROVAL]
        whys = [why for row in others if (why := self._why_stays(row))]
        aside = [row.target for row in others if not self._why_stays(row)]
        if whys:
            self.say(whys[0], bad=True)
        if self._answers is None:
            return
        if aside:
            self._answers.send(aside, "attention.dismiss", targets=aside)
        if requests := self._requests(meant):
            self._answers.deny(requests)

    def action_always(self) -> None:
        row = self.rows.selected
        requests = self._requests([row]) if row else []
        if self._answers is not None:
            self._answers.always(requests[0] if requests else None)

    def action_retry(self) -> None:
        """Run failed and lost tasks again, which puts them aside."""
        tasks = [row.target for row in self._meant() if row.need in TRIED_AGAIN]
        if not tasks:
            self.say("retry: only a task that failed or was lost can be run again", bad=True)
        if not tasks or self._answers is None or self._refused("retry"):
            return
        from lumen_tui.tui.screens.tasks.retry_form import retry  # only where it is asked for

        alone = next((one for one in live_ones(self._snapshot.tasks) if [one.id] == tasks), None)
        for task in tasks:
            retry(self.app, alone, partial(self._answers.send, [task], "task.retry", task_id=task))

    def action_raise(self) -> None:
        """More room for today, where the budget is what somebody waits for."""
        if not any(row.need is Need.BUDGET for row in self._meant()):
            self.say("raise: this is not about the budget; $ shows it", bad=True)
        elif not self._refused("raise"):
            from lumen_tui.tui.screens.budget.form import RaiseForm  # only where it is asked for

            def raised(arguments: dict[str, Any] | None) -> None:
                if arguments and self._desk is not None:
                    self._desk.send("budget.raise", self.say, **arguments)

            roles = tuple(self._snapshot.config.budget.roles)
            self.app.push_screen(RaiseForm(roles, "; ".join(self._snapshot.spend.reached)), raised)

    def action_later(self) -> None:
        """Off the list until tomorrow."""
        if self._desk is None or self._answers is None or self._refused("later"):
            return
        for row in self._meant():
            name, why = self._desk.snooze(row)
            if why:
                self.say(why, bad=True)
            else:
                self._answers.send([row.target], "attention.dismiss", targets=[name])

    def action_snooze(self) -> None:
        """Off the list for an hour."""
        if self._answers is not None and not self._refused("snooze"):
            self._answers.snooze(self._meant(), lambda _: self._moved(sent=True))

    def action_undo(self) -> None:
        if self._desk is not None and not self._refused("undo"):
            self._desk.send("undo", self.say)

    def _refused(self, what: str) -> bool:
        why = self._desk.refusal() if self._desk else "this list only shows"
        if why:
            self.say(f"{what}: {why}", bad=True)
        return bool(why)

    def _show_going(self) -> None:
        view = self.rows.view
        if isinstance(view, AttentionRows) and self._answers is not None:
            view.going = {one.key for one in self._snapshot.attention if one.target in self._answers.going}
            self.rows.refresh_changed()

    def _moved(self, sent: bool) -> None:
        """An answer is on its way: drop the marks, and put the cursor on the next one that has none."""
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
