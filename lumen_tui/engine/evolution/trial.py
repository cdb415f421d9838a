"""A trial: champion and challenger on the same cases of the gate, paired, and what the gate says of the result.

Recorded calls are put to the tool gate under both roles; nothing is run and nobody is asked. What each version did at a
case is kept by case, version and settings, so that a trial that was killed goes on from there, and the same one twice
costs nothing. Where only a model could show the effect, nothing is measured, and the report says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import structs

from lumen_tui import __version__
from lumen_tui.actions import promotion
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution.casemaking import surroundings
from lumen_tui.model import ids, times
from lumen_tui.model.constitution import digest
from lumen_tui.model.digests import sha256
from lumen_tui.model.evals import CaseRun, EvalCase, Expectation, Split
from lumen_tui.model.replay import DecisionKind
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import (
    MOST_PAIRS,
    EditKind,
    EvolutionCandidate,
    PairedCase,
    TrialReport,
    TrialResult,
    objections,
)
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import candidates, champions
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.evolution.evolved import read_constitution
from lumen_tui.store.evolution.suites import SuiteReader
from lumen_tui.tools.base import Stopped
from lumen_tui.worker.replay.rejudging import RecordedTask, Rejudged
from lumen_tui.worker.replay.run import NotReplayable

_HELD = (DecisionKind.DENIED, DecisionKind.LIMITED)
_NO_MODEL = "no model ran"
_REASON = 200  # characters
Progress = Callable[[int, int], None]
_Both = tuple[Rejudged, Rejudged]


def passed(case: EvalCase, judged: Rejudged) -> bool | None:
    """Return whether the gate decides on a case as it should; None where its moment is not on record."""
    if case.step == 0:
        end = next((each for each in judged.ends if each.attempt == case.attempt), None)
        held = bool(end.unmet) if end is not None else None
    else:
        call = next((each for each in judged.calls if each.number == case.step), None)
        held = call.now.kind in _HELD if call is not None and call.now.kind is not DecisionKind.OPEN else None
    return None if held is None else held is (case.expect is Expectation.HOLD)


class Trial:
    """One trial under way. `run` may be stopped, or killed, and begun again."""

    def __init__(
        self, store: Store, name: str, *, progress: Progress = lambda done, total: None, stopped: Callable[[], bool]
    ) -> None:
        """Raise ActionError where there is no such candidate, its role is gone, or the champion is damaged."""
        self._store, self._layout = store, store.layout
        self._progress, self._stopped = progress, stopped
        self.candidate: EvolutionCandidate = promotion.find(self._layout, name)
        try:
            self._champion = champions.current(self._layout)
        except DamagedChampion as error:
            raise ActionError(str(error)) from error
        self._challenger = self._champion.with_edit(self.candidate.edit)
        self._ground = promotion.ground_of(self._layout, self.candidate, self._champion)
        self._rules = rules_digest(self._layout, self.candidate.edit.role)
        self._known = candidates.runs(self._layout)
        self._tasks: dict[str, _Both | str] = {}  # judged under champion and challenger

    def run(self, now: float, by: str) -> TrialReport:
        """Measure, judge and record. What cannot pass whatever is measured is not measured."""
        before = objections(self._ground, None)
        cases = [] if before else self._cases()
        sample = self._sample(cases)
        result = TrialResult(()) if before else self._measured(cases)
        ground = structs.replace(self._ground, look=self._look(sample))
        reasons = before or objections(ground, result)
        report = TrialReport(
            ids.new_id("tri"),
            times.iso(now),
            by,
            self.candidate.id,
            self._champion.name,
            self._challenger.name,
            ground.look,
            sample,
            len(result.pairs),
            result.measured,
            result.fixes,
            result.regressions,
            round(result.p, 6) if result.measured else 1.0,
            result.costs,
            digest(read_constitution(self._layout).approved),
            tuple(pair for pair in result.pairs if pair.fixed or pair.broken or pair.flaky),
            reasons,
        )
        if not result.stopped:
            candidates.report(self._layout, report)
        return report

    def _sample(self, cases: Iterable[EvalCase]) -> str:
        """Return a hash of what is compared on what."""
        parts = (self._champion.name, self._rules, *(case.digest for case in cases))
        return sha256(" ".join(parts).encode())[:16]

    def _look(self, sample: str) -> int:
        """Return the number of this look at the candidate: the same sample once more is the same look."""
        earlier = candidates.reports_by_candidate(self._layout).get(self.candidate.id, [])
        samples = list(dict.fromkeys(report.sample for report in earlier if report.measured))
        return samples.index(sample) + 1 if sample in samples else len(samples) + 1

    def _measured(self, cases: Sequence[EvalCase]) -> TrialResult:
        try:
            both = {case.id: self._both(case, number, len(cases)) for number, case in enumerate(cases)}
            pairs = tuple(self._pair(case, *both[case.id]) for case in cases)
        except Stopped:
            return TrialResult((), stopped=True)
        idle = next((run.reason for runs in both.values() for run in runs if run.passed is None), "")
        return TrialResult(pairs, self._costs(cases, both), unmeasured=idle)

    def _cases(self) -> list[EvalCase]:
        """Return the cases of the role, at most MOST_PAIRS: those that must hold, then by their hash."""
        reader = SuiteReader(self._layout, self.candidate.suite, Split.GATE)
        of_role = [case for case in reader.cases() if case.role == self.candidate.edit.role]
        return sorted(of_role, key=lambda case: (not case.must, case.digest))[:MOST_PAIRS]

    def _both(self, case: EvalCase, number: int, total: int) -> tuple[CaseRun, CaseRun]:
        if self._stopped():
            raise Stopped
        self._progress(number, total)
        keys = [(case.digest, version.name, self._rules) for version in (self._champion, self._challenger)]
        if all(key in self._known for key in keys):
            return self._known[keys[0]], self._known[keys[1]]
        done = self._judged(case, self._recorded(case))
        candidates.remember(self._layout, [run for run in done if run.key not in self._known])
        self._known |= {run.key: run for run in done}
        return done

    def _recorded(self, case: EvalCase, *, fresh: bool = False) -> _Both | str:
        """Return the task of a case, judged under both versions, or why that cannot be."""
        if self.candidate.edit.kind is EditKind.PROMPT:
            return _NO_MODEL
        if fresh or case.task not in self._tasks:
            try:
                recorded = RecordedTask(self._store, case.task, surroundings(self._stopped))
                roles = [version.applied(self._ground.role) for version in (self._champion, self._challenger)]
                self._tasks[case.task] = recorded.under(roles[0]), recorded.under(roles[1])
            except (NotReplayable, OSError) as error:
                self._tasks[case.task] = one_line(str(error), _REASON)
        return self._tasks[case.task]

    def _judged(self, case: EvalCase, both: _Both | str) -> tuple[CaseRun, CaseRun]:
        names = (self._champion.name, self._challenger.name)
        if isinstance(both, str):
            runs = [CaseRun(case.digest, name, None, 0, both, self._rules) for name in names]
        else:
            runs = [self._run(case, name, judged) for name, judged in zip(names, both, strict=True)]
        return runs[0], runs[1]

    def _run(self, case: EvalCase, version: str, judged: Rejudged) -> CaseRun:
        outcome = passed(case, judged)
        reason = "" if outcome is not None else "its moment is not on record"
        return CaseRun(case.digest, version, outcome, judged.questions, reason, self._rules)

    def _pair(self, case: EvalCase, champion: CaseRun, challenger: CaseRun) -> PairedCase:
        """Return a pair; where the two differ it is measured once more, and what changes then tells nothing."""
        flaky = False
        if champion.passed is not challenger.passed:
            again = self._judged(case, self._recorded(case, fresh=True))
            flaky = (again[0].passed, again[1].passed) != (champion.passed, challenger.passed)
        return PairedCase(case.id, champion.passed, challenger.passed, case.must, flaky, case.words)

    def _costs(self, cases: Iterable[EvalCase], both: dict[str, tuple[CaseRun, CaseRun]]) -> tuple[float, float]:
        """Return the questions to a person over all tasks, each counted once."""
        by_task = {case.task: both[case.id] for case in cases}
        champion = sum(pair[0].questions for pair in by_task.values())
        return float(champion), float(sum(pair[1].questions for pair in by_task.values()))


def tried(
    root: Path, name: str, by: str, progress: Progress = lambda done, total: None, stopped: Callable[[], bool] = bool
) -> TrialReport:
    """Try a candidate now, for front ends; ActionError where that cannot be."""
    return Trial(Store(root), name, progress=progress, stopped=stopped).run(time.time(), by)


def rules_digest(layout: Layout, role: str) -> str:
    """Return a hash of what decides besides the edits: the settings, the role's files, the program's version."""
    paths = (layout.config, layout.operator, layout.role(role))
    parts = [__version__.encode(), *(files.read(path) or b"" for path in paths)]
    return sha256(b"\0".join(sha256(part).encode() for part in parts))[:16]
