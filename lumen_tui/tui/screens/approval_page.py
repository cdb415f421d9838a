"""The page of a call that waits for an answer: the call first and whole, then its risks, and why it asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.style import Style

from lumen_tui.model import ids, times
from lumen_tui.model.approvals import (
    COMMANDS,
    SEND_MAIL,
    Approval,
    Decision,
    canonical,
    no_rule,
    preview_rule,
    whole_call,
)
from lumen_tui.model.tasks import TaskEvent, TaskView
from lumen_tui.model.text import line_count, one_line, safe
from lumen_tui.tui import words
from lumen_tui.tui.kit.lines import Cell, line, sign
from lumen_tui.tui.kit.paper import LABEL, Line, blank, fact, heading, quote, quoted, said
from lumen_tui.tui.screens.approval_risks import NO_SANDBOX, SandboxView, fails_here, high, reasons
from lumen_tui.tui.screens.task_transcript import Entry, came_of, entries
from lumen_tui.tui.theme import Appearance

_SHOWN = frozenset({"command", "cwd", "timeout", "url"})  # arguments that the page shows beside the raw call
_STEPS = 4  # before the call
_STEP_KINDS = ("text", "call", "error")
_OUTCOME = 30  # most columns of what came of a step
_MOST = 200_000  # characters of a diff or of JSON that are laid out; `e` shows the rest


def left(request: Approval, now: float) -> str:
    """Return what becomes of the question by itself."""
    if now >= request.expires:
        return "expired: auto-denied"
    return f"auto-denied in {times.countdown(request.expires - now)}"


def ages(request: Approval, now: float) -> tuple[str, str]:
    """Return all on the page that moves with time."""
    return times.ago(now - request.asked), left(request, now)


class Around(NamedTuple):
    """What the page says beside the call. `choices` are keys with what each does; `branch` is of the call's folder.

    `steps` are those before the call, the newest last.
    """

    objective: str = ""
    task: TaskView | None = None
    branch: str = ""
    steps: Sequence[Entry] = ()
    choices: Sequence[tuple[str, str, str]] = ()
    expanded: bool = False


def page(
    request: Approval,
    around: Around,
    now: float,
    width: int,
    look: Appearance,
    *,
    sandbox: SandboxView = NO_SANDBOX,
    answered: str = "",
) -> list[Line]:
    """Return the whole page on `width` cells; `answered` says what became of the question where it waits no more."""
    lines = call_part(request, now, width, look, answered, around.branch)
    lines += [*_risks(request, sandbox, width, look), *_rules(request, width, look), blank(width, look)]
    lines += [*_claims(request, around, now, width, look), blank(width, look)]
    if around.choices and not answered:
        lines += [*_choices(around.choices, width, look), blank(width, look)]
    return lines if _says_more(request) else [*lines, *_raw(request, around.expanded, width, look)]


def call_part(
    request: Approval, now: float, width: int, look: Appearance, answered: str = "", branch: str = ""
) -> list[Line]:
    """Return who asks and every character of what for: what a person must have seen before a single key allows it."""
    ink = look.ink
    attempt = f", attempt {request.attempt}" if request.attempt > 1 else ""
    wants = "wants to run a command" if request.tool in COMMANDS else f"wants to use {one_line(request.tool, 60)}"
    end = answered or left(request, now)
    lines = [*fact("asks", f"{one_line(request.role, 60)} {wants}{attempt}", ink.strong, width, look)]
    lines += fact("answer" if answered else "until", end, ink.accent, width, look)
    on_branch = f" (git: {branch})" if branch else ""
    lines += said("folder", f"{request.folder}{on_branch}" if request.folder else "", width, look)
    text = _limited(whole_call(request))
    lines += [blank(width, look), _ruled(_run_words(request, text), width, look), *quote(text, width, look)]
    if request.diff:
        plus, minus = counts(request.diff)
        lines += [_ruled(f"what would change: +{plus} -{minus}", width, look), *diff(request.diff, width, look)]
    if _says_more(request):
        lines += _raw(request, True, width, look)
    return [*lines, _ruled("", width, look)]


def _says_more(request: Approval) -> bool:
    """Return whether a call has arguments that neither the command line nor the folder shows."""
    part = request.tool != SEND_MAIL and whole_call(request) != _json(request)
    return part and bool(request.arguments.keys() - _SHOWN)


def _json(request: Approval) -> str:
    return canonical(request.tool, request.arguments).decode()


def _ruled(text: str, width: int, look: Appearance) -> Line:
    rule = Cell(look.shapes.rule * max(0, width - len(text) - bool(text)), look.ink.faint, gap=bool(text))
    return line(width, (Cell(text, look.ink.heading, len(text)), rule) if text else (rule,))


def _risks(request: Approval, sandbox: SandboxView, width: int, look: Appearance) -> Iterator[Line]:
    """Yield each risk as a reason, and what the sandbox makes of the call."""
    ink, mark = look.ink, look.shapes.alert
    loud = bool(high(request, sandbox))
    for number, reason in enumerate(reasons(request, sandbox)):
        name = "" if number else "HIGH RISK" if loud else "risk"
        yield from fact(name, f"{mark} {reason}", ink.bad if loud else ink.text, width, look)
    yield from said("tool says", request.risk, width, look)
    yield from fact("sandbox", sandbox.words(request.tool), ink.text, width, look)
    if failing := fails_here(request, sandbox):
        yield from fact("", f"{mark} {failing}", ink.loud, width, look)


def _rules(request: Approval, width: int, look: Appearance) -> Iterator[Line]:
    """Yield why it is asked, and what "always" would save."""
    yield from said("policy", request.why.removeprefix("policy: "), width, look)
    if rule := preview_rule(request):
        yield from said("rule", rule, width, look)
    else:
        yield from fact("rule", no_rule(request), look.ink.muted, width, look)


def _claims(request: Approval, around: Around, now: float, width: int, look: Appearance) -> Iterator[Line]:
    """Yield what the model says, which nobody checked, its task, and the steps before the call."""
    if request.said:
        yield from said("rationale", f"{request.said}  (the model's, unverified)", width, look)
    asked = f"asked {times.ago(now - request.asked)}, at {times.exact(request.asked)}"
    task, usage = ids.short(request.task_id), around.task.usage if around.task else None
    spent = f", {words.kilo(usage.tokens)} tokens, {words.money(usage.usd)} so far" if usage and usage.tokens else ""
    yield from fact("task", f"{task}, {asked}{spent}", look.ink.text, width, look)
    yield from said("", around.objective, width, look)
    for number, entry in enumerate(around.steps):
        yield _step(entry, "" if number else "led here", width, look)


def steps_before(events: Sequence[TaskEvent]) -> list[Entry]:
    """Return what the model said and did last, but for the call that waits: it has no result yet."""
    steps = [entry for entry in entries(events) if entry.event.kind in _STEP_KINDS and entry.text.strip()]
    return [entry for entry in steps if entry.event.kind != "call" or entry.result is not None][-_STEPS:]


def _step(entry: Entry, name: str, width: int, look: Appearance) -> Line:
    """Return one line of what somebody else wrote, with what came of it; the task's page has all of it."""
    ink, shapes = look.ink, look.shapes
    tool = "" if entry.is_command or entry.event.kind != "call" else f"{entry.event.tool} "
    mark = f"{shapes.runs} " if entry.is_command else ""
    outcome = came_of(entry, f" {shapes.sep} ")
    cells = [
        Cell(name, ink.muted, LABEL),
        sign(shapes.gutter, ink.faint, gap=0),
        Cell(one_line(f"{mark}{tool}{entry.text}", 2 * max(1, width)), ink.text, gap=1),
    ]
    if outcome:
        cells.append(Cell(outcome, ink.bad if entry.failed else ink.muted, min(_OUTCOME, len(outcome)), right=True))
    return line(width, cells)


