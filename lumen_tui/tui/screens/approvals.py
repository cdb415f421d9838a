"""A worker's question: its page in full, and the keys that answer it; the next one comes by itself."""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment
from rich.style import Style
from textual import on, work
from textual.app import ComposeResult

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import Approval, Decision, canonical, no_rule, preview_rule, whole_call
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import live_ones
from lumen_tui.model.text import line_count, one_line, safe
from lumen_tui.tui.host import appearance_of, host_of, show_why
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import KeysLine, key_of
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, line
from lumen_tui.tui.kit.paper import Line, blank, fact, heading, quote, quoted, said
from lumen_tui.tui.kit.parts import StatusLine
from lumen_tui.tui.kit.screen import DetailScreen, Keys, retitle
from lumen_tui.tui.screens.approval_answer import NO_SANDBOX, Answers, NeedsHost, SandboxView, high
from lumen_tui.tui.theme import Appearance

_MOST = 200_000  # characters of a diff or of JSON that are laid out; `e` shows the rest


def left(request: Approval, now: float) -> str:
    """Return what becomes of the question by itself."""
    if now >= request.expires:
        return "expired: auto-denied"
    return f"auto-denied in {times.countdown(request.expires - now)}"


def ages(request: Approval, now: float) -> tuple[str, str]:
    """Return all on the page that moves with time."""
    return times.ago(now - request.asked), left(request, now)


def page(
    request: Approval,
    objective: str,
    now: float,
    width: int,
    look: Appearance,
    *,
    sandbox: SandboxView = NO_SANDBOX,
    answered: str = "",
) -> list[Line]:
    """Return the whole page on `width` cells; `answered` says what became of the question where it waits no more."""
    lines = [*fact("answer", answered, look.ink.accent, width, look)] if answered else []
    lines += _facts(request, objective, now, width, look, sandbox)
    lines += [] if answered else _ahead(request, now, width, look)
    text = whole_call(request)
    if text != canonical(request.tool, request.arguments).decode():
        lines += [blank(width, look), heading(_run_words(text), width, look), *quote(text, width, look)]
    if request.diff:
        plus, minus = counts(request.diff)
        title = f"what would change: +{plus} -{minus}"
        lines += [blank(width, look), heading(title, width, look), *diff(request.diff, width, look)]
    lines += [blank(width, look), heading("the whole call, secrets masked", width, look)]
    lines += quote(_limited(canonical(request.tool, request.arguments).decode()), width, look)
    lines += fact("sha-256", request.hash, look.ink.muted, width, look)
    return lines


def answer_words(answer: Decision | None, request: Approval, now: float) -> str:
    """`allowed by ann, 2 min ago: as agreed`; what is known of a question that waits no more without an answer."""
    if answer is None:
        return "no longer pending: its task has ended, or it expired"
    ago = f", {times.ago(now - at)}" if (at := times.epoch(answer.at)) else ""
    state = answer.ended or ("allowed" if answer.allowed else "refused")
    by = "" if answer.ended else f" by {one_line(answer.by, 60)}"
    for_good = ", and always" if answer.always else ""
    return f"{state}{by}{ago}{for_good}" + (f": {one_line(answer.reason)}" if answer.reason else "")


def _facts(
    request: Approval, objective: str, now: float, width: int, look: Appearance, sandbox: SandboxView
) -> Iterator[Line]:
    ink = look.ink
    attempt = f", attempt {request.attempt}" if request.attempt > 1 else ""
    yield from fact("asks", f"{request.role}, task {ids.short(request.task_id)}{attempt}", ink.text, width, look)
    yield from said("for", objective, width, look)
    yield from fact("uses", request.tool, ink.text, width, look)
    yield from said("in", request.folder, width, look)
    if reason := high(request, sandbox):
        yield from fact("risk", f"high: {reason}", ink.bad, width, look)
    yield from said("" if reason else "risk", request.risk, width, look)
    yield from fact("sandbox", sandbox.words(request.tool), ink.text, width, look)
    yield from said("why", request.why, width, look)
    yield from said("rationale", request.said, width, look)
    yield from fact("asked", f"{times.exact(request.asked)}, {times.ago(now - request.asked)}", ink.text, width, look)


def _ahead(request: Approval, now: float, width: int, look: Appearance) -> Iterator[Line]:
    """Yield what becomes of the question by itself, and what "always" would save."""
    ink = look.ink
    yield from fact("until", f"{times.exact(request.expires)}, {left(request, now)}", ink.accent, width, look)
    rule = preview_rule(request)
    if rule:
        yield from said("always", rule, width, look)
    else:
        yield from fact("always", no_rule(request), ink.muted, width, look)


