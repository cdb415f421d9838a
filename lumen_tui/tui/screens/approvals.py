"""A worker's question: its page in full, and the keys that answer it; the next one comes by itself."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import Port
from lumen_tui.model import ids
from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.queries.pages import git_branch
from lumen_tui.storage.files import StoreError
from lumen_tui.tui.host import appearance_of, host_of, show_why
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import KeysLine, command_of, key_of
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, line
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.reasons import REASONS
from lumen_tui.tui.kit.screen import DetailScreen, Keys, retitle
from lumen_tui.tui.kit.verdict import shown_answers
from lumen_tui.tui.screens.approval_answer import AnswerSender, NeedsHost, reaches
from lumen_tui.tui.screens.approval_page import (
    Around,
    ages,
    answer_words,
    as_text,
    call_part,
    page,
    steps_before,
    whole,
)
from lumen_tui.tui.screens.task_transcript import Entry

_MOST_OTHERS = 6  # waiting ones that the frame names
_NOBODY = "No pending approvals. {back} goes back; {undo} undoes your last answer."


class ApprovalPaper(DetailScreen[str]):
    """Shows `_request`, or that there is none. Answers nothing."""

    SCOPE = "paper"

    def __init__(self, snapshot: Snapshot, approval_id: str, needs_host: NeedsHost) -> None:
        super().__init__("Approval request")
        self._snapshot = snapshot
        self._now = snapshot.taken
        self._needs_host = needs_host
        requests = (request for request in snapshot.approvals if request.id == approval_id)
        self._request: Approval | None = next(requests, None)
        self._answered = ""  # what became of the question that is shown, where it waits no more
        self._branch = ""  # of the folder in which the call would be made
        self._steps: Sequence[Entry] = ()  # of the task, before the call
        self._expanded = False
        self._call_lines = 0  # lines of the page up to the end of the call
        self._lines = ScrolledLines(self._page)

    def body(self) -> ComposeResult:
        yield self._lines
        yield StatusLine()

    def _page(self, width: int, _height: int) -> list[list[Segment]]:
        request = self._request
        if request is None:
            nobody = _NOBODY.format(back=key_of(self, "back"), undo=key_of(self, "undo"))
            return [line(width, (Cell(nobody, appearance_of(self.app).ink.muted),))]
        look = appearance_of(self.app)
        self._call_lines = len(call_part(request, self._now, width, look, self._answered, self._branch))
        tasks = live_ones(self._snapshot.tasks)
        task = next((view for view in tasks if view.id == request.task_id), None)
        objective = task.spec.objective if task is not None else ""
        around = Around(objective, task, self._branch, self._steps, self._choices(), self._expanded)
        sandbox = self._needs_host.sandbox(request)
        return page(request, around, self._now, width, look, sandbox=sandbox, answered=self._answered)

    def _choices(self) -> list[tuple[str, str, str]]:
        """Return the keys that answer, with what each does."""
        helps = {
            "answer_allow": "this call, once",
            "answer_deny": f"{shown_answers(REASONS['approval.deny'], None)}  {key_of(self, 'verdict_write')} another",
            "answer_always": shown_answers(reaches(self._request.role if self._request else ""), None),
            "answer_snooze": "for an hour",
            "approval_expand": "the raw call and its hash",
        }
        offered = [command_of(type(self), action) for action in helps]
        able = [command for command in offered if not self.why_not(command)]
        return [(key_of(self, command.action), command.label, helps[command.action]) for command in able]

    def action_expand(self) -> None:
        """Show the raw call as well, or fold it again."""
        self._expanded = not self._expanded
        self._lines.redraw()

    @on(ScrolledLines.Opened)
    def action_task(self) -> None:
        if self._request is not None:
            self._needs_host.open_task(self._request.task_id)

    def action_why(self) -> None:
        """Show what caused the question, and what came of it."""
        if self._request is not None:
            show_why(self.app, self._request.id)

    def action_copy(self) -> None:
        if self._request is not None:
            self.app.copy_to_clipboard(whole_call(self._request))
            self.say("The call is in the clipboard.")

    def action_edit(self) -> None:
        if self._request is None:
            return
        try:
            changed = editor.edit(self.app, as_text(self._request), ".txt")
        except editor.NoEditor as error:
            self.say(str(error), bad=True)
            return
        self.say("The request stays as the worker wrote it." if changed else "")


def _steps_of(port: Port, request: Approval) -> Sequence[Entry]:
    try:
        return steps_before(port.task_detail(request.task_id).events)
    except (ActionError, StoreError):
        return ()  # its page tells what is wrong with the task


def _branch_of(folder: str) -> str:
    """Ask git; where that would run what the checkout configures, or there is none, its files say less."""
    from lumen_tui.tools.shell.git_status import standing

    return standing(folder, environ=os.environ) or git_branch(folder)


NEXT, PREVIOUS = "next", "previous"  # what it answers where somebody wants to go on


class ApprovalScreen(ApprovalPaper):
    """Stays while questions wait. Answers NEXT or PREVIOUS, else None."""

    SCOPE = "approval"

    def __init__(self, snapshot: Snapshot, approval_id: str, needs_host: NeedsHost) -> None:
        super().__init__(snapshot, approval_id, needs_host)
        self.answers: AnswerSender | None = None
        self._undone = 0.0  # when something was taken back last: a question from before that, once back, is shown

    def keys(self) -> Keys:
        self._refusal = self._needs_host.refusal()
        others = (*self.offer("undo"), (f"{key_of(self, 'next_need')} {key_of(self, 'previous_need')}", "others"))
        if self._request is None:
            return (*others, *self.offer("back"))
        answers = () if self._answered else self.offer("answer_allow", "answer_deny", "answer_always", "answer_snooze")
        page_keys = self.offer("approval_task", "approval_expand", "why", "approval_editor", "approval_copy", "back")
        return (*answers, *others, *page_keys)

    def on_mount(self) -> None:
        self.answers = AnswerSender(self, self._needs_host, self._moved)
        self._lines.focus()
        self._ask_clock()
        self._redraw()
        if self._request is not None:
            self._look_around(self._request)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot; what was answered or ran out gives way to the next one."""
        going = self.answers.going if self.answers is not None else set()
        # An answer may be taken back before its request ever left the snapshot: what is on its way counts as new.
        known_ids = {approval.id for approval in self._snapshot.approvals} - going
        new = (approval for approval in snapshot.approvals if approval.id not in known_ids)
        undone = next((approval for approval in new if approval.asked < self._undone), None)
        self._snapshot, self._now = snapshot, snapshot.taken
        going &= {approval.id for approval in snapshot.approvals}
        if undone is not None:
            self._undone = 0.0
            going.discard(undone.id)
            self._turn_to(undone)
        elif self._request is None:
            self._advance()
            if self._request is not None:
                self.say("This request just arrived.")  # the word that stood here was about another
        elif all(approval.id != self._request.id for approval in snapshot.approvals):
            self._look(self._request)
        else:
            self._answered = ""  # perhaps it was taken back
            self._redraw()

    @work(group="around", exclusive=True)
    async def _look_around(self, request: Approval) -> None:
        """Read the steps before it, and what its folder stands on. The page can be answered without."""
        if (host := host_of(self.app)) is not None:
            steps = await looked(self, _steps_of, host.port, request, holds_keys=False)
            self._learn(request, steps=steps)
        if request.folder:
            branch = await looked(self, _branch_of, request.folder, holds_keys=False)
            self._learn(request, branch=branch)

    def _learn(self, request: Approval, *, steps: Sequence[Entry] = (), branch: str = "") -> None:
        """Show what was read, unless another question is shown by now."""
        if (steps or branch) and self._request is request:
            self._steps, self._branch = steps or self._steps, branch or self._branch
            self._lines.redraw()

    @work(group="answer", exclusive=True)
    async def _look(self, request: Approval) -> None:
        """Answered elsewhere, or over. The page stays, so that a key that is on its way answers no other question."""
        answer = await looked(self, self._needs_host.answer, request.id)
        if self._request is not request or any(approval.id == request.id for approval in self._snapshot.approvals):
            return
        self._answered = answer_words(answer, request, self._now)
        self.say(f"It is no longer pending; {key_of(self, 'next_need')} shows the next one.")
        self._redraw()

    def tick(self, now: float) -> None:
        """Count ages with the room's clock, as the list does. The page is laid out again where they moved."""
        before, self._now = self._now, now
        if self._request is not None and ages(self._request, before) != ages(self._request, now):
            self._lines.redraw()

    def _ask_clock(self) -> None:
        if (host := host_of(self.app)) is not None:
            self._now = host.clock()

    def _redraw(self) -> None:
        self._lines.redraw()
        self.query_one(KeysLine).show(self.keys())
        mine = self._request.id if self._request else ""
        snoozed = {need.target for need in self._snapshot.snoozed} - {mine}
        waiting = [approval for approval in self._snapshot.approvals if approval.id not in snoozed]
        names = [approval.id for approval in waiting]
        here = names.index(mine) + 1 if mine in names else 0
        heading = (
            f"Approval request: {here} of {len(waiting)}"
            if here
            else "Answered"
            if self._request
            else "No pending approvals"
        )
        others = [ids.short(approval.task_id) for approval in waiting if approval.id != mine]
        aside = f"waiting: {' '.join(others[:_MOST_OTHERS])}" if others else ""
        retitle(self, heading, aside or f"needs you: {len(self._snapshot.attention)}")

    def _moved(self, sent: bool) -> None:
        if sent or self._request is None:
            self._advance()

    def _advance(self, off: str = "") -> None:
        """The next question that has no answer yet, after the one that was shown; none ends the screen's work.

        What was put off is passed over, with `off`, which was just now.
        """
        passed = {off, *(need.target for need in self._snapshot.snoozed)}
        if self.answers is not None:
            passed |= self.answers.going
        waiting = [approval for approval in self._snapshot.approvals if approval.id not in passed]
        asked_at = self._request.asked if self._request else 0.0
        later = [approval for approval in waiting if approval.asked > asked_at]
        self._turn_to(next(iter(later or waiting), None))

    def _turn_to(self, request: Approval | None) -> None:
        self._request, self._answered, self._expanded = request, "", False
        self._branch, self._steps = "", ()
        self._lines.top = 0
        if request is not None:
            self._look_around(request)
        self._redraw()

    def action_answer(self, verb: str) -> None:
        """Answer the question that is shown, put it off for an hour, or take the last answer back."""
        if verb == "undo":
            self._undo()
        elif self._answered:
            self.say(f"Already answered: {self._answered}", bad=True)
        elif self.answers is not None:
            self._answer(self.answers, verb)

    def _answer(self, answers: AnswerSender, verb: str) -> None:
        asked = [self._request] if self._request else []
        if verb == "allow":
            end = self._lines.top + self._lines.size.height
            shown = all(whole(request) for request in asked)
            answers.allow(asked, seen=shown and end >= self._call_lines)
        elif verb == "deny":
            answers.deny(asked)
        elif verb == "always":
            answers.always(self._request)
        else:
            targets = {request.id for request in asked}
            answers.snooze([need for need in self._snapshot.attention if need.target in targets], self._advance)

    def _undo(self) -> None:
        if refusal := self._needs_host.refusal():
            self.say(f"undo: {refusal}", bad=True)
            return
        self._ask_clock()
        self._undone = self._now
        self._needs_host.send(Undo(), self.say)

    def action_leave_to(self, where: str) -> None:
        """Turn to the approval before or after this one; beyond the first and the last, leave for other needs."""
        passed = {need.target for need in self._snapshot.snoozed}
        waiting = [approval for approval in self._snapshot.approvals if approval.id not in passed]
        if (here := self._request) is not None:
            mine, after = (here.asked_at, here.id), where == NEXT  # in the order in which they are listed
            waiting = [each for each in waiting if each.id != here.id and ((each.asked_at, each.id) > mine) == after]
        if waiting:
            self._turn_to(waiting[0 if where == NEXT else -1])
        else:
            self.dismiss(where)
