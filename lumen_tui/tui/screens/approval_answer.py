"""Answering approval requests: which calls are risky, what is asked before a yes, the rule behind "always", sending."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from textual.app import App
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.approvals import (
    COMMANDS,
    ROLE,
    TASK,
    Approval,
    Decision,
    also_covered,
    no_rule,
    preview_rule,
    rule_of,
    whole_call,
)
from lumen_tui.model.requests.attention import AllowAlways, AllowCalls, DenyCalls, SnoozeItems
from lumen_tui.model.requests.base import Request
from lumen_tui.model.snapshot import Attention
from lumen_tui.model.text import one_line, safe
from lumen_tui.tui import words
from lumen_tui.tui.host import VerdictQuestion, host_of
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.keys import key_of
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.screens.approval_risks import SandboxView, high

_COMMAND = "the whole command, or its beginning and ` *`"
_HELP = {"shell": _COMMAND, "shell_start": _COMMAND}


def reaches(role: str) -> tuple[str, str, str]:
    """Return how far "allow always" may go, in the order of its digits."""
    return ("this task", f"each task of {one_line(role, 14)}", "your pattern")


class RuleConfirm(ConfirmKey):
    """Shows the rule; `e` leaves it to `edit` instead."""

    SCOPE = "rule"

    def __init__(
        self, title: str, lines: Iterable[str], rule: str, edit: Callable[[], None], call: tuple[str, str]
    ) -> None:
        super().__init__(title, lines, _YES, "save the rule and allow", [("the rule", rule), call])
        self._edit = edit

    def keys(self) -> Keys:
        first, *others = super().keys()
        return (first, *self.offer("rule_pattern"), *others)

    def action_edit(self) -> None:
        self.dismiss(False)
        self._edit()


class PatternForm(FormScreen[str]):
    """Answers with a pattern that is narrow enough and covers the call."""

    SEND = "review the rule"

    def __init__(self, request: Approval, pattern: str, scope: str) -> None:
        super().__init__("The rule's pattern")
        self._request, self._pattern, self._scope = request, pattern, scope

    def rows(self) -> Iterable[Widget]:
        help = _HELP.get(self._request.tool, "* matches anything")
        yield row("covers", TextField(value=self._pattern, id="pattern"), note=help)

    def preview(self) -> Content:
        return Content(safe(preview_rule(self._request, self.query_one("#pattern", TextField).text, self._scope)))

    def read(self) -> str:
        from lumen_tui.actions.approvals import rule_for  # only once a pattern was typed

        text = self.query_one("#pattern", TextField).text.strip()
        try:
            return rule_for(self._request, text, self._scope, by="", now=0.0).pattern
        except ActionError as error:
            raise Invalid(str(error), "pattern") from error


_REST = 0.3  # seconds in which a key that is held down answers nothing more

_YES = "confirm_allow"  # the command that confirms

Report = Callable[[str, bool], None]  # a sentence, and whether it is bad news


class Send(Protocol):
    """Carries out one action after the other, in the order in which they were asked for."""

    def __call__(self, request: Request, report: Report) -> None: ...


@dataclass(frozen=True)
class NeedsHost:
    """What a screen about needs may ask of the room."""

    send: Send
    ask_reason: Callable[[str, str, Callable[[str], None]], None]  # title, verb, what gets the reason
    refusal: Callable[[], str]  # why nothing can be written, or empty
    open_task: Callable[[str], None]
    snooze: Callable[[Attention], tuple[str, str]]  # what to dismiss under which name, or why not
    hour: Callable[[Attention], tuple[float, str]]  # for how many seconds it can be put off, or why it cannot
    sandbox: Callable[[Approval], SandboxView]  # around the worker that asks
    answer: Callable[[str], Decision | None]  # the answer on file; touches the disk
    waiting: Callable[[], Sequence[Approval]]  # every question that is open
    reply: Callable[[Attention], None]  # to a question or a signal
    tell: Callable[[str], None]  # something to a task


class AnswerPlace(Protocol):
    """Where somebody answers."""

    @property
    def app(self) -> App[Any]:
        """The application, as Textual has it."""

    @property
    def there(self) -> bool:
        """Whether it is open."""

    def say(self, text: str, bad: bool = False) -> None:
        """Show a sentence."""


class AnswerSender:
    """One for a screen. `going` holds the ids whose answer is on its way.

    `moved` is called when that changed: with True where an answer was sent, with False where one failed.
    """

    def __init__(self, screen: AnswerPlace, needs_host: NeedsHost, moved: Callable[[bool], None]) -> None:
        self._screen, self._app, self._needs_host, self._moved = screen, screen.app, needs_host, moved
        self.going: set[str] = set()
        self._rests = False
        self._timer: Timer | None = None

    def allow(self, requests: Sequence[Approval], *, seen: bool) -> None:
        """Yes, once. `seen` means that the whole call stood on the screen; else it is shown first."""
        if not self._may("allow", requests):
            return
        risks = [risk for request in requests if (risk := self._risk(request))]
        if seen and len(requests) == 1 and not risks:
            self._allow(requests)
            return
        lines = [words.plural(len(requests), "call"), *(f"Risk is high: {risk}." for risk in dict.fromkeys(risks))]
        quoted = [_quoted(request) for request in requests]
        dialog = ConfirmKey("Allow this?", lines, _YES, "allow it" if len(requests) == 1 else "allow all", quoted)
        self._app.push_screen(dialog, lambda sure: self._allow(requests) if sure else None)

    def _allow(self, requests: Sequence[Approval]) -> None:
        self._answer(AllowCalls, requests)

    def deny(self, requests: Sequence[Approval]) -> None:
        """No, with a reason that goes back to the worker."""
        if not self._may("deny", requests):
            return
        title = f"{requests[0].role}'s call" if len(requests) == 1 else words.plural(len(requests), "call")
        self._needs_host.ask_reason(
            f"Deny {title}", "approval.deny", lambda reason: self._answer(DenyCalls, requests, reason)
        )

    def always(self, request: Approval | None) -> None:
        """Yes for more than once: how far is asked, and the rule is shown before it is saved."""
        requests = [request] if request else []
        if not self._may("allow always", requests) or request is None:
            return
        if obstacle := no_rule(request):
            self._screen.say(f"allow always: {obstacle}", True)
            return
        if (host := host_of(self._app)) is not None:
            ways = reaches(request.role)
            host.verdicts.ask(VerdictQuestion("allow always", ways, lambda place: self._always_as_far(request, place)))

    def _always_as_far(self, request: Approval, place: int) -> None:
        scope = (TASK, ROLE, ROLE)[place]
        if place == 2:
            form = PatternForm(request, request.rule, scope)
            self._app.push_screen(form, lambda typed: self._show_rule(request, typed, scope) if typed else None)
            return
        exact = request.tool in COMMANDS and request.rule.endswith(" *")
        self._show_rule(request, whole_call(request) if exact else request.rule, scope)

    def _show_rule(self, request: Approval, pattern: str, scope: str) -> None:
        reason = self._risk(request)
        risk = [f"Risk is high: {reason}."] if reason else []
        others = [other for other in self._needs_host.waiting() if other.id != request.id]
        count = len(also_covered(rule_of(request, pattern, scope), others))
        also = [f"It also allows {words.plural(count, 'other call')} that wait{'s' if count == 1 else ''} now."]
        undo = key_of(self._app.screen, "undo")
        lines = [f"This rule will be saved in operator.toml; {undo} removes it again.", *(also if count else ()), *risk]
        title = "Allow always?" if scope == ROLE else "Allow until this task ends?"
        edit = partial(self._edit_rule, request, pattern, scope)
        dialog = RuleConfirm(title, lines, preview_rule(request, pattern, scope), edit, _quoted(request))
        self._app.push_screen(dialog, lambda sure: self._always(request, pattern, scope) if sure else None)

    def _edit_rule(self, request: Approval, pattern: str, scope: str) -> None:
        form = PatternForm(request, pattern, scope)
        self._app.push_screen(form, lambda typed: self._show_rule(request, typed or pattern, scope))

    def _always(self, request: Approval, pattern: str, scope: str) -> None:
        own = pattern if pattern != request.rule else ""
        self.send([request.id], AllowAlways(approval_id=request.id, hash=request.hash, pattern=own, scope=scope))

    def _risk(self, request: Approval) -> str:
        return high(request, self._needs_host.sandbox(request))

    def snooze(self, needs: Sequence[Attention], done: Callable[[str], None]) -> None:
        """Put needs off for an hour; `done` gets the target of each once that is on file."""
        refusal = self._needs_host.refusal() or ("" if needs else "nothing is selected")
        for need in needs if not refusal else ():
            seconds, need_refusal = self._needs_host.hour(need)
            if need_refusal:
                self._screen.say(need_refusal, True)
                continue
            report = partial(self._snoozed, need.target, done)
            self._needs_host.send(SnoozeItems(targets=[need.target], seconds=seconds), report)
        if refusal:
            self._screen.say(f"snooze: {refusal}", True)

    def _snoozed(self, target: str, done: Callable[[str], None], text: str, bad: bool) -> None:
        if not bad and self._screen.there:
            done(target)
        self._screen.say(text, bad)

    def _may(self, label: str, requests: Sequence[Approval]) -> bool:
        refusal = self._needs_host.refusal()
        if not refusal and not requests:
            refusal = "no approval is pending here"
        if not refusal and all(request.id in self.going for request in requests):
            refusal = "its answer is being sent"
        if not refusal and self._rests:
            refusal = "this is the next one; press the key again"
            self._rest()
        if refusal:
            self._screen.say(f"{label}: {refusal}", True)
        return not refusal

    def _answer(self, kind: type[AllowCalls | DenyCalls], approvals: Sequence[Approval], reason: str = "") -> None:
        shown = approvals[0].hash if len(approvals) == 1 else ""
        approval_ids = [approval.id for approval in approvals]
        self.send(approval_ids, kind(approval_ids=approval_ids, reason=reason, hash=shown))

    def send(self, keys: Sequence[str], request: Request) -> None:
        """Carry out one action. `keys` are on their way until it failed or they are gone from the snapshot."""

        def report(text: str, bad: bool) -> None:
            if bad and self._screen.there:
                self.going.difference_update(keys)
                self._moved(False)
            self._screen.say(text, bad)

        self.going.update(keys)
        self._needs_host.send(request, report)
        self._rest()
        self._moved(True)

    def _rest(self) -> None:
        """Answer nothing for a moment, again for each key that comes meanwhile."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_timer(_REST, self._ready)
        self._rests = True

    def _ready(self) -> None:
        self._rests = False


def _quoted(request: Approval) -> tuple[str, str]:
    """Who asks, and every character of what for."""
    return _who(request), "\n\n".join(part for part in (request.diff, whole_call(request)) if part)


def _who(request: Approval) -> str:
    where = f", in {request.folder}" if request.folder else ""
    return f"{request.role} wants to use {request.tool}{where}."
