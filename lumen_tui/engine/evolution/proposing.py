"""Candidates that follow from recorded work: what the cases for proposers have in common.

Five findings make a candidate. A tool that false claims did without and true ones used is one that a claim needs.
Commands that a person refused again and again, and never allowed, need no person. False claims that took more steps
than any true one are cut off there. A tool whose first call failed in most attempts is to be called with more care.
Another weight of the search shows more of what was looked for. None looks at a case of the gate, and none takes over
words of a worker: what it says has a fixed form. A cheap model that is shown what a role is told, and its cases in
such a form, may propose paragraphs of its prompt besides. Like any proposer it decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from lumen_tui.actions.acting import LEARNING
from lumen_tui.engine.evolution.casemaking import rejudged
from lumen_tui.model import times
from lumen_tui.model.evals import EvalCase, Expectation, Split
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.roles import ALL_TOOLS, REPORT_TOOLS, ToolRule
from lumen_tui.model.session_review import ProposingRequest, ProposingResult
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import EvolutionCandidate, candidate_id, fault
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import champions
from lumen_tui.store.evolution.suites import SuiteReader
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role
from lumen_tui.tools.base import Stopped

if TYPE_CHECKING:
    from lumen_tui.worker.replay.rejudging import Rejudged

_LEAST = 2  # cases that say the same
_LEAST_TRUE = 5  # true claims, or searches, from which something follows
_LEAST_FAILED = 4  # attempts in which a tool failed
_ROOM = 1.5  # times the steps of the longest true claim
_WEIGHTS = tuple(  # what is tried of the search, one at a time
    (name, value)
    for name, values in {
        "importance": (0.0, 0.05, 0.3),
        "recency": (0.0, 0.05, 0.3),
        "half_life": (7.0, 120.0),
        "beside": (0.2, 0.6, 0.8),
        "session": (0.0, 0.15, 0.6),
        "linked": (0.3, 0.8),
    }.items()
    for value in values
)
_MOST = 20  # candidates of one pass
_MOST_AIMS = 20
_PATTERN_WORDS = 2  # of a command, by which it is told from others
_MOST_MOMENTS = 60  # of a role that a model is shown
_MOST_WHY = 240


class _Moment(Struct, frozen=True):
    """A case with what is known of its moment."""

    case: EvalCase
    used: frozenset[str] = frozenset()  # of an end: the tools that the attempt had used with success
    steps: int = 0  # of an end: calls that the attempt had made
    failed_first: frozenset[str] = frozenset()  # of an end: the tools whose first call in the attempt failed
    tool: str = ""  # of a call
    target: str = ""


def propose(store: Store, suite: str, now: float, stopped: Callable[[], bool]) -> list[EvolutionCandidate]:
    """Return what follows from the cases for proposers. Raise Stopped."""
    by_role: dict[str, list[_Moment]] = defaultdict(list)
    tasks: dict[str, Rejudged | None] = {}
    cases = SuiteReader(store.layout, suite, Split.TRAIN).cases()
    for case in cases:
        if case.expect is Expectation.FIND:
            continue
        judged = tasks[case.task] if case.task in tasks else rejudged(store, case.task, stopped)
        tasks[case.task] = judged
        moment = _moment(case, judged) if judged is not None else None
        if moment is not None:
            by_role[case.role].append(moment)
    made = [
        EvolutionCandidate(candidate_id(edit), times.iso(now), "evolution", edit, why, aims, Trust.AGENT, suite)
        for role, moments in sorted(by_role.items())
        for edit, why, aims in (
            *_needed(role, moments),
            *_refused(role, moments),
            *_long(role, moments),
            *_failing(role, moments),
        )
    ]
    if by_role and load_config(store.layout)[0].evolution.proposer == "model":
        made += _by_model(store, {role: _told(moments) for role, moments in by_role.items()}, now, stopped)
    searches = [case for case in cases if case.expect is Expectation.FIND]
    made += [
        EvolutionCandidate(candidate_id(edit), times.iso(now), "evolution", edit, why, aims, Trust.AGENT, suite)
        for edit, why, aims in _weighed(store, searches, now, stopped)
    ]
    return [candidate for candidate in made if not fault(candidate)][:_MOST]


def _by_model(
    store: Store, told: Mapping[str, Sequence[str]], now: float, stopped: Callable[[], bool]
) -> list[EvolutionCandidate]:
    """Return what it would add to shipped roles; nothing where it gives no answer, which the ledger says."""
    from lumen_tui.engine.evolution.modeljudge import ask_process  # all that starts processes

    made: list[EvolutionCandidate] = []
    config, champion = load_config(store.layout)[0], champions.read_current(store.layout)
    for name, moments in sorted(told.items()):
        try:
            role = champion.applied(load_role(store.layout, name))
        except (OSError, ValueError):
            continue
        if not moments or role.source != "shipped":
            continue
        order = ProposingRequest(str(store.root), name, role.prompt, tuple(moments[:_MOST_MOMENTS]))
        answer = ask_process("propose", config, order, ProposingResult, stopped)
        for paragraph in answer.proposed:
            edit = EvolvedEdit(name, EditKind.PROMPT, text=" ".join(paragraph.text.split()))
            why = one_line(f"{answer.brain}: {paragraph.why}", _MOST_WHY)
            made.append(EvolutionCandidate(candidate_id(edit), times.iso(now), LEARNING, edit, why, trust=Trust.AGENT))
    return made


def _told(moments: list[_Moment]) -> list[str]:
    """Return how the attempts of a role went, in fixed words; none where no claim was false."""
    ends = [moment for moment in moments if moment.case.step == 0]
    if sum(moment.case.expect is Expectation.HOLD for moment in ends) < _LEAST:
        return []
    return [_told_of(moment) for moment in ends]


def _told_of(moment: _Moment) -> str:
    verdict = "disproved" if moment.case.expect is Expectation.HOLD else "proved"
    known = frozenset(ALL_TOOLS)  # any other name is a word of whoever called it
    used, failed = (", ".join(sorted(names & known)) or "none" for names in (moment.used, moment.failed_first))
    return f"claim {verdict} after {moment.steps} calls; tools used: {used}; failed at their first call: {failed}"


def _moment(case: EvalCase, judged: Rejudged) -> _Moment | None:
    if case.step:
        call = next((each for each in judged.calls if each.number == case.step), None)
        return _Moment(case, tool=call.tool, target=call.target) if call is not None else None
    calls = [call for call in judged.calls if call.attempt == case.attempt]
    first = {call.tool: call for call in reversed(calls)}
    failed = frozenset(tool for tool, call in first.items() if not call.succeeded)
    used = frozenset(call.tool for call in calls if call.succeeded)
    return _Moment(case, used=used, steps=len(calls), failed_first=failed)


_Found = Iterator[tuple[EvolvedEdit, str, tuple[str, ...]]]


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
            yield EvolvedEdit(role, EditKind.RULE, rule), why, tuple(without[:_MOST_AIMS])


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
            yield EvolvedEdit(role, EditKind.RULE, rule), why, tuple(moment.case.id for moment in covered[:_MOST_AIMS])


def _long(role: str, moments: list[_Moment]) -> _Found:
    """Yield a limit of steps where several false claims came later than any true one, with room above the last."""
    ends = [moment for moment in moments if moment.case.step == 0]
    true = [moment.steps for moment in ends if moment.case.expect is Expectation.PASS]
    most = round(max(true, default=0) * _ROOM)
    late = [moment.case.id for moment in ends if moment.case.expect is Expectation.HOLD and moment.steps > most]
    if len(true) >= _LEAST_TRUE and len(late) >= _LEAST:
        why = (
            f"{len(late)} claims that checks disproved came after step {most}; no proved one took more than {max(true)}"
        )
        yield EvolvedEdit(role, EditKind.SETTING, name="max_steps", value=most), why, tuple(late[:_MOST_AIMS])


def _failing(role: str, moments: list[_Moment]) -> _Found:
    """Yield a paragraph for each tool whose first call failed in most attempts that used it."""
    ends = [moment for moment in moments if moment.case.step == 0]
    for tool in sorted(frozenset().union(*(moment.failed_first for moment in ends))):
        failed = [moment.case.id for moment in ends if tool in moment.failed_first]
        asked = sum(tool in moment.used or tool in moment.failed_first for moment in ends)
        if tool in ALL_TOOLS and len(failed) >= _LEAST_FAILED and 2 * len(failed) > asked:
            text = f"The first call of {tool} often fails: look at what is there before you call it."
            why = f"the first call of {tool} failed in {len(failed)} of {asked} attempts"
            yield EvolvedEdit(role, EditKind.PROMPT, text=text), why, tuple(failed[:_MOST_AIMS])


def _weighed(store: Store, cases: list[EvalCase], now: float, stopped: Callable[[], bool]) -> _Found:
    """Yield the one weight by which the search shows most of what was looked for, where that is more than now."""
    if len(cases) < _LEAST_TRUE:
        return
    from lumen_tui.engine.evolution.recall import RecallRuns  # the search

    champion = champions.read_current(store.layout)
    edits = [EvolvedEdit("", EditKind.WEIGHT, name=name, value=value) for name, value in _WEIGHTS]
    with RecallRuns(store.layout, (champion, *map(champion.with_edit, edits)), now) as runs:
        found: list[set[str]] = []
        for side in range(len(edits) + 1):
            if stopped():
                raise Stopped
            found.append({case.id for case in cases if runs.shown(case, side)})
    best = max(range(1, len(found)), key=lambda side: len(found[side]))
    if len(found[best]) >= len(found[0]) + _LEAST:
        why = f"of {len(cases)} searches it shows what was looked for in {len(found[best])}, and now in {len(found[0])}"
        yield edits[best - 1], why, tuple(sorted(found[best] - found[0]))[:_MOST_AIMS]


def _pattern(target: str) -> str:
    """Return a pattern for commands like one, by its first words; what a pattern means by itself is left out."""
    words = one_line(target, 200).split()[:_PATTERN_WORDS]
    plain = [word for word in words if not set(word) & set("*?[]")]
    return " ".join(plain) + "*" if plain else ""
