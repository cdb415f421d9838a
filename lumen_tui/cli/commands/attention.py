"""`approve`, `deny`, `approvals`, `question`, `attention`: what waits for a person, answered from the shell."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.approvals import (
    ROLE,
    SEND_MAIL,
    AllowRule,
    Approval,
    canonical,
    no_rule,
    preview_rule,
    rule_words,
    whole_call,
)
from lumen_tui.model.requests.attention import (
    AllowAlways,
    AllowCalls,
    AnswerQuestion,
    DenyCalls,
    DismissItems,
    ForgetRule,
    RestoreItems,
    SnoozeItems,
)
from lumen_tui.model.text import brief, line_count
from lumen_tui.queries.approval_documents import approval_document, approval_state, question_document
from lumen_tui.store import approvals

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.model.snapshot import Attention


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_approvals(commands)
    _declare_questions(commands)
    _declare_attention(commands)


def _declare_attention(commands: CommandGroup) -> None:
    group = commands.group("attention", "What needs a person: the same list as `!` in the room.", alone="list")
    listing = group.add("list", run_attention, "What needs a person, and what is snoozed.", "attention list")
    snooze = group.add("snooze", run_snooze, "Snooze; it comes back on its own.", "attention snooze tsk-7f2 --for 2h")
    snooze.fields(SnoozeItems)
    group.verb(
        "aside",
        DismissItems,
        "Dismiss what has happened once.",
        "attention aside tsk-7f2",
        request=lambda session, args: request_of(DismissItems, args, targets=_dismissible(session, args.targets)),
    )
    group.verb(
        "back",
        RestoreItems,
        "Bring back what was snoozed.",
        "attention back tsk-7f2",
        request=lambda session, args: request_of(
            RestoreItems, args, targets=_targets(session.queue().put_off, args.targets)
        ),
    )
    for command in (listing, snooze):
        command.json()


def run_attention(session: Session, args: Namespace) -> int:
    queue = session.queue()
    if args.json:
        document({"attention": queue.shown, "snoozed": queue.put_off})
        return 0
    table([_row(row, session.now) for row in (*queue.shown, *queue.put_off)])
    if not queue.shown:
        talk("nothing needs you")
    return 0


def _row(row: Attention, now: float) -> tuple[str, ...]:
    age = times.age(now - row.since) if row.since else ""
    return row.target, row.need.value, _until(row.until, now) if row.until else age, row.text


def _until(moment: str, now: float) -> str:
    """Return `until 15:27 UTC`, with the date where that is another day."""
    day, _, clock = moment.partition("T")
    if not clock:
        return f"until {day}"
    return f"until {clock[:5]} UTC" if times.iso(now).startswith(day) else f"until {day} {clock[:5]} UTC"


def run_snooze(session: Session, args: Namespace) -> int:
    queue = session.queue()
    rows = _named((*queue.shown, *queue.put_off), args.targets)
    spans = [_span(row, args.seconds, session.now) for row in rows]
    if snoozed := [row.target for row in rows if row.until]:
        session.perform(RestoreItems(targets=snoozed, reason=args.reason))  # or the longer of both would hold
    outcomes = [session.perform(SnoozeItems(targets=[name], seconds=span, reason=args.reason)) for name, span in spans]
    if args.json:
        document(outcomes)
        return 0
    for done in outcomes:
        say(done.summary)
    return 0


def _span(row: Attention, seconds: float, now: float) -> tuple[str, float]:
    """Return (name, seconds), so that an approval comes back before it expires. Raise ActionError."""
    from lumen_tui.model.attention import for_an_hour

    longest, refusal = for_an_hour(row, now)
    if refusal:
        raise ActionError(f"{row.target}: {refusal}")
    return row.target, min(seconds, longest) if row.closes else seconds


def _dismissible(session: Session, names: list[str]) -> list[str]:
    """Return the targets that these names mean. Raise ActionError for what stays until its cause is gone."""
    from lumen_tui.model.attention import can_wait

    rows = _named(session.queue().shown, names)
    if lasting := [row for row in rows if not can_wait(row)]:
        reason = f"{lasting[0].target}: what is about the {lasting[0].need} goes away with its cause"
        raise ActionError(f"{reason}; `attention snooze` puts it off")
    return [row.target for row in rows]


def _targets(rows: tuple[Attention, ...], names: list[str]) -> list[str]:
    return [row.target for row in _named(rows, names)]


def _named(rows: tuple[Attention, ...], texts: list[str]) -> list[Attention]:
    return list({row.target: row for text in texts for row in _matching(rows, text)}.values())


def _matching(rows: tuple[Attention, ...], text: str) -> list[Attention]:
    """Return the rows of one target: several where a file has several problems. Raise ActionError."""
    matches = [row for row in rows if row.target == text] or [
        row for row in rows if text and (row.target.startswith(text) or row.target.partition("-")[2].startswith(text))
    ]
    names = tuple(dict.fromkeys(row.target for row in matches))
    if not names:
        hint = "`attention list` names what needs you and what is snoozed"
        raise ActionError(f"there is nothing {text!r} to do this with: {hint}", missing=True)
    if len(names) > 1:
        raise ambiguous(text, names, "names")
    return matches


_CALL = 300  # characters of a call on its line


def _declare_approvals(commands: CommandGroup) -> None:
    approve = commands.add("approve", run_approve, "Allow calls that wait for an answer.", "approve 7f2k 8c1m")
    approve.fields(AllowCalls)
    approve.add_argument("--always", action="store_true", help="one id: save a rule, so that it is not asked again")
    approve.fields(AllowAlways, "pattern", "scope")
    approve.json()
    commands.verb("deny", DenyCalls, "Refuse calls that wait for an answer.", 'deny 7f2k --reason "not on a Friday"')
    group = commands.group("approvals", "Calls of workers that wait for an answer.", alone="list")
    listing = group.add("list", run_approvals, "What waits, the oldest first.", "approvals list --json")
    listing.add_argument("--all", action="store_true", help="with those that have their answer")
    rules = group.add("rules", run_rules, "The calls that are always allowed, numbered.", "approvals rules")
    group.verb("forget", ForgetRule, "Remove such a rule: the call asks again.", "approvals forget 2")
    show = group.add("show", run_approval, "One question with all that is known of it.", "approvals show 7f2k")
    show.fields(AllowAlways, "approval_id")
    for command in (listing, rules, show):
        command.json()


def _declare_questions(commands: CommandGroup) -> None:
    group = commands.group("question", "Questions of workers and the main agent to the operator.", alone="list")
    listing = group.add("list", run_questions, "What waits, the oldest first.", "question list --json")
    listing.add_argument("--all", action="store_true", help="with those that have their answer")
    group.verb(
        "answer", AnswerQuestion, "Answer one: a text, or the number of an option.", 'question answer 7f2k "8080"'
    )
    show = group.add("show", run_question, "One question with all that is known of it.", "question show 7f2k")
    show.fields(AnswerQuestion, "question_id")
    for command in (listing, show):
        command.json()


def run_questions(session: Session, args: Namespace) -> int:
    requests = [
        (request, approval_state(session.layout, request, session.now))
        for request in approvals.every(session.layout, done=args.all)
        if request.question
    ]
    rows = [(request, state) for request, state in requests if args.all or state == "waiting"]
    if args.json:
        document([question_document(session.layout, request, state) for request, state in rows])
        return 0
    table([_approval_row(session, request, state) for request, state in rows])
    if not rows:
        talk("no question waits for an answer")
    return 0


def run_question(session: Session, args: Namespace) -> int:
    request = _find(session, args.question_id)
    if not request.question:
        raise ActionError(f"{request.id} is a call that waits for a yes or a no: `approvals show {request.id}`")
    state = approval_state(session.layout, request, session.now)
    if args.json:
        document(question_document(session.layout, request, state))
        return 0
    facts = {
        "question": request.id,
        "state": state,
        "who asks": f"{request.role}, task {request.task_id}",
        "asked": request.asked_at,
        "until": request.expires_at,
        "then": request.default,
        "rationale": request.said,
    }
    table([(name, value) for name, value in facts.items() if value])
    say("\n" + request.question)
    for number, option in enumerate(request.options, 1):
        say(f"  {number}  {option}")
    if answer := approvals.decision(session.layout, request.id):
        say(f"\n{answer.ended or 'answered'} by {answer.who} at {answer.at}: {answer.answer or answer.reason}")
    return 0


def run_approve(session: Session, args: Namespace) -> int:
    if not args.always:
        if args.pattern or args.scope != ROLE:
            raise ActionError(f"{'--pattern' if args.pattern else '--scope'} belongs to --always")
        return print_outcome(session.perform(request_of(AllowCalls, args)), as_json=args.json)
    if len(args.approval_ids) != 1:
        raise ActionError("--always takes one id: each rule is reviewed on its own")
    asked = _find(session, args.approval_ids[0])
    talk(preview_rule(asked, args.pattern, args.scope))
    request = request_of(AllowAlways, args, approval_id=asked.id, hash=args.hash or asked.hash)
    return print_outcome(session.perform(request), as_json=args.json)


def _find(session: Session, text: str) -> Approval:
    from lumen_tui.actions.approvals import resolve

    request = approvals.read(session.layout, resolve(session.layout, text))
    if request is None:
        raise ActionError(f"approvals/{text}.json cannot be read: look at the file")
    return request


def run_approvals(session: Session, args: Namespace) -> int:
    calls = [request for request in approvals.every(session.layout, done=args.all) if not request.question]
    requests = [(request, approval_state(session.layout, request, session.now)) for request in calls]
    rows = [(request, state) for request, state in requests if args.all or state == "waiting"]
    if args.json:
        document([approval_document(session.layout, request, state) for request, state in rows])
        return 0
    table([_approval_row(session, request, state) for request, state in rows])
    for name in approvals.unreadable(session.layout):
        talk(f"approvals/{name} cannot be read: look at the file, or cancel its task")
    if not rows:
        talk("nothing waits for an answer")
    return 0


def _approval_row(session: Session, request: Approval, state: str) -> tuple[str, ...]:
    status = times.span(max(0.0, request.expires - session.now)) + " left" if state == "waiting" else state
    return request.id, request.role, times.age(session.now - request.asked), status, _call(request)


def _call(request: Approval) -> str:
    """Return the call on one line: its beginning, its end and how many lines are between them."""
    if request.question:
        return request.summary
    text = whole_call(request)
    if text == canonical(request.tool, request.arguments).decode():
        return request.summary
    count = line_count(text)
    lines = f"  ({count} lines: `approvals show {request.id}`)" if count > 1 else ""
    return f"{brief(text, _CALL)}{lines}"


def run_rules(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.approvals import rules_in_force

    rules = rules_in_force(session.layout)
    if args.json:
        document(rules)
        return 0
    table([(f"{number}", rule_words(rule), _saved_by(rule)) for number, rule in enumerate(rules, 1)])
    if not rules:
        talk("there are no rules: `approve ID --always`, or A in the room, saves one")
    return 0


def _saved_by(rule: AllowRule) -> str:
    return " ".join(part for part in (f"by {rule.by}" if rule.by else "", rule.at[:10]) if part)


def run_approval(session: Session, args: Namespace) -> int:
    request = _find(session, args.approval_id)
    if request.question:
        raise ActionError(f"{request.id} is a question: `question show {request.id}`")
    state = approval_state(session.layout, request, session.now)
    if args.json:
        document(approval_document(session.layout, request, state))
        return 0
    facts = {
        "approval": request.id,
        "state": state,
        "who asks": f"{request.role}, task {request.task_id}",
        "asked": request.asked_at,
        "until": request.expires_at,
        "why": request.why,
        "rationale": request.said,
        "risk": request.risk,
        "call": request.summary,
        "folder": request.folder,
        "always": preview_rule(request) or no_rule(request),
        "hash": request.hash,
    }
    table([(name, value) for name, value in facts.items() if value])
    if request.tool == SEND_MAIL:
        say("\n" + whole_call(request))
    say("\n" + canonical(request.tool, request.arguments).decode())
    if request.diff:
        say("\n" + request.diff)
    if answer := approvals.decision(session.layout, request.id):
        verdict = "allowed" if answer.allowed else "denied"
        say(f"\n{verdict} by {answer.who} at {answer.at}" + (f": {answer.reason}" if answer.reason else ""))
    return 0
