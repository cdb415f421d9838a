"""Cases of suites: those that were collected are kept as one action, and a person marks or drops them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lumen_tui.actions import edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.model import ids, times
from lumen_tui.model.evals import MOST_CASES, EvalCase
from lumen_tui.model.evolution import Trust
from lumen_tui.model.records import Change
from lumen_tui.model.requests.evolution import MarkCases
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import suites

KIND = "case"  # of a change; its key is `suite id`
_UNDOABLE = ("dropped", "must", "trust")


def keep(layout: Layout, suite: str, collected: Iterable[EvalCase], *, by: str, now: float) -> Done:
    """Add the cases that the suite does not have. ActionError where that is none, or the suite is full."""
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        known = suites.cases(layout, suite)
        new = [msgspec.structs.replace(case, at=times.iso(now)) for case in collected if case.id not in known]
        if len(known) + len(new) > MOST_CASES:
            raise ActionError(f"a suite has {MOST_CASES:,} cases at most: drop some with `evolve cases --drop`")
        if not new:
            raise ActionError("no task that is over has a case that is not in the suite", missing=True)
        changes = [Change(KIND, f"{suite} {case.id}", {**_side(case), "dropped": True}, _side(case)) for case in new]
        summary = f"{len(new)} {'case' if len(new) == 1 else 'cases'} taken into {suite}"
        action = edits.new_action("evolution.collect", changes, summary=summary, by=by, now=now)
        with journal.carrying_out(layout, action):
            suites.write(layout, suite, new)
    return Done(summary=summary, target=new[0].id, action_id=action.id)


def mark(store: Store, request: MarkCases, *, by: str, now: float) -> Done:
    """Mark cases or drop them under the lock of the suites. A person who marks one vouches for it."""
    layout = store.layout
    if request.must is None and request.dropped is None:
        raise ActionError("say what becomes of them: --must, --may, --drop or --back")
    ids.check_name(request.suite, "suite")
    names = [request.ids] if isinstance(request.ids, str) else list(request.ids)
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        known = suites.cases(layout, request.suite)
        chosen = [known[name] for name in dict.fromkeys(_full_id(known, name) for name in names)]
        after = [changed for case in chosen if (changed := _marked(case, request)) != case]
        if not after:
            raise ActionError("nothing was changed: they are marked like that", missing=True)
        stamped = [msgspec.structs.replace(case, by=by, at=times.iso(now)) for case in after]
        changes = [Change(KIND, f"{request.suite} {case.id}", _side(known[case.id]), _side(case)) for case in stamped]
        summary = f"{stamped[0].id} {_state(stamped[0])}" if len(stamped) == 1 else f"{len(stamped)} cases changed"
        action = edits.new_action("evolution.mark", changes, summary=summary, by=by, now=now)
        with journal.carrying_out(layout, action):
            suites.write(layout, request.suite, stamped)
    return Done(summary=summary, target=stamped[0].id, action_id=action.id)


def _marked(case: EvalCase, request: MarkCases) -> EvalCase:
    must = case.must if request.must is None else request.must
    dropped = case.dropped if request.dropped is None else request.dropped
    trust = Trust.PERSON if request.must else case.trust
    return msgspec.structs.replace(case, must=must, dropped=dropped, trust=trust)


def _state(case: EvalCase) -> str:
    return "dropped" if case.dropped else "must hold" if case.must else "is an ordinary case"


def _full_id(known: dict[str, EvalCase], name: str) -> str:
    """Return the id that begins like that; its prefix may be omitted."""
    matches = [case_id for case_id in known if name.strip() and case_id.startswith((name, f"cas-{name}"))]
    if len(matches) > 1 and name not in matches:
        raise ambiguous(name, matches)
    if not matches:
        ids.check_name(name, "case id")
        raise ActionError(f"there is no case {name!r}: `evolve cases` lists them", missing=True)
    return name if name in matches else matches[0]


def _side(case: EvalCase) -> Side:
    return {"dropped": case.dropped, "must": case.must, "trust": str(case.trust)}


def case_now(store: Store, change: Change) -> Side | None:
    """For undo: the present marks of a case; one that is gone counts as dropped."""
    suite, _, case_id = change.key.partition(" ")
    case = suites.cases(store.layout, suite).get(case_id)
    return _side(case) if case is not None else {**(change.before or {}), "dropped": True}


def put_case(store: Store, change: Change) -> None:
    """For undo: bring a case to the change's `after`."""
    suite, _, case_id = change.key.partition(" ")
    with locks.waiting_lock(store.layout.lock(suites.LOCK)):
        case = suites.cases(store.layout, suite).get(case_id)
        if case is None:
            raise ActionError(f"case {case_id} is no longer in {suite}: nothing was done")
        fields = {name: (change.after or {}).get(name, getattr(case, name)) for name in _UNDOABLE}
        suites.write(store.layout, suite, [msgspec.convert({**msgspec.to_builtins(case), **fields}, EvalCase)])
