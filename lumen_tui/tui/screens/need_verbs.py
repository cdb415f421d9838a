"""What the keys do with what needs a person, in the list of all of it and in the room's band above the panes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from textual.app import App

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.attention import CHANGES
from lumen_tui.model.requests.attention import DismissItems
from lumen_tui.model.requests.changes import AcceptChanges, DropChanges
from lumen_tui.model.requests.engine import RaiseBudget, Undo
from lumen_tui.model.snapshot import Attention, Need, Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.host import VerdictQuestion, host_of
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screens.approval_answer import AnswerSender, NeedsHost

TRIED_AGAIN = frozenset({Need.FAILED, Need.LOST})
REPLIED_TO = frozenset({Need.QUESTION, Need.P0_SIGNAL})
_AROUND = 32  # cells of a row beside the text


class NeedsPlace(Protocol):
    """Where needs are listed and answered."""

    snapshot: Snapshot
    answers: AnswerSender | None
    needs_host: NeedsHost | None
    why_stays: Callable[[Attention], str]

    @property
    def app(self) -> App[Any]:
        """The application, as Textual has it."""

    @property
    def rows(self) -> LineList[Attention]:
        """The list."""

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence."""

    def why_not(self, command: RoomCommand) -> str:
        """Return why a command cannot be carried out now; the empty string where it can."""

    def moved(self, sent: bool) -> None:
        """An answer was sent, or one failed."""


def dismiss(sheet: NeedsPlace, rows: Sequence[Attention]) -> None:
    """Dismiss those that can be, and neither deny nor drop any other."""
    refusals = [refusal for row in rows if (refusal := sheet.why_stays(row))]
    aside = [row.target for row in rows if not sheet.why_stays(row)]
    if refusals:
        sheet.say(refusals[0], bad=True)
    if sheet.answers is not None and aside:
        sheet.answers.send(aside, DismissItems(targets=aside))


