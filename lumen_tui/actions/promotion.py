"""Candidates proposed, promoted and rolled back. A promotion asks the gate once more, then swaps one pointer."""

from __future__ import annotations

import contextlib

import msgspec

from lumen_tui.actions import acting, checks, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import agent, ids, times
from lumen_tui.model.abtests import ABTest
from lumen_tui.model.constitution import digest
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import KINDS, EditKind, EvolvedEdit, EvolvedVersion, title
from lumen_tui.model.records import Change
from lumen_tui.model.requests.evolution import PromoteCandidate, ProposeCandidate, RollBack, WithdrawCandidate
from lumen_tui.model.roles import Role, ToolRule
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import (
    EvolutionCandidate,
    Promotion,
    PromotionStep,
    TrialGround,
    TrialReport,
    candidate_id,
    fault,
    objections,
)
from lumen_tui.storage import locks
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import abtests, candidates, champions, evolved_skills, suites
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.settings.roles import load_role

KIND, CHAMPION_KIND, AB_TEST_KIND = "candidate", "champion", "abtest"  # of changes
OF_ROLE = frozenset(kind for kind, rules in KINDS.items() if rules.of_role)
_ROOT = "root"
_ALL_OUT = "`evolve rollback root` takes all edits out"


def propose(store: Store, request: ProposeCandidate, *, by: str, now: float) -> Done:
    """Keep a candidate with whose word it is: what a worker, a program or the web has a part in is never promoted."""
    made = _edit_of(store.layout, request)
    trust = _trust(by, after_web=request.after_web)
    candidate = EvolutionCandidate(candidate_id(made), times.iso(now), by, made, request.why, trust=trust)
    return keep(store.layout, [candidate], by=by, now=now)


def _edit_of(layout: Layout, request: ProposeCandidate) -> EvolvedEdit:
    kind = EditKind.RULE if request.rule else EditKind.PROMPT
    if request.kind:
        kind = EditKind(request.kind)
    role = checks.role_name(layout, request.role) if kind in OF_ROLE else request.role
    whole = kind in (EditKind.SKILL, EditKind.SCRIPT)
    text = request.text.strip() if whole else " ".join(request.text.split())
    rule = None
    if request.rule:
        rule = ToolRule(request.rule, request.tool, tuple(request.then), request.count, request.pattern, request.why)
    made = EvolvedEdit(role, kind, rule, text, request.name, request.value)
    if kind is EditKind.PLAYBOOK:
        from lumen_tui.providers.offline.playbook_router import synonym_fault  # 30 ms that few proposals need

        if reason := synonym_fault(made.text, made.name):
            raise ActionError(reason)
    return made


def _trust(by: str, *, after_web: bool) -> Trust:
    """Return whose word a proposal is: the operator's, the main agent's, a worker's or a program's, or the web's."""
    caller = acting.caller()
    if after_web:
        return Trust.WEB
    if caller.order:
        return Trust.PERSON
    is_strange = by == acting.AGENT_PROGRAM or (caller.bounded and not agent.is_own(caller.task))
    return Trust.WORKER if is_strange else Trust.AGENT


def keep(layout: Layout, proposed: list[EvolutionCandidate], *, by: str, now: float) -> Done:
    """Add candidates as one action. ActionError where one is none, or all are known."""
    if reason := next(filter(None, map(fault, proposed)), ""):
        raise ActionError(reason)
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        known = candidates.candidates(layout)
        new = [candidate for candidate in proposed if candidate.id not in known or known[candidate.id].withdrawn]
        if not new:
            raise ActionError("nothing new is proposed: `evolve candidates` lists what was", missing=True)
        changes = [Change(KIND, each.id, {"withdrawn": True}, {"withdrawn": False}) for each in new]
        summary = f"proposed: {title(new[0].edit)}" if len(new) == 1 else f"{len(new)} candidates proposed"
        action = edits.new_action("evolution.propose", changes, summary=summary, by=by, now=now)
        with journal.carrying_out(layout, action):
            candidates.write(layout, new)
    return Done(summary=summary, target=new[0].id, action_id=action.id)


