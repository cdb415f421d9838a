"""A person's answers to calls that wait for approval. Each can be taken back until a worker has acted on it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from lumen_tui.actions import acting, checks, edits, refusal
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.approvals import (
    ROLE,
    SCOPES,
    Acted,
    AllowRule,
    Approval,
    Decision,
    allows,
    also_covered,
    no_rule,
    preview_rule,
    reach_words,
    rule_of,
    rule_words,
    too_wide,
)
from lumen_tui.model.records import Change
from lumen_tui.model.requests.attention import AllowAlways, AllowCalls, AnswerQuestion, DenyCalls, ForgetRule
from lumen_tui.model.text import one_line, plain
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.audit import journal
from lumen_tui.store.settings.config import change_operator, load_config
from lumen_tui.store.tasks import task_files

_MOST_REASON = 2000
_MOST_ANSWER = 4000


def allow(store: Store, request: AllowCalls, *, by: str, now: float) -> Done:
    """Check that all are still open, then answer one action each, so that each is undone by itself."""
    return _answer(store, _open(store, request.approval_ids, request.hash, now), True, request.reason, by=by, now=now)


def deny(store: Store, request: DenyCalls, *, by: str, now: float) -> Done:
    """Answer like `allow`, with the reason in each answer."""
    return _answer(store, _open(store, request.approval_ids, request.hash, now), False, request.reason, by=by, now=now)


def allow_always(store: Store, request: AllowAlways, *, by: str, now: float) -> Done:
    """Allow a call, and save the rule that `model.approvals.preview_rule` shows.

    Other waiting calls that the rule covers are allowed too. Each answer and the rule are undone separately, the rule
    first.
    """
    (approval,) = _open(store, request.approval_id, request.hash, now)
    rule = rule_for(approval, request.pattern, request.scope, by=by, now=now)
    if has_ended(store.layout, rule):
        raise ActionError(f"task {ids.short(rule.task)} has ended, and with it what is allowed for it alone")
    answered = _answer(store, [approval], True, request.reason, by=by, now=now, always=not rule.task)
    also = _answer_others(store, rule, by=by, now=now)
    ended = [saved for saved in load_config(store.layout)[0].allow if has_ended(store.layout, saved)]
    changes = [_removed(old) for old in ended]
    changes.append(Change(kind="allow", key=_key(rule), before=None, after=msgspec.to_builtins(rule)))
    saved_summary = f"saved: {preview_rule(approval, request.pattern, request.scope)}"
    action = edits.new_action(
        "approval.rule", changes, summary=saved_summary, by=by, now=now, reason=request.reason, apart=True
    )
    with journal.carrying_out(store.layout, action):
        for change in changes:
            put_rule(store, change)
    return Done(summary=f"{answered.summary}{also}; {saved_summary}", target=approval.id, action_id=action.id)


def answer(store: Store, request: AnswerQuestion, *, by: str, now: float) -> Done:
    """Answer a question; undo takes the answer back until a worker, or the main agent, has it."""
    (question,) = _open(store, request.question_id, request.hash, now, questions=True)
    text = _meant(question, plain(request.answer).strip())
    decision = Decision(
        allowed=True,
        hash=question.hash,
        at=times.iso(now),
        by=by,
        answer=text,
        order=acting.caller().order,
        via=acting.caller().via,
    )
    change = Change(kind="approval", key=question.id, before=None, after=msgspec.to_builtins(decision))
    summary = f"answered {question.role}: {one_line(text, 80)}"
    action = edits.new_action("question.answer", [change], summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        _decide(store, question, decision, now)
    unseen = "" if decision.order else "; not as an order: that this is the operator was not seen"
    return Done(summary=f"{summary}{unseen}", target=question.id, action_id=action.id)


def _meant(question: Approval, text: str) -> str:
    """Return the answer that is meant: the text, or the option of which it is the number."""
    if not text:
        raise ActionError("the answer is empty: give a text, or the number of an option")
    if len(text) > _MOST_ANSWER:
        raise ActionError(f"an answer of {len(text):,} characters is too long: {_MOST_ANSWER:,} at most")
    if text in question.options or text not in list("0123456789") or not question.options:
        return text
    if not 1 <= int(text) <= len(question.options):
        raise ActionError(f"there is no option {text}: 1 to {len(question.options)}, or give a text")
    return question.options[int(text) - 1]


def _answer_others(store: Store, rule: AllowRule, *, by: str, now: float) -> str:
    """Allow the other waiting calls that the rule covers, skipping answered ones; return how many, in words."""
    count = 0
    for request in also_covered(rule, approvals.undecided(store.layout)):
        with contextlib.suppress(ActionError):
            _answer(store, [request], True, f"{reach_words(rule)}: {rule.pattern}", by=by, now=now)
            count += 1
    return f", and {count} more that wait{'s' if count == 1 else ''}" if count else ""


def forget(store: Store, request: ForgetRule, *, by: str, now: float) -> Done:
    """Take the rule out of operator.toml; undo puts the same rule back."""
    rules = rules_in_force(store.layout)
    if not 1 <= request.number <= len(rules):
        raise ActionError(f"there is no rule {request.number}: `approvals rules` numbers them", missing=True)
    rule = rules[request.number - 1]
    change = _removed(rule)
    summary = f"taken out: {rule_words(rule)}"
    action = edits.new_action(
        "approval.forget", [change], summary=summary, by=by, now=now, reason=plain(request.reason).strip()
    )
    with journal.carrying_out(store.layout, action):
        put_rule(store, change)
    return Done(summary=summary, target=str(request.number), action_id=action.id)


def _removed(rule: AllowRule) -> Change:
    return Change(kind="allow", key=_key(rule), before=msgspec.to_builtins(rule), after=None)


def rules_in_force(layout: Layout) -> list[AllowRule]:
    """Return the saved rules, as `approvals rules` numbers them, without those that ended with their task."""
    return [rule for rule in load_config(layout)[0].allow if not has_ended(layout, rule)]


def has_ended(layout: Layout, rule: AllowRule) -> bool:
    """Return whether the rule was for one task, and that is over, or there is none of that name."""
    if not rule.task:
        return False
    try:
        folder = task_files.folder_of(layout, ids.check_name(rule.task))
    except ids.BadId:
        return True
    return folder is None or task_files.status_of(folder).ended


def rule_for(request: Approval, pattern: str, scope: str = ROLE, *, by: str, now: float) -> AllowRule:
    """Return the rule for a call. ActionError where no narrow rule exists or it would not cover the call itself."""
    if scope not in SCOPES:
        raise ActionError(f"a rule is for the role or for the task alone: {' or '.join(SCOPES)}, not {scope!r}")
    wanted_pattern = plain(pattern).strip() or request.rule
    if problem := no_rule(request, wanted_pattern):
        raise ActionError(problem)
    if too_wide(wanted_pattern):
        raise ActionError(f"{wanted_pattern!r} allows nearly everything: name more of the command, path or address")
    rule = msgspec.structs.replace(rule_of(request, wanted_pattern, scope), by=by, at=times.iso(now))
    if not allows(
        rule,
        tool=request.tool,
        role=request.role,
        target=_target(request),
        folder=request.folder,
        unwalled=request.unwalled,
        task=request.task_id,
    ):
        raise ActionError(_mismatch(wanted_pattern, request))
    return rule


def _mismatch(pattern: str, request: Approval) -> str:
    """Explain why a pattern does not cover the call: a matching prefix covers no second command and no other file."""
    problem = f"{pattern!r} does not cover the call itself ({one_line(_target(request), 100)})"
    if pattern.endswith(" *") and _target(request).startswith(pattern[:-1]):
        return f"{problem}: what ` *` stands for may hold none of ; & | < > $ ( ) {{ }} ` and no line break"
    return problem


def _target(request: Approval) -> str:
    """Return what the rule is matched against: the command, the address, or the worker's own narrow rule."""
    field = {"web_fetch": "url", "shell": "command", "shell_start": "command"}.get(request.tool, "")
    value = request.arguments.get(field)
    return value.strip() if isinstance(value, str) else request.rule


