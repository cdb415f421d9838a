"""A live A/B test begun and ended: which real tasks of a role work with a candidate more."""

from __future__ import annotations

import msgspec

from lumen_tui.actions import acting, edits, promotion
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.abtests import LEAST_TASKS, MOST_TASKS, ABTest
from lumen_tui.model.evolved_edits import EvolvedVersion, Measure, title
from lumen_tui.model.records import Change
from lumen_tui.model.requests.evolution import SplitTasks
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import EvolutionCandidate, objections
from lumen_tui.storage import locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.evolution import abtests, champions, suites


def split(store: Store, request: SplitTasks, *, by: str, now: float) -> Done:
    """Begin a test, or end the one that goes on. What the gate refuses without a trial gets no task either."""
    layout = store.layout
    with locks.waiting_lock(layout.lock(suites.LOCK)):
        if not request.candidate:
            return _end(layout, request.reason, by=by, now=now)
        if not LEAST_TASKS <= request.tasks <= MOST_TASKS:
            raise ActionError(f"--tasks {request.tasks}: a test takes {LEAST_TASKS} to {MOST_TASKS:,}")
        _must_be_alone(layout)
        candidate, champion = promotion.find(layout, request.candidate), promotion.current(layout)
        _must_fit(layout, candidate, champion)
        challenger = champion.with_edit(candidate.edit)
        at, role = times.iso(now), candidate.edit.role
        test = ABTest(ids.new_id("abt"), at, by, candidate.id, role, champion.name, challenger.name, request.tasks)
        summary = f"every second task of {role} works with: {title(candidate.edit)}"
        return _recorded(layout, test, summary, by=by, now=now, challenger=challenger)


def _must_be_alone(layout: Layout, test_id: str = "") -> None:
    """Refuse a test that is begun, or that one of this id goes on, beside another one."""
    running = abtests.running(layout)
    if running is not None and running.id != test_id:
        raise ActionError(f"{running.candidate} is in an A/B test: `evolve split` without a candidate ends it")


def _must_fit(layout: Layout, candidate: EvolutionCandidate, champion: EvolvedVersion) -> None:
    if candidate.withdrawn:
        raise ActionError(f"{candidate.id} is withdrawn")
    if not candidate.edit.rules.of_role or candidate.edit.measure is Measure.PERSON:
        raise ActionError(f"{candidate.id} is about no role: tasks cannot be divided by it")
    if reasons := objections(promotion.ground_of(layout, candidate, champion), None):
        raise ActionError(f"{candidate.id} gets no task: {'; '.join(reasons)}")


def _end(layout: Layout, reason: str, *, by: str, now: float) -> Done:
    running = abtests.running(layout)
    if running is None:
        raise ActionError("no A/B test goes on: `evolve split CANDIDATE` begins one", missing=True)
    why = one_line(reason, 200) or "by hand"
    test = msgspec.structs.replace(running, ended=times.iso(now), reason=why)
    return _recorded(layout, test, f"the A/B test of {running.candidate} ended: {why}", by=by, now=now)


def end(store: Store, running: ABTest, reason: str, *, by: str, now: float) -> Done:
    """End a test that goes on still; ActionError where something else was done since."""
    with locks.waiting_lock(store.layout.lock(suites.LOCK)):
        if abtests.last(store.layout) != running:
            raise ActionError("the A/B test has ended meanwhile")
        return _end(store.layout, reason, by=by, now=now)


def _recorded(
    layout: Layout, test: ABTest, summary: str, *, by: str, now: float, challenger: EvolvedVersion | None = None
) -> Done:
    change = promotion.test_change(test)
    action = edits.new_action("evolution.split", [change], summary=summary, by=by, now=now, target=test.candidate)
    with journal.carrying_out(layout, action):
        if challenger is not None:
            champions.keep(layout, challenger)
        abtests.write(layout, test)
    return Done(summary=summary, target=test.candidate, action_id=action.id)


def test_now(store: Store, change: Change) -> Side | None:
    """For undo: whether a test goes on."""
    test = abtests.find(store.layout, change.key)
    if test is None or test.undone:
        return {"ended": "never begun"}
    return {"ended": test.ended, "reason": test.reason}


def may_test(store: Store, change: Change) -> None:
    """For undo: refuse to have a test go on beside another one."""
    if (change.after or {}).get("ended") == "":
        _must_be_alone(store.layout, change.key)


def put_test(store: Store, change: Change) -> None:
    """For undo: end a test that was begun, or have one that was ended go on."""
    wanted, now = change.after or {}, times.iso(acting.caller().now)
    with locks.waiting_lock(store.layout.lock(suites.LOCK)):
        may_test(store, change)
        test = abtests.find(store.layout, change.key)
        if test is None:
            raise ActionError("the A/B test is no longer there: nothing was done")
        if "reason" in wanted:
            after = msgspec.structs.replace(
                test, ended=str(wanted["ended"]), reason=str(wanted["reason"]), undone=False
            )
        else:
            after = msgspec.structs.replace(test, ended=now, reason="undone", undone=True)
        abtests.write(store.layout, after)
