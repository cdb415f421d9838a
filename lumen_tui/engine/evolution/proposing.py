"""Candidates that follow from recorded work, without a model: what the cases for proposers have in common.

Two findings make a candidate. A tool that false claims did without and true ones used is one that a claim needs.
Commands that a person refused again and again, and never allowed, need no person. Neither looks at a case of the gate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from msgspec import Struct

from lumen_tui.engine.evolution.casemaking import surroundings
from lumen_tui.model import times
from lumen_tui.model.evals import EvalCase, Expectation, Split
from lumen_tui.model.evolution import Trust
from lumen_tui.model.roles import REPORT_TOOLS, ToolRule
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import EditKind, EvolutionCandidate, RoleEdit, candidate_id, fault
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution.suites import SuiteReader
from lumen_tui.worker.replay.rejudging import RecordedTask, Rejudged
from lumen_tui.worker.replay.run import NotReplayable

_LEAST = 2  # cases that say the same
_MOST = 20  # candidates of one pass
_MOST_AIMS = 20
_PATTERN_WORDS = 2  # of a command, by which it is told from others


class _Moment(Struct, frozen=True):
    """A case with what is known of its moment."""

    case: EvalCase
    used: frozenset[str] = frozenset()  # of an end: the tools that the attempt had used with success
    tool: str = ""  # of a call
    target: str = ""


def propose(store: Store, suite: str, now: float, stopped: Callable[[], bool]) -> list[EvolutionCandidate]:
    """Return what follows from the cases for proposers. Raise Stopped."""
    by_role: dict[str, list[_Moment]] = defaultdict(list)
    tasks: dict[str, Rejudged | None] = {}
    for case in SuiteReader(store.layout, suite, Split.TRAIN).cases():
        judged = tasks[case.task] if case.task in tasks else _judged(store, case.task, stopped)
        tasks[case.task] = judged
        moment = _moment(case, judged) if judged is not None else None
        if moment is not None:
            by_role[case.role].append(moment)
    made = [
        EvolutionCandidate(candidate_id(edit), times.iso(now), "evolution", edit, why, aims, Trust.AGENT, suite)
        for role, moments in sorted(by_role.items())
        for edit, why, aims in (*_needed(role, moments), *_refused(role, moments))
    ]
    return [candidate for candidate in made if not fault(candidate)][:_MOST]


def _judged(store: Store, task: str, stopped: Callable[[], bool]) -> Rejudged | None:
    try:
        recorded = RecordedTask(store, task, surroundings(stopped))
        return recorded.under(recorded.role)
    except (NotReplayable, OSError):
        return None


def _moment(case: EvalCase, judged: Rejudged) -> _Moment | None:
    if case.step:
        call = next((each for each in judged.calls if each.number == case.step), None)
        return _Moment(case, tool=call.tool, target=call.target) if call is not None else None
    used = frozenset(call.tool for call in judged.calls if call.attempt == case.attempt and call.succeeded)
    return _Moment(case, used=used)


_Found = Iterator[tuple[RoleEdit, str, tuple[str, ...]]]


def _needed(role: str, moments: list[_Moment]) -> _Found:
    """Yield a rule for each tool that every true claim used and several false ones did without."""
    ends = [moment for moment in moments if moment.case.step == 0]
    false = [moment for moment in ends if moment.case.expect is Expectation.HOLD]
    true = [moment for moment in ends if moment.case.expect is Expectation.PASS]
    everywhere = frozenset.intersection(*(moment.used for moment in true)) if len(true) >= _LEAST else frozenset()
    for tool in sorted(everywhere - {*REPORT_TOOLS}):
        without = [moment.case.id for moment in false if tool not in moment.used]
        if len(without) >= _LEAST:
            why = (
                f"{len(without)} of {len(false)} claims that checks disproved were made without {tool}; "
                f"all {len(true)} that were proved had used it"
            )
            rule = ToolRule("required_before_exit", tool)
            yield RoleEdit(role, EditKind.RULE, rule), why, tuple(without[:_MOST_AIMS])


def _refused(role: str, moments: list[_Moment]) -> _Found:
    """Yield a rule for each kind of call that a person refused several times, and never allowed."""
    calls = [moment for moment in moments if moment.tool and moment.target]
    groups: dict[tuple[str, str], list[_Moment]] = defaultdict(list)
    for moment in calls:
        groups[moment.tool, _pattern(moment.target)].append(moment)
    for (tool, pattern), group in sorted(groups.items()):
        rule = ToolRule("deny", tool, pattern=pattern)
        covered = [moment for moment in calls if rule.covers(moment.tool, moment.target)]
        if len(group) >= _LEAST and all(moment.case.expect is Expectation.HOLD for moment in covered):
            why = f"a person refused this {len(covered)} times and never allowed it"
            yield RoleEdit(role, EditKind.RULE, rule), why, tuple(moment.case.id for moment in covered[:_MOST_AIMS])


def _pattern(target: str) -> str:
    """Return a pattern for commands like one, by its first words; what a pattern means by itself is left out."""
    words = one_line(target, 200).split()[:_PATTERN_WORDS]
    plain = [word for word in words if not set(word) & set("*?[]")]
    return " ".join(plain) + "*" if plain else ""