def _key(rule: AllowRule) -> str:
    key = f"{rule.role} {rule.tool} {rule.folder} {rule.pattern}"
    key = f"{key} unwalled" if rule.unwalled else key
    return f"{key} task:{rule.task}" if rule.task else key


def resolve(layout: Layout, text: str) -> str:
    """Return the full id of an approval, given any unique beginning of it."""
    name = ids.check_name(text, "approval id")
    known = list(dict.fromkeys(approvals.all_ids(layout)))
    if name in known:
        return name
    matches = [approval_id for approval_id in known if approval_id.startswith((name, f"apr-{name}"))]
    if len(matches) > 1:
        raise ambiguous(text, matches)
    if not matches:
        open_ids = [approval.id for approval in approvals.undecided(layout)]
        raise refusal.no_such(f"there is no approval {text!r}", name, known, open_ids)
    return matches[0]


def _open(
    store: Store, approval_ids: str | Iterable[str], shown: str, now: float, *, questions: bool = False
) -> list[Approval]:
    """Return the requests, all still open. ActionError names the first that is not, and nothing is written."""
    names = list(dict.fromkeys(resolve(store.layout, text) for text in checks.as_ids(approval_ids)))
    requests = [_read(store.layout, name) for name in names]
    if shown and [request.hash for request in requests] != [shown]:
        raise ActionError("the call is not the one that was shown: look at it again")
    for request in requests:
        if bool(request.question) != questions:
            raise _other_kind(request)
        if decision := approvals.decision(store.layout, request.id):
            raise _answered(request, decision, now)
        if now >= request.expires:
            approvals.expire(store.layout, request, now)
            raise _expired(request)
    return requests