def withdraw(store: Store, request: WithdrawCandidate, *, by: str, now: float) -> Done:
    """Mark a candidate as withdrawn; what is in force stays in force."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        candidate = find(layout, request.candidate)
        if candidate.withdrawn:
            raise ActionError(f"{candidate.id} is withdrawn already", missing=True)
        changes = [Change(KIND, candidate.id, {"withdrawn": False}, {"withdrawn": True})]
        summary = f"withdrawn: {title(candidate.edit)}"
        action = edits.new_action("evolution.withdraw", changes, summary=summary, by=by, now=now)
        with journal.carrying_out(layout, action):
            candidates.write(layout, [msgspec.structs.replace(candidate, withdrawn=True)])
    return Done(summary=summary, target=candidate.id, action_id=action.id)


def find(layout: Layout, name: str) -> EvolutionCandidate:
    """Return the candidate whose id begins like that; its prefix may be omitted."""
    known = candidates.candidates(layout)
    matches = [each for each in known if name.strip() and each.startswith((name, f"can-{name}"))]
    if len(matches) > 1 and name not in matches:
        raise ambiguous(name, matches)
    if not matches:
        ids.check_name(name, "candidate id")
        raise ActionError(f"there is no candidate {name!r}: `evolve candidates` lists them", missing=True)
    return known[name if name in matches else matches[0]]


def promote(store: Store, request: PromoteCandidate, *, by: str, now: float) -> Done:
    """Ask the gate again, under the lock, as things stand now; what was tried must be what comes into force."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        candidate = find(layout, request.candidate)
        champion = current(layout)
        report = _trial_of(layout, candidate, champion)
        if reasons := (*report.objections, *objections(ground_of(layout, candidate, champion), None)):
            raise ActionError(f"{candidate.id} is not promoted: {'; '.join(reasons)}")
        if report.constitution != digest(read_constitution(layout).approved):
            raise ActionError("the constitution changed since the trial: `evolve --try` it again")
        after = champion.with_edit(candidate.edit)
        summary = f"promoted: {title(candidate.edit)} ({report.words})"
        return swap(layout, PromotionStep.PROMOTE, champion.name, after, summary, candidate.id, by=by, now=now)


def current(layout: Layout) -> EvolvedVersion:
    try:
        return champions.current(layout)
    except DamagedChampion as error:
        raise ActionError(str(error)) from error


def _trial_of(layout: Layout, candidate: EvolutionCandidate, champion: EvolvedVersion) -> TrialReport:
    """Return the last trial of a candidate, if it was against the version in force."""
    if candidate.withdrawn:
        raise ActionError(f"{candidate.id} is withdrawn")
    reports = candidates.reports_by_candidate(layout).get(candidate.id)
    if not reports:
        raise ActionError(f"{candidate.id} was not tried yet: `evolve --try {candidate.id}`")
    report = reports[-1]
    if (report.champion, report.challenger) != (champion.name, champion.with_edit(candidate.edit).name):
        raise ActionError(f"another version is in force since its trial: `evolve --try {candidate.id}` again")
    return report


def ground_of(layout: Layout, candidate: EvolutionCandidate, champion: EvolvedVersion) -> TrialGround:
    """Return what the gate knows of a candidate besides its trial. ActionError where its role is gone."""
    edit = candidate.edit
    try:
        role = load_role(layout, edit.role) if edit.rules.of_role else Role("", "the agent itself")
    except (OSError, ValueError) as error:
        raise ActionError(f"role {edit.role} cannot be used: {error}") from error
    known = suites.cases(layout, candidate.suite)
    aims = tuple(known[name] for name in candidate.aims if name in known)
    is_file = edit.kind in (EditKind.SKILL, EditKind.SCRIPT)
    refusal = evolved_skills.refusal(layout, edit.name) if is_file else ""
    from lumen_tui.actions.evolution import gate_rules  # its patterns, which whoever undoes does without

    why = read_constitution(layout).why
    return TrialGround(candidate, champion, role, aims, why, refusal, rules=gate_rules(layout))


def roll_back(store: Store, request: RollBack, *, by: str, now: float) -> Done:
    """Swap the pointer back. The way back asks no gate, and works where the version in force is damaged."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        before, version = _back(layout, request.version)
        after = _kept(layout, version)
        summary = f"rolled back to {version[:12] or _ROOT}"
        reason = one_line(request.reason, 200)
        return swap(layout, PromotionStep.ROLLBACK, before, after, summary, "", by=by, now=now, reason=reason)


def take_back(store: Store, promoted: Promotion, reason: str, *, by: str, now: float) -> Done:
    """Roll a promotion back that is in force still; ActionError where something else was done since."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        if champions.pointed(layout) != promoted.version or champions.ledger(layout)[-1].id != promoted.id:
            raise ActionError("another version came into force meanwhile")
        after = _kept(layout, promoted.parent)
        summary = f"rolled back to {promoted.parent[:12] or _ROOT}"
        step = PromotionStep.ROLLBACK
        return swap(layout, step, promoted.version, after, summary, promoted.candidate, by=by, now=now, reason=reason)