def _run_words(text: str) -> str:
    count = line_count(text)
    return "what it would run" + (f": {count:,} lines".replace(",", " ") if count > 1 else "")


def whole(request: Approval) -> bool:
    """Return whether the page has room for all of the call and of what would change."""
    return max(len(request.diff), len(canonical(request.tool, request.arguments))) <= _MOST


def diff(text: str, width: int, look: Appearance) -> Iterator[Line]:
    """Told apart by sign and weight: what comes is bold, what goes is grey."""
    for part in safe(_limited(text)).expandtabs(4).split("\n"):
        yield from quoted(part, _weight(part, look), width, look)


def _weight(part: str, look: Appearance) -> Style:
    if part.startswith(("+++", "---", "@@", "diff ", "index ")):
        return look.ink.accent
    return {"+": look.ink.strong, "-": look.ink.muted}.get(part[:1], look.ink.text)


def counts(text: str) -> tuple[int, int]:
    """Return how many lines come and go."""
    lines = [part for part in text.split("\n") if not part.startswith(("+++", "---"))]
    return sum(part.startswith("+") for part in lines), sum(part.startswith("-") for part in lines)


def _limited(text: str) -> str:
    if len(text) <= _MOST:
        return text
    return f"{text[:_MOST]}\n… {len(text) - _MOST:,} more characters: e opens all of it"


def as_text(request: Approval) -> str:
    """Return all of the question for an editor."""
    parts = [
        f"{request.role} asks, task {request.task_id}",
        f"risk: {request.risk}",
        f"why: {request.why}",
        whole_call(request),
        request.diff,
        canonical(request.tool, request.arguments).decode(),
        request.hash,
    ]
    return "\n\n".join(safe(part) for part in parts if part) + "\n"


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
        self._lines = ScrolledLines(self._page)

    def body(self) -> ComposeResult:
        yield self._lines
        yield StatusLine()

    def _page(self, width: int, _height: int) -> list[list[Segment]]:
        request = self._request
        if request is None:
            nobody = _NOBODY.format(back=key_of(self, "back"), undo=key_of(self, "undo"))
            return [line(width, (Cell(nobody, appearance_of(self.app).ink.muted),))]
        tasks = live_ones(self._snapshot.tasks)
        objective = next((view.spec.objective for view in tasks if view.id == request.task_id), "")
        sandbox = self._needs_host.sandbox(request)
        return page(
            request, objective, self._now, width, appearance_of(self.app), sandbox=sandbox, answered=self._answered
        )

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


NEXT, PREVIOUS = "next", "previous"  # what it answers where somebody wants to go on


class ApprovalScreen(ApprovalPaper):
    """Stays while questions wait. Answers NEXT or PREVIOUS, else None."""

    SCOPE = "approval"

    def __init__(self, snapshot: Snapshot, approval_id: str, needs_host: NeedsHost) -> None:
        super().__init__(snapshot, approval_id, needs_host)
        self.answers: Answers | None = None
        self._undone = 0.0  # when something was taken back last: a question from before that, once back, is shown

    def keys(self) -> Keys:
        self._refusal = self._needs_host.refusal()
        others = (*self.offer("undo"), (f"{key_of(self, 'next_need')} {key_of(self, 'previous_need')}", "others"))
        if self._request is None:
            return (*others, *self.offer("back"))
        answers = () if self._answered else self.offer("answer_allow", "answer_deny", "answer_always", "answer_snooze")
        page_keys = self.offer("approval_task", "why", "approval_editor", "approval_copy", "back")
        return (*answers, *others, *page_keys)

    def on_mount(self) -> None:
        self.answers = Answers(self, self._needs_host, self._moved)
        self._lines.focus()
        self._ask_clock()
        self._redraw()

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
        retitle(self, heading, f"needs you: {len(self._snapshot.attention)}")

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
        self._request, self._answered = request, ""
        self._lines.top = 0
        self._redraw()

    def action_answer(self, verb: str) -> None:
        """Answer the question that is shown, put it off for an hour, or take the last answer back."""
        if verb == "undo":
            self._undo()
        elif self._answered:
            self.say(f"Already answered: {self._answered}", bad=True)
        elif self.answers is not None:
            self._answer(self.answers, verb)

    def _answer(self, answers: Answers, verb: str) -> None:
        asked = [self._request] if self._request else []
        if verb == "allow":
            end = self._lines.top + self._lines.size.height
            shown = all(whole(request) for request in asked)
            answers.allow(asked, seen=shown and end >= len(self._lines.strips()))
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
        self.dismiss(where)
