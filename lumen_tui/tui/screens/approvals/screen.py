"""One question of a worker in full, and the keys that answer it; the next one comes by itself."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from lumen_tui.model.approvals import Approval, whole_call
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys_line import KeysLine
from lumen_tui.tui.kit.lines import ScrolledLines
from lumen_tui.tui.kit.parts import Said
from lumen_tui.tui.kit.rows_sheet import appearance_of, show_why
from lumen_tui.tui.kit.screen import DetailScreen, Keys
from lumen_tui.tui.screens.approvals.answers import Answers, Desk
from lumen_tui.tui.screens.approvals.view import ages, answer_words, as_text, page, whole

_NOBODY = "No worker waits for an answer. esc goes back; u takes your last answer back."


class ApprovalPaper(DetailScreen[str]):
    """Shows `_request`, or that there is none. Answers nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "why", show=False),
        Binding("e", "edit", show=False),
        Binding("Y", "copy", show=False),
        Binding("enter", "task", show=False),
    ]

    def __init__(self, snapshot: Snapshot, approval_id: str, desk: Desk) -> None:
        super().__init__("A worker asks")
        self._snapshot, self._now = snapshot, snapshot.taken
        self._desk = desk
        self._request: Approval | None = next((one for one in snapshot.approvals if one.id == approval_id), None)
        self._answered = ""  # what became of the question that is shown, where it waits no more
        self._lines = ScrolledLines(self._page)

    def body(self) -> ComposeResult:
        yield self._lines
        yield Said()

    def _page(self, width: int, _height: int) -> list[list[Segment]]:
        request = self._request
        if request is None:
            return [line(width, (Cell(_NOBODY, appearance_of(self.app).ink.muted),))]
        tasks = live_ones(self._snapshot.tasks)
        objective = next((view.spec.objective for view in tasks if view.id == request.task_id), "")
        walls = self._desk.walls(request)
        return page(request, objective, self._now, width, appearance_of(self.app), walls=walls, answered=self._answered)

    @on(ScrolledLines.Opened)
    def action_task(self) -> None:
        if self._request is not None:
            self._desk.open_task(self._request.task_id)

    def action_why(self) -> None:
        """What caused the question, and what came of it."""
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
        self.say("What is asked stays as the worker wrote it." if changed else "")


NEXT, PREVIOUS = "next", "previous"  # what it answers where somebody wants to go on


