"""`approvals list | show`, `approve` and `deny`: the calls of workers that wait for a word."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import approvals as verbs
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.approvals import AllowRule, Approval, canonical, no_rule, preview_rule, rule_words, whole_call
from lumen_tui.model.requests.attention import AllowAlways, AllowCalls, DenyCalls, ForgetRule
from lumen_tui.model.text import brief, line_count
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import task_files

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


_CALL = 300  # characters of a call on its line


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    approve = commands.add("approve", run_approve, "Allow calls that wait for an answer.", "approve 7f2k 8c1m")
    approve.fields(AllowCalls)
    approve.add_argument("--always", action="store_true", help="one id: save a rule, so that it is not asked again")
    approve.fields(AllowAlways, "pattern")
    approve.json()
    commands.verb("deny", DenyCalls, "Refuse calls that wait for an answer.", 'deny 7f2k --reason "not on a Friday"')
    group = commands.group("approvals", "Calls of workers that wait for an answer.", alone="list")
    listing = group.add("list", run_list, "What waits, the oldest first.", "approvals list --json")
    listing.add_argument("--all", action="store_true", help="with those that have their answer")
    rules = group.add("rules", run_rules, "The calls that are always allowed, numbered.", "approvals rules")
    group.verb("forget", ForgetRule, "Remove such a rule: the call asks again.", "approvals forget 2")
    show = group.add("show", run_show, "One question with all that is known of it.", "approvals show 7f2k")
    show.fields(AllowAlways, "approval_id")
    for command in (listing, rules, show):
        command.json()


def run_approve(session: Session, args: Namespace) -> int:
    if not args.always:
        if args.pattern:
            raise ActionError("--pattern belongs to --always")
        return print_outcome(session.perform(request_of(AllowCalls, args)), as_json=args.json)
    if len(args.approval_ids) != 1:
        raise ActionError("--always takes one id: each rule is reviewed on its own")
    asked = _find(session, args.approval_ids[0])
    talk(preview_rule(asked, args.pattern))
    request = request_of(AllowAlways, args, approval_id=asked.id, hash=asked.hash)
    return print_outcome(session.perform(request), as_json=args.json)


def _find(session: Session, text: str) -> Approval:
    request = approvals.read(session.layout, verbs.resolve(session.layout, text))
    if request is None:
        raise ActionError(f"approvals/{text}.json cannot be read: look at the file")
    return request


def state_of(session: Session, request: Approval) -> str:
    """Return `waiting`, or what became of the request."""
    answer = approvals.decision(session.layout, request.id)
    if answer is not None:
        return answer.ended or ("allowed" if answer.allowed else "refused")
    if session.now >= request.expires:
        return "expired"
    folder = task_files.folder_of(session.layout, request.task_id)
    return "withdrawn" if folder is None or task_files.status_of(folder).ended else "waiting"


def run_list(session: Session, args: Namespace) -> int:
    requests = [(request, state_of(session, request)) for request in approvals.every(session.layout, done=args.all)]
    rows = [(request, state) for request, state in requests if args.all or state == "waiting"]
    if args.json:
        document([_facts(session, request, state) for request, state in rows])
        return 0
    table([_row(session, request, state) for request, state in rows])
    for name in approvals.unreadable(session.layout):
        talk(f"approvals/{name} cannot be read: look at the file, or cancel its task")
    if not rows:
        talk("nothing waits for a word")
    return 0


def _row(session: Session, request: Approval, state: str) -> tuple[str, ...]:
    status = times.span(max(0.0, request.expires - session.now)) + " left" if state == "waiting" else state
    return request.id, request.role, times.age(session.now - request.asked), status, _call(request)


def _call(request: Approval) -> str:
    """Return the call on one line: its beginning, its end and how many lines are between them."""
    text = whole_call(request)
    if text == canonical(request.tool, request.arguments).decode():
        return request.summary
    count = line_count(text)
    lines = f"  ({count} lines: `approvals show {request.id}`)" if count > 1 else ""
    return f"{brief(text, _CALL)}{lines}"


def _facts(session: Session, request: Approval, state: str) -> dict[str, object]:
    answer = approvals.decision(session.layout, request.id)
    return {
        **msgspec.to_builtins(request),
        "state": state,
        "decision": msgspec.to_builtins(answer) if answer else None,
        "always": preview_rule(request),
    }


def run_rules(session: Session, args: Namespace) -> int:
    rules = load_config(session.layout)[0].allow
    if args.json:
        document(rules)
        return 0
    table([(f"{number}", rule_words(rule), _saved(rule)) for number, rule in enumerate(rules, 1)])
    if not rules:
        talk("there are no rules: `approve ID --always`, or A in the room, saves one")
    return 0


def _saved(rule: AllowRule) -> str:
    return " ".join(part for part in (f"by {rule.by}" if rule.by else "", rule.at[:10]) if part)


def run_show(session: Session, args: Namespace) -> int:
    request = _find(session, args.approval_id)
    state = state_of(session, request)
    if args.json:
        document(_facts(session, request, state))
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
    say("\n" + canonical(request.tool, request.arguments).decode())
    if request.diff:
        say("\n" + request.diff)
    if answer := approvals.decision(session.layout, request.id):
        verdict = "allowed" if answer.allowed else "refused"
        say(f"\n{verdict} by {answer.by} at {answer.at}" + (f": {answer.reason}" if answer.reason else ""))
    return 0
