"""Answering questions of workers: what is asked before each answer, the rule behind a yes for good, how it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.approvals import AllowRule, Approval, Decision, also_covered, no_rule, preview_rule, whole_call
from lumen_tui.model.snapshot import Attention
from lumen_tui.model.text import safe
from lumen_tui.tui import words
from lumen_tui.tui.kit.confirm import ConfirmKey
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, Keys, row
from lumen_tui.tui.screens.approvals.risk import Walls, high

_COMMAND = "the whole command, or its beginning and ` *`"
_HELP = {"shell": _COMMAND, "shell_start": _COMMAND}


class RuleConfirm(ConfirmKey):
    """Shows the rule; `e` leaves it to `edit` instead."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", show=False)]

    def __init__(
        self, lines: Iterable[str], key: str, rule: str, edit: Callable[[], None], call: tuple[str, str]
    ) -> None:
        super().__init__("Allow always?", lines, key, "save the rule and allow", [("the rule", rule), call])
        self._edit = edit

    def keys(self) -> Keys:
        first, *rest = super().keys()
        return (first, ("e", "edit its pattern"), *rest)

    def action_edit(self) -> None:
        self.dismiss(False)
        self._edit()


class PatternForm(FormScreen[str]):
    """Answers with a pattern that is narrow enough and covers the call."""

    SEND = "look at the rule"

    def __init__(self, request: Approval, pattern: str) -> None:
        super().__init__("The rule's pattern")
        self._request, self._pattern = request, pattern

    def rows(self) -> Iterable[Widget]:
        help = _HELP.get(self._request.tool, "* stands for anything")
        yield row("covers", Line(value=self._pattern, id="pattern"), note=help)

    def preview(self) -> Content:
        return Content(safe(preview_rule(self._request, self.query_one("#pattern", Line).text)))

    def read(self) -> str:
        from lumen_tui.actions.approvals import rule_for  # only once a pattern was typed

        text = self.query_one("#pattern", Line).text.strip()
        try:
            return rule_for(self._request, text, by="", now=0.0).pattern
        except ActionError as error:
            raise Invalid(str(error), "pattern") from error


_REST = 0.3  # seconds in which a key that is held down answers nothing more

YES = "a"  # confirms; another key than the `y` and `A` that ask: a key that is hit twice answers nothing

Told = Callable[[str, bool], None]  # a sentence, and whether it is bad news


class Send(Protocol):
    """Carries out one action after the other, in the order in which they were asked for."""

    def __call__(self, verb: str, told: Told, **arguments: Any) -> None: ...


@dataclass(frozen=True)
class Desk:
    """What a screen about needs may ask of the room."""

    send: Send
    ask_reason: Callable[[str, str, Callable[[str], None]], None]  # title, verb, what gets the reason
    refusal: Callable[[], str]  # why nothing can be written, or empty
    open_task: Callable[[str], None]
    snooze: Callable[[Attention], tuple[str, str]]  # what to put aside under which name, or why not
    hour: Callable[[Attention], tuple[float, str]]  # for how many seconds it can be put off, or why it cannot
    walls: Callable[[Approval], Walls]  # what stands around the worker that asks
    answer: Callable[[str], Decision | None]  # the answer on file; touches the disk
    waiting: Callable[[], Sequence[Approval]]  # every question that is open