def _other_kind(request: Approval) -> ActionError:
    name = ids.short(request.id)
    if request.question:
        return ActionError(f'{name} is a question: `question answer {name} "…"` answers it')
    return ActionError(f"{name} is a call that waits for a yes or a no: `approve {name}` or `deny {name}`")


def _expired(request: Approval) -> ActionError:
    when = times.stamp_of(request.expires_at)
    if request.question:
        return ActionError(
            f"{ids.short(request.id)} expired ({when}); its default was taken: {one_line(request.default, 80)}"
        )
    return ActionError(f"{ids.short(request.id)} expired ({when}) and was auto-denied; the worker may ask again")


def _read(layout: Layout, approval_id: str) -> Approval:
    request = approvals.read(layout, approval_id)
    if request is None:
        raise ActionError(f"approvals/{approval_id}.json cannot be read: look at the file, or cancel the task")
    return request


def _answered(request: Approval, decision: Decision, now: float) -> ActionError:
    verdict = "allowed" if decision.allowed else "denied"
    verdict = "answered" if request.question else verdict
    age = times.ago(now - times.epoch(decision.at, now))
    words = one_line(decision.answer or decision.reason, 80)
    how = f"{verdict} by {decision.who} ({age}){f': {words}' if words else ''}"
    return ActionError(f"{ids.short(request.id)} has its answer: {how}. Undo that first")