class ApprovalScreen(ApprovalPaper):
    """Stays while questions wait. Answers NEXT or PREVIOUS, else None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "allow", show=False),
        Binding("d", "deny", show=False),
        Binding("A", "always", show=False),
        Binding("u", "undo", show=False),
        Binding("z", "snooze", show=False),
        Binding("n", f"leave_to('{NEXT}')", show=False, id="next_need"),
        Binding("N", f"leave_to('{PREVIOUS}')", show=False, id="previous_need"),
    ]

    def __init__(self, snapshot: Snapshot, approval_id: str, desk: Desk) -> None:
        super().__init__(snapshot, approval_id, desk)
        self._answers: Answers | None = None
        self._undone = 0.0  # when something was taken back last: a question from before that, once back, is shown

    def keys(self) -> Keys:
        only_looks = bool(self._desk.refusal())
        others = (*(() if only_looks else (("u", "undo"),)), ("n N", "others"))
        if self._request is None:
            return (*others, ("esc", "back"))
        answers = (("y", "allow"), ("d", "deny"), ("A", "allow always"), ("z", "in an hour"))
        rest = (("enter", "task"), ("w", "why"), ("e", "editor"), ("Y", "copy"), ("esc", "back"))
        return (*(() if self._answered or only_looks else answers), *others, *rest)

    def on_mount(self) -> None:
        self._answers = Answers(self, self._desk, self._moved)
        self._lines.focus()
        self._ask_clock()
        self._redraw()

    @property
    def _asked(self) -> list[Approval]:
        return [self._request] if self._request else []

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture; what was answered or ran out gives way to the next one."""
        going = self._answers.going if self._answers is not None else set()
        known = {one.id for one in self._snapshot.approvals} - going  # an answer may be back before it was ever gone
        new = (one for one in snapshot.approvals if one.id not in known)
        back = next((one for one in new if one.asked < self._undone), None)
        self._snapshot, self._now = snapshot, snapshot.taken
        going &= {one.id for one in snapshot.approvals}
        if back is not None:
            self._undone = 0.0
            going.discard(back.id)
            self._turn_to(back)
        elif self._request is None:
            self._advance()
            if self._request is not None:
                self.say("This came in just now.")  # the word that stood here was about another
        elif all(one.id != self._request.id for one in snapshot.approvals):
            self._look(self._request)
        else:
            self._answered = ""  # perhaps it was taken back
            self._redraw()

    @work(group="answer", exclusive=True)
    async def _look(self, request: Approval) -> None:
        """Answered elsewhere, or over. The page stays, so that a key that is on its way answers no other question."""
        answer = await looked(self, self._desk.answer, request.id)
        if self._request is not request or any(one.id == request.id for one in self._snapshot.approvals):
            return
        self._answered = answer_words(answer, request, self._now)
        self.say("It waits for no answer any more; n goes on.")
        self._redraw()

    def tick(self, now: float) -> None:
        """With the room's clock, as the list: both say the same minutes. The page is laid out anew where they moved."""
        before, self._now = self._now, now
        if self._request is not None and ages(self._request, before) != ages(self._request, now):
            self._lines.redraw()

    def _ask_clock(self) -> None:
        clock = getattr(self.app, "clock", None)
        self._now = clock() if clock is not None else self._now

    def _redraw(self) -> None:
        self._lines.redraw()
        self.query_one(KeysLine).show(self.keys())
        mine = self._request.id if self._request else ""
        off = {one.target for one in self._snapshot.snoozed} - {mine}
        waiting = [one for one in self._snapshot.approvals if one.id not in off]
        names = [one.id for one in waiting]
        here = names.index(mine) + 1 if mine in names else 0
        heading = (
            f"A worker asks: {here} of {len(waiting)}" if here else "Answered" if self._request else "No worker asks"
        )
        self.retitle(heading, f"needs you: {len(self._snapshot.attention)}")

    def _moved(self, sent: bool) -> None:
        if sent or self._request is None:
            self._advance()

    def _advance(self, off: str = "") -> None:
        """The next question that has no answer yet, after the one that was shown; none ends the screen's work.

        What was put off is passed over, with `off`, which was just now.
        """
        passed = {off, *(one.target for one in self._snapshot.snoozed), *(self._answers.going if self._answers else ())}
        waiting = [one for one in self._snapshot.approvals if one.id not in passed]
        asked = self._request.asked if self._request else 0.0
        self._turn_to(next((one for one in waiting if one.asked > asked), waiting[0] if waiting else None))

    def _turn_to(self, request: Approval | None) -> None:
        self._request, self._answered = request, ""
        self._lines.top = 0
        self._redraw()

    @property
    def _open(self) -> Answers | None:
        """What answers the question that is shown; None where it has its answer."""
        if self._answered:
            self.say(f"It has its answer: {self._answered}", bad=True)
        return None if self._answered else self._answers

    def action_allow(self) -> None:
        if answers := self._open:
            end = self._lines.top + self._lines.size.height
            shown = all(whole(one) for one in self._asked)
            answers.allow(self._asked, seen=shown and end >= len(self._lines.strips()))

    def action_deny(self) -> None:
        if answers := self._open:
            answers.deny(self._asked)

    def action_always(self) -> None:
        if answers := self._open:
            answers.always(self._request)

    def action_snooze(self) -> None:
        """Off the list for an hour, and on to the next."""
        if answers := self._open:
            asked = {one.id for one in self._asked}
            answers.snooze([need for need in self._snapshot.attention if need.target in asked], self._advance)

    def action_undo(self) -> None:
        if why := self._desk.refusal():
            self.say(f"undo: {why}", bad=True)
            return
        self._ask_clock()
        self._undone = self._now
        self._desk.send("undo", self.say)

    def action_leave_to(self, where: str) -> None:
        self.dismiss(where)