class Answers:
    """One for a screen. `going` holds the ids whose answer is on its way.

    `moved` is called when that changed: with True where an answer was sent, with False where one failed.
    """

    def __init__(self, screen: DetailScreen[Any], desk: Desk, moved: Callable[[bool], None]) -> None:
        self._screen, self._app, self._desk, self._moved = screen, screen.app, desk, moved
        self.going: set[str] = set()
        self._rests = False
        self._timer: Timer | None = None

    def allow(self, requests: Sequence[Approval], *, seen: bool) -> None:
        """Yes, once. `seen` means that the whole call stood on the screen; else it is shown first."""
        if not self._may("allow", requests):
            return
        risks = [why for one in requests if (why := self._risk(one))]
        if seen and len(requests) == 1 and not risks:
            self._allow(requests)
            return
        lines = [words.plural(len(requests), "call"), *(f"Risk is high: {why}." for why in dict.fromkeys(risks))]
        quoted = [_quoted(one) for one in requests]
        asked = ConfirmKey("Allow this?", lines, YES, "allow it" if len(requests) == 1 else "allow all", quoted)
        self._app.push_screen(asked, lambda sure: self._allow(requests) if sure else None)

    def _allow(self, requests: Sequence[Approval]) -> None:
        self._send("approval.allow", requests)

    def deny(self, requests: Sequence[Approval]) -> None:
        """No, with a reason that goes back to the worker."""
        if not self._may("deny", requests):
            return
        what = f"{requests[0].role}'s call" if len(requests) == 1 else words.plural(len(requests), "call")
        self._desk.ask_reason(
            f"Say no to {what}", "approval.deny", lambda why: self._send("approval.deny", requests, reason=why)
        )

    def always(self, request: Approval | None) -> None:
        """Yes for good: the rule is shown before it is saved."""
        requests = [request] if request else []
        if not self._may("allow always", requests) or request is None:
            return
        if why := no_rule(request):
            self._screen.say(f"allow always: {why}", True)
            return
        self._show_rule(request, request.rule)

    def _show_rule(self, request: Approval, pattern: str) -> None:
        risk = [f"Risk is high: {why}." for why in [self._risk(request)] if why]
        others = [one for one in self._desk.waiting() if one.id != request.id]
        saved = AllowRule(request.tool, request.role, pattern, request.folder, request.unwalled)
        count = len(also_covered(saved, others))
        also = [f"It also allows {words.plural(count, 'other call')} that wait{'s' if count == 1 else ''} now."]
        lines = ["This rule will be saved in operator.toml; u takes it out again.", *(also if count else ()), *risk]
        rule = preview_rule(request, pattern)
        asked = RuleConfirm(lines, YES, rule, lambda: self._edit_rule(request, pattern), _quoted(request))
        self._app.push_screen(asked, lambda sure: self._always(request, pattern) if sure else None)

    def _edit_rule(self, request: Approval, pattern: str) -> None:
        form = PatternForm(request, pattern)
        self._app.push_screen(form, lambda typed: self._show_rule(request, typed or pattern))

    def _always(self, request: Approval, pattern: str) -> None:
        own = {"pattern": pattern} if pattern != request.rule else {}
        self._sent([request], "approval.allow_always", approval_id=request.id, hash=request.hash, **own)

    def _risk(self, request: Approval) -> str:
        return high(request, self._desk.walls(request))

    def snooze(self, needs: Sequence[Attention], done: Callable[[str], None]) -> None:
        """Put needs off for an hour; `done` gets the target of each once that is on file."""
        why = self._desk.refusal() or ("" if needs else "nothing is chosen")
        for need in needs if not why else ():
            seconds, why_not = self._desk.hour(need)
            if why_not:
                self._screen.say(why_not, True)
                continue
            told = partial(self._snoozed, need.target, done)
            self._desk.send("attention.snooze", told, targets=[need.target], seconds=seconds)
        if why:
            self._screen.say(f"snooze: {why}", True)

    def _snoozed(self, target: str, done: Callable[[str], None], text: str, bad: bool) -> None:
        if not bad and self._screen.there:
            done(target)
        self._screen.say(text, bad)

    def _may(self, what: str, requests: Sequence[Approval]) -> bool:
        why = self._desk.refusal()
        if not why and not requests:
            why = "no call of a worker waits here"
        if not why and all(one.id in self.going for one in requests):
            why = "its answer is on its way"
        if not why and self._rests:
            why = "this is the next one; press the key again"
            self._rest()
        if why:
            self._screen.say(f"{what}: {why}", True)
        return not why

    def _send(self, verb: str, requests: Sequence[Approval], reason: str = "") -> None:
        shown = requests[0].hash if len(requests) == 1 else ""
        self._sent(requests, verb, approval_ids=[one.id for one in requests], reason=reason, hash=shown)

    def _sent(self, requests: Sequence[Approval], verb: str, **arguments: Any) -> None:
        self.send([one.id for one in requests], verb, **arguments)

    def send(self, keys: Sequence[str], verb: str, **arguments: Any) -> None:
        """Carry out one action. `keys` are on their way until it failed or they are gone from the picture."""

        def told(text: str, bad: bool) -> None:
            if bad and self._screen.there:
                self.going.difference_update(keys)
                self._moved(False)
            self._screen.say(text, bad)

        self.going.update(keys)
        self._desk.send(verb, told, **arguments)
        self._rest()
        self._moved(True)

    def _rest(self) -> None:
        """Answer nothing for a moment, anew for each key that comes meanwhile."""
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