def _answer(
    store: Store, requests: list[Approval], allowed: bool, reason: str, *, by: str, now: float, always: bool = False
) -> Done:
    """Write the answers and record them, one action each, so that each can be undone separately."""
    clean_reason = plain(reason).strip()
    if len(clean_reason) > _MOST_REASON:
        raise ActionError(f"a reason of {len(clean_reason):,} characters is too long: {_MOST_REASON:,} at most")
    verb = "approval.allow" if allowed else "approval.deny"
    actions = []
    for request in requests:
        answer = Decision(allowed, request.hash, times.iso(now), by, clean_reason, always, via=acting.caller().via)
        change = Change(kind="approval", key=request.id, before=None, after=msgspec.to_builtins(answer))
        line = f"{'allowed' if allowed else 'denied'}: {request.role}: {one_line(request.summary, 80)}"
        actions.append(edits.new_action(verb, [change], summary=line, by=by, now=now, reason=clean_reason, apart=True))
        with journal.carrying_out(store.layout, actions[-1]):
            _decide(store, request, answer, now)
    verdict = "allowed" if allowed else "denied"
    summary = actions[0].summary if len(actions) == 1 else f"{len(actions)} calls {verdict}"
    return Done(summary=summary, target=requests[0].id, action_id=actions[-1].id)


def _decide(store: Store, request: Approval, answer: Decision, now: float) -> None:
    try:
        approvals.decide(store.layout, request, answer, now)
    except approvals.Answered as error:
        raise _answered(request, error.decision, now) from error
    except approvals.DeadlinePassed as error:
        raise _expired(request) from error


def approval_now(store: Store, change: Change) -> Side | None:
    """For undo: the current answer."""
    decision = approvals.decision(store.layout, change.key)
    return None if decision is None else msgspec.to_builtins(decision)


def may_answer(store: Store, change: Change) -> None:
    """For undo: refuse once a worker has acted on the answer."""
    if acted := approvals.acted(store.layout, change.key):
        raise _acted_on(acted)


def _acted_on(acted: Acted) -> ActionError:
    when = f" at {times.stamp(times.epoch(acted.at))}" if acted.at else ""
    return ActionError(f"a worker has acted on this answer already{when}: it cannot be undone")


def put_approval(store: Store, change: Change) -> None:
    """For undo: remove the answer, or give it again. Refused once a worker has acted on it."""
    answer = None if change.after is None else msgspec.convert(change.after, Decision)
    try:
        approvals.set_decision(store.layout, change.key, answer)
    except approvals.ActedOn as error:
        raise _acted_on(error.acted) from error


def _saved(store: Store) -> list[dict[str, Any]]:
    """Return the rules of operator.toml; where it has none, those of lumen.toml, which it would hide."""
    text = (files.read(store.layout.operator) or b"").decode()
    saved = frontmatter.parse_toml(text).get("allow")
    if isinstance(saved, list):
        return [rule for rule in saved if isinstance(rule, dict)]
    return [msgspec.to_builtins(rule) for rule in load_config(store.layout)[0].allow]


def _is(rule: dict[str, Any], key: str) -> bool:
    try:
        return _key(msgspec.convert(rule, AllowRule)) == key
    except msgspec.ValidationError:
        return False


def rule_now(store: Store, change: Change) -> Side | None:
    """For undo: the rule as saved now."""
    match = next((rule for rule in _saved(store) if _is(rule, change.key)), None)
    return None if match is None else msgspec.to_builtins(msgspec.convert(match, AllowRule))


def put_rule(store: Store, change: Change) -> None:
    """Save a rule or remove it, leaving the others alone. A restored rule gets its former number."""
    rules = [rule for rule in _saved(store) if not _is(rule, change.key)]
    if change.after is not None:
        at = str(change.after.get("at", ""))
        younger = (place for place, rule in enumerate(rules) if at and str(rule.get("at", "")) > at)
        rules.insert(next(younger, len(rules)), change.after)
    change_operator(store.layout, {"allow": rules or ([] if _has_rules_below(store) else None)})


def _has_rules_below(store: Store) -> bool:
    """Return whether lumen.toml may have rules: an empty list in operator.toml must go on hiding them."""
    try:
        return "allow" in frontmatter.parse_toml((files.read(store.layout.config) or b"").decode())
    except (frontmatter.BadFile, UnicodeDecodeError):
        return True