def _choices(choices: Sequence[tuple[str, str, str]], width: int, look: Appearance) -> Iterator[Line]:
    for key, label, help in choices:
        cells = (Cell(key, look.ink.accent, 3, right=True), Cell(label, look.ink.text, 14), Cell(help, look.ink.muted))
        yield line(width, cells)


def _raw(request: Approval, expanded: bool, width: int, look: Appearance) -> Iterator[Line]:
    """Yield the call as it was sent, with its hash, or what opens it."""
    if expanded:
        yield heading("the raw call, secrets masked", width, look)
        yield from quote(_limited(_json(request)), width, look)
        yield from fact("sha-256", request.hash, look.ink.muted, width, look)
    else:
        yield from fact("raw call", f"sha-256 {request.hash[:8]}…{request.hash[-4:]}", look.ink.muted, width, look)


def answer_words(answer: Decision | None, request: Approval, now: float) -> str:
    """`allowed by ann, 2 min ago: as agreed`; what is known of a question that waits no more without an answer."""
    if answer is None:
        return "no longer pending: its task has ended, or it expired"
    ago = f", {times.ago(now - at)}" if (at := times.epoch(answer.at)) else ""
    state = answer.ended or ("allowed" if answer.allowed else "denied")
    by = "" if answer.ended else f" by {one_line(answer.who, 60)}"
    for_good = ", and always" if answer.always else ""
    return f"{state}{by}{ago}{for_good}" + (f": {one_line(answer.reason)}" if answer.reason else "")


def _run_words(request: Approval, text: str) -> str:
    count = line_count(text)
    verb = "send" if request.tool == SEND_MAIL else "run"
    return f"what it would {verb}" + (f": {count:,} lines" if count > 1 else "")


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