class NeedVerbs:
    """What the keys do with the rows of a sheet that they are about."""

    def __init__(self, sheet: NeedsPlace) -> None:
        self._sheet = sheet
        self._moved_under = ""  # key of a row that came under the cursor by itself

    def follow(self, before: Attention | None) -> None:
        """After a newer snapshot: see whether the row under the cursor went away without an answer from here."""
        now, going = self._sheet.rows.selected, self._sheet.answers.going if self._sheet.answers else set()
        if before and now and before.key != now.key and before.target not in going:
            self._moved_under = now.key

    def allow(self) -> None:
        rows = self.meant()
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
        rows = self.meant()
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
        rows = self.meant()
        self._drop([row for row in rows if row.need is Need.CHANGES])
        dismiss(self._sheet, [row for row in rows if row.need not in (Need.APPROVAL, Need.CHANGES)])
        if self._sheet.answers is not None and (requests := self._requests(rows)):
            self._sheet.answers.deny(requests)

    def always(self) -> None:
        row = self._sheet.rows.selected
        requests = self._requests([row]) if row else []
        if self._sheet.answers is not None:
            self._sheet.answers.always(requests[0] if requests else None)

    def retry(self) -> None:
        """Run failed and lost tasks again, which puts them aside."""
        tasks = [row.target for row in self.meant() if row.need in TRIED_AGAIN]
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
        if not any(row.need is Need.BUDGET for row in self.meant()):
            self._sheet.say(
                f"raise: this is not about the budget; {key_of(self._sheet.rows, 'budget')} shows it", bad=True
            )
        elif not self.refused("raise"):
            from lumen_tui.tui.screens.budget import RaiseForm  # only where it is asked for

            def raised(request: RaiseBudget | None) -> None:
                if request and self._sheet.needs_host is not None:
                    self._sheet.needs_host.send(request, self._sheet.say)

            roles = tuple(self._sheet.snapshot.config.budget.roles)
            self._sheet.app.push_screen(RaiseForm(roles, "; ".join(self._sheet.snapshot.spend.reached)), raised)

    def snooze(self) -> None:
        """Off the list for an hour, or until tomorrow: asked where both are possible."""
        needs_host, rows = self._sheet.needs_host, self.meant()
        if needs_host is None or self._sheet.answers is None or self.refused("snooze"):
            return
        hour = any(not needs_host.hour(row)[1] for row in rows)
        day = any(not needs_host.snooze(row)[1] for row in rows)
        if not (hour and day):
            self._snooze(rows, "day" if day else "hour")
            return
        if (host := host_of(self._sheet.app)) is not None:
            ways = {"for an hour": "hour", "until tomorrow": "day"}
            take = list(ways.values())
            verdict = VerdictQuestion("snooze", tuple(ways), lambda place: self._snooze(rows, take[place]))
            host.verdicts.ask(verdict)

    def _snooze(self, rows: Sequence[Attention], how: str) -> None:
        needs_host, answers = self._sheet.needs_host, self._sheet.answers
        if needs_host is None or answers is None:
            return
        if how == "hour":
            answers.snooze(rows, lambda _: self._sheet.moved(sent=True))
            return
        for row in rows:
            name, refusal = needs_host.snooze(row)
            if refusal:
                self._sheet.say(refusal, bad=True)
            else:
                answers.send([row.target], DismissItems(targets=[name]))

    def reply(self) -> None:
        """Answer the question, or reply to the signal."""
        row = next((row for row in self.meant() if row.need in REPLIED_TO), None)
        if row is None:
            self._sheet.say("reply: this is neither a question nor a signal", bad=True)
        elif self._sheet.needs_host is not None and not self.refused("reply"):
            self._sheet.needs_host.reply(row)

    def tell(self) -> None:
        """Say something to the worker that it is about."""
        row = next(iter(self.meant()), None)
        if row is not None and self._sheet.needs_host is not None and not self.refused("message"):
            asked = (*self._sheet.snapshot.approvals, *self._sheet.snapshot.questions)
            self._sheet.needs_host.tell(next((one.task_id for one in asked if one.id == row.target), row.target))

    def undo(self) -> None:
        if self._sheet.needs_host is not None and not self.refused("undo"):
            self._sheet.needs_host.send(Undo(), self._sheet.say)

    def refused(self, label: str) -> bool:
        """Return whether nothing can be written from here, which is said."""
        refusal = self._sheet.why_not(BY_ACTION["undo"])
        if refusal:
            self._sheet.say(f"{label}: {refusal}", bad=True)
        return bool(refusal)

    def meant(self) -> list[Attention]:
        keys = set(self._sheet.rows.targets())
        return [row for row in self._sheet.snapshot.attention if row.key in keys]

    def _requests(self, rows: Sequence[Attention]) -> list[Approval]:
        requests = {request.id: request for request in self._sheet.snapshot.approvals}
        return [requests[row.target] for row in rows if row.need is Need.APPROVAL and row.target in requests]

    def _in_sight(self, row: Attention, request: Approval) -> bool:
        """Return whether the row shows every character of the call."""
        text = whole_call(request)
        return text.isprintable() and row.text.endswith(text) and len(row.text) <= self._sheet.rows.size.width - _AROUND


VERBS: dict[str, Callable[[NeedVerbs], None]] = {
    "allow": NeedVerbs.allow,
    "deny": NeedVerbs.deny,
    "always": NeedVerbs.always,
    "accept": NeedVerbs.accept,
    "drop": NeedVerbs.deny,
    "retry": NeedVerbs.retry,
    "raise_budget": NeedVerbs.raise_budget,
    "snooze": NeedVerbs.snooze,
    "undo": NeedVerbs.undo,
    "reply": NeedVerbs.reply,
    "tell": NeedVerbs.tell,
}


def offered(row: Attention, needs_host: NeedsHost, why_stays: Callable[[Attention], str]) -> Iterator[str]:
    """Yield the commands that answer a need where it is listed."""
    if row.need is Need.APPROVAL:
        yield from ("answer_allow", "answer_deny", "answer_always")
    if row.need in TRIED_AGAIN:
        yield "needs_retry"
    if row.need in REPLIED_TO:
        yield "needs_reply"
    if row.need is Need.STALLED:
        yield "needs_tell"
    if row.need is Need.BUDGET:
        yield "needs_raise"
    if row.need is Need.CHANGES:
        yield from ("changes_accept", "changes_drop")
    elif not why_stays(row):
        yield "needs_dismiss"
    if not (needs_host.hour(row)[1] and needs_host.snooze(row)[1]):
        yield "answer_snooze"


def pass_over(rows: LineList[Attention], going: set[str]) -> None:
    """Drop the marks, and put the cursor on the next row without an answer on its way; `going` has their keys."""
    rows.marks.clear()
    model = rows.model
    places = [*range(model.cursor, len(model)), *range(model.cursor - 1, -1, -1)]
    open_keys = (model.row(place).key for place in places if model.row(place).key not in going)
    if key := next(open_keys, ""):
        rows.select_key(key)