def _back(layout: Layout, name: str) -> tuple[str, str]:
    """Return what the pointer names, and what it should name."""
    try:
        before = champions.pointed(layout)
        happened = champions.ledger(layout)
    except DamagedChampion:
        if name != _ROOT:
            raise ActionError(f"evals/champion.json cannot be read: {_ALL_OUT}") from None
        return "damaged", ""
    if name == _ROOT:
        version = ""
    elif name:
        versions = {promotion.version for promotion in happened} | {promotion.parent for promotion in happened}
        matches = [known for known in versions if known and known.startswith(name)]
        if len(matches) != 1:
            raise ActionError(f"{len(matches)} versions begin with {name!r}: `evolve candidates --ledger` lists them")
        version = matches[0]
    else:
        version = happened[-1].parent if happened else ""
    if not happened and not name:
        raise ActionError("nothing was promoted: there is no version to go back to", missing=True)
    if version == before:
        raise ActionError("that version is in force already", missing=True)
    return before, version


def _kept(layout: Layout, version: str) -> EvolvedVersion:
    try:
        return champions.read(layout, version)
    except DamagedChampion as error:
        raise ActionError(f"{error}; {_ALL_OUT}") from error


def swap(
    layout: Layout,
    step: PromotionStep,
    before: str,
    after: EvolvedVersion,
    summary: str,
    candidate: str,
    *,
    by: str,
    now: float,
    reason: str = "",
) -> Done:
    at, changes = times.iso(now), [Change(CHAMPION_KIND, CHAMPION_KIND, {"version": before}, {"version": after.name})]
    ended = _outlived(layout, after.name, at)
    if ended is not None:  # it stands first, so that undo has the version back in force before the test goes on
        changes.insert(0, test_change(ended))
    verb, target = f"evolution.{step}", candidate or CHAMPION_KIND
    action = edits.new_action(verb, changes, summary=summary, by=by, now=now, reason=reason, target=target)
    line = Promotion(action.id, at, by, step, after.name, before, candidate, reason)
    with journal.carrying_out(layout, action):
        champions.swap(layout, line, after)
        _settle(layout, ended)
    return Done(summary=summary, target=target, action_id=action.id)


def test_change(test: ABTest) -> Change:
    """Return the change that a new record of an A/B test makes: it is begun, or ended."""
    before = {"ended": "", "reason": ""} if test.ended else {"ended": "never begun"}
    return Change(AB_TEST_KIND, test.id, before, {"ended": test.ended, "reason": test.reason})


def _outlived(layout: Layout, version: str, at: str) -> ABTest | None:
    """Return the end of the A/B test that goes on against another version than this one; None without one."""
    with contextlib.suppress(StoreError, OSError):
        test = abtests.running(layout)
        if test is not None and test.a != version:
            return msgspec.structs.replace(test, ended=at, reason="another version came into force")
    return None


def _settle(layout: Layout, ended: ABTest | None) -> None:
    """Have what hangs on the pointer follow it: an A/B test against another version ends, files of skills change.

    What a kill leaves of that does whoever looks for skills, or for the test.
    """
    with contextlib.suppress(StoreError, OSError):
        if ended is not None:
            abtests.write(layout, ended)
        evolved_skills.settle(layout)


def champion_now(store: Store, _: Change) -> Side | None:
    """For undo: the version in force."""
    try:
        return {"version": champions.pointed(store.layout)}
    except DamagedChampion:
        return {"version": "damaged"}


def may_champion(store: Store, change: Change) -> None:
    """For undo: refuse where the version is not kept any more."""
    _kept(store.layout, str((change.after or {}).get("version", "")))


def put_champion(store: Store, change: Change) -> None:
    """For undo: bring the version of the change's `after` into force."""
    layout, order = store.layout, acting.caller()
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        after = _kept(layout, str((change.after or {}).get("version", "")))
        before = champion_now(store, change) or {}
        at = times.iso(order.now)
        line = Promotion(ids.new_id("act"), at, order.by, PromotionStep.UNDO, after.name, str(before["version"]))
        ended = _outlived(layout, after.name, at)
        champions.swap(layout, line, after)
        _settle(layout, ended)


def candidate_now(store: Store, change: Change) -> Side | None:
    """For undo: whether a candidate is withdrawn; one that is gone is."""
    candidate = candidates.candidates(store.layout).get(change.key)
    return {"withdrawn": candidate is None or candidate.withdrawn}


def put_candidate(store: Store, change: Change) -> None:
    """For undo: withdraw a candidate, or take it up again."""
    with locks.waiting_lock(store.layout.lock(suites.LOCK)):
        candidate = find(store.layout, change.key)
        is_out = bool((change.after or {}).get("withdrawn"))
        candidates.write(store.layout, [msgspec.structs.replace(candidate, withdrawn=is_out)])
