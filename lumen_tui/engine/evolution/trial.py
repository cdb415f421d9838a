"""A trial: champion and challenger on the same cases of the gate, paired, and what the gate says of the result.

Of a rule the recorded calls are put to the tool gate under both roles, of a weight recorded searches are made again
(`recall`); nothing is run and nobody is asked. Where only a model can show the effect, both versions do the tasks of
the cases again (`modelruns`); where none can be asked nothing is measured, and the report says so. What each version
did at a case is kept by case, version and settings, so that a trial that was stopped or killed goes on from there, and
the same one twice costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import structs

from lumen_tui import __version__
from lumen_tui.actions import promotion
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution import modelruns, trialfolder
from lumen_tui.engine.evolution.casemaking import surroundings
from lumen_tui.engine.evolution.recall import RecallRuns, memory_digest
from lumen_tui.model import ids, times
from lumen_tui.model.constitution import digest
from lumen_tui.model.digests import sha256
from lumen_tui.model.evals import CaseRun, EvalCase, Expectation, Split, sample, siblings
from lumen_tui.model.evolved_edits import Measure
from lumen_tui.model.replay import DecisionKind
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import (
    MOST_PAIRS,
    QUESTIONS,
    TOKENS,
    EvolutionCandidate,
    PairedCase,
    TrialProgress,
    TrialReport,
    TrialResult,
    objections,
)
from lumen_tui.storage import directories, files, process
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import candidates, champions
from lumen_tui.store.evolution.champions import DamagedChampion
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.evolution.suites import SuiteReader
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Stopped
from lumen_tui.worker.replay.rejudging import RecordedTask, Rejudged
from lumen_tui.worker.replay.run import NotReplayable

_HELD = (DecisionKind.DENIED, DecisionKind.LIMITED)
_REASON = 200  # characters
Progress = Callable[[str], None]  # is told how far it is
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
        self,
        store: Store,
        name: str,
        *,
        progress: Progress = lambda words: None,
        stopped: Callable[[], bool],
        most: int = MOST_PAIRS,
    ) -> None:
        """Raise ActionError where there is no such candidate, its role is gone, or the champion is damaged.

        `most` is the number of cases, fixed before the first one is looked at.
        """
        self._store, self._layout, self._most = store, store.layout, most
        self._progress, self._stopped = progress, stopped
        self.candidate: EvolutionCandidate = promotion.find(self._layout, name)
        try:
            self._champion = champions.current(self._layout)
        except DamagedChampion as error:
            raise ActionError(str(error)) from error
        self._challenger = self._champion.with_edit(self.candidate.edit)
        self._ground = promotion.ground_of(self._layout, self.candidate, self._champion)
        self._config = load_config(self._layout)[0]
        self._measure = self.candidate.edit.measure
        self._by_model = self._measure is Measure.MODEL
        self._searches: RecallRuns | None = None
        self._idle, self._rules = "", rules_digest(self._layout, self.candidate.edit.role)
        if self._measure is Measure.RECALL:
            self._rules = memory_digest(self._layout, time.time())
        if self._by_model:
            self._idle = trialfolder.why_not(self._layout, self._config, self._ground.role, os.environ)
            self._rules = modelruns.models_digest(self._config, self._ground.role)
        self._known = candidates.runs(self._layout)
        self._failed: dict[tuple[str, str, str], CaseRun] = {}  # of this trial: what told nothing of a version
        self._tasks: dict[str, _Both | str] = {}  # judged under champion and challenger

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked: what it tries needs one, and there is one with a budget."""
        return self._by_model and not self._idle

    def run(self, now: float, by: str) -> TrialReport:
        """Measure, judge and record. What cannot pass whatever is measured is not measured."""
        before = objections(self._ground, None)
        cases = [] if before else self._cases()
        sample = self._sample(cases)
        result = TrialResult(()) if before else self._measured(cases, now)
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
            result.unit,
            round(result.usd, 6),
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

    def _measured(self, cases: Sequence[EvalCase], now: float) -> TrialResult:
        try:
            if self.asks_model:
                self._ask(cases, now)
            again = siblings(cases)
            with self._searching(now):
                both = {case.id: self._both(case, number, len(cases)) for number, case in enumerate(cases)}
                pairs = tuple(self._pair(case, case.id in again, *both[case.id]) for case in cases)
        except Stopped:
            return TrialResult((), stopped="it was stopped")
        except trialfolder.NoAnswer as error:
            return TrialResult((), stopped=str(error))
        idle = next((run.reason for runs in both.values() for run in runs if run.passed is None), "")
        usd = sum(run.usd for runs in both.values() for run in runs)
        unit = TOKENS if self._by_model else QUESTIONS
        return TrialResult(pairs, self._costs(cases, both), unit, usd, unmeasured=idle)

    def _ask(self, cases: Sequence[EvalCase], now: float) -> None:
        """Have both versions do what is not known of them yet. Raise Stopped and NoAnswer."""
        versions = (self._champion, self._challenger)
        wanted = [(case, side) for case in cases for side in (0, 1) if self._key(case, side) not in self._known]
        shown = ProgressFile(self._layout, self.candidate, now, self._progress)

        def note(case: EvalCase, run: CaseRun) -> None:
            if run.passed is None:
                self._failed[run.key] = run
            else:
                self._known[run.key] = run
                candidates.remember(self._layout, [run])
            shown.write(*self._so_far(cases))

        rules, layout = self._rules, self._layout
        one, other = (modelruns.CaseFolder(layout, self._config, version, rules) for version in versions)
        runs = modelruns.ModelRuns(layout, self._config, (one, other), note=note, stopped=self._stopped)
        with shown:
            shown.write(*self._so_far(cases))
            runs.do(wanted)
        if self._stopped():
            raise Stopped

    def _key(self, case: EvalCase, side: int) -> tuple[str, str, str]:
        return case.digest, (self._champion, self._challenger)[side].name, self._rules

    def _so_far(self, cases: Sequence[EvalCase]) -> tuple[list[PairedCase], int, int, float]:
        """Return the pairs of which both runs are known, of how many, and how many runs are done, and their cost."""
        keys = [(case, self._key(case, 0), self._key(case, 1)) for case in cases]
        pairs = [
            PairedCase(case.id, self._known[one].passed, self._known[other].passed)
            for case, one, other in keys
            if one in self._known and other in self._known
        ]
        ended = [key for _, *both in keys for key in both if key in self._known or key in self._failed]
        return pairs, len(cases), len(ended), sum(self._known[key].usd for key in ended if key in self._known)

    @contextmanager
    def _searching(self, now: float) -> Iterator[None]:
        if self._measure is not Measure.RECALL:
            yield
            return
        with RecallRuns(self._layout, (self._champion, self._challenger), now) as self._searches:
            yield

    def _cases(self) -> list[EvalCase]:
        """Return the cases of the role, one of each work unit; for a model the last end of each task."""
        reader = SuiteReader(self._layout, self.candidate.suite, Split.GATE)
        if self._measure is Measure.RECALL:
            return sample((case for case in reader.cases() if case.expect is Expectation.FIND), self._most)
        moments = [case for case in reader.cases() if case.expect is not Expectation.FIND]
        of_role = [case for case in moments if case.role == self.candidate.edit.role]
        if self._by_model:
            of_role = list({case.task: case for case in of_role if case.step == 0}.values())
        return sample(of_role, self._most)

    def _both(self, case: EvalCase, number: int, total: int) -> tuple[CaseRun, CaseRun]:
        if self._stopped():
            raise Stopped
        self._progress(f"case {number + 1:,} of {total:,}")
        keys = [self._key(case, side) for side in (0, 1)]
        if all(key in self._known for key in keys):
            return self._known[keys[0]], self._known[keys[1]]
        if self._by_model:
            runs = [self._known.get(key) or self._failed.get(key) or self._unasked(key) for key in keys]
            return runs[0], runs[1]
        done = self._measured_now(case)
        candidates.remember(self._layout, [run for run in done if run.key not in self._known])
        self._known |= {run.key: run for run in done}
        return done

    def _measured_now(self, case: EvalCase, *, fresh: bool = False) -> tuple[CaseRun, CaseRun]:
        if self._searches is None:
            return self._judged(case, self._recorded(case, fresh=fresh))
        names = (self._champion.name, self._challenger.name)
        shown = [self._searches.shown(case, side) for side in (0, 1)]
        reasons = ["" if each is not None else "its query cannot be asked" for each in shown]
        parts = zip(names, shown, reasons, strict=True)
        runs = [CaseRun(case.digest, name, each, 0, reason, self._rules) for name, each, reason in parts]
        return runs[0], runs[1]

    def _unasked(self, key: tuple[str, str, str]) -> CaseRun:
        return CaseRun(key[0], key[1], None, 0, f"no model ran: {self._idle}", key[2])

    def _recorded(self, case: EvalCase, *, fresh: bool = False) -> _Both | str:
        """Return the task of a case, judged under both versions, or why that cannot be."""
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

    def _pair(self, case: EvalCase, sibling: bool, champion: CaseRun, challenger: CaseRun) -> PairedCase:
        """Return a pair; where the two differ it is measured once more, and what changes then tells nothing.

        A model is asked once: its luck is in the p-value.
        """
        flaky = False
        if not self._by_model and champion.passed is not challenger.passed:
            again = self._measured_now(case, fresh=True)
            flaky = (again[0].passed, again[1].passed) != (champion.passed, challenger.passed)
        return PairedCase(case.id, champion.passed, challenger.passed, case.must, flaky, case.words, sibling)

    def _costs(self, cases: Iterable[EvalCase], both: dict[str, tuple[CaseRun, CaseRun]]) -> tuple[float, float]:
        """Return what both cost over all tasks, each counted once; of cases that a model did, where both were done."""
        pairs = list({case.task: both[case.id] for case in cases}.values())
        if self._by_model:
            done = [pair for pair in pairs if all(run.passed is not None for run in pair)]
            return float(sum(one.tokens for one, _ in done)), float(sum(other.tokens for _, other in done))
        return float(sum(one.questions for one, _ in pairs)), float(sum(other.questions for _, other in pairs))


class ProgressFile:
    """evals/trial.json while a trial asks a model, for whoever looks on; it goes with the block."""

    def __init__(self, layout: Layout, candidate: EvolutionCandidate, now: float, told: Progress) -> None:
        self._path, self._candidate, self._now, self._told = layout.trial_now, candidate.id, now, told

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        directories.remove(self._path)

    def write(self, pairs: Sequence[PairedCase], total: int, runs: int, usd: float) -> None:
        """Say how far it is."""
        result = TrialResult(tuple(pairs))
        me = process.myself()
        progress = TrialProgress(
            self._candidate,
            times.iso(self._now),
            total,
            runs,
            result.measured,
            result.fixes,
            result.regressions,
            usd,
            me.pid,
            me.start_ticks,
            me.boot_id,
        )
        files.replace(self._path, msgspec.json.encode(progress))
        self._told(progress.words)


def asked_of(root: Path, name: str, most: int = MOST_PAIRS) -> str:
    """Return what a trial would ask of a model, in a sentence; empty where it asks none. ActionError."""
    trial = Trial(Store(root), name, stopped=bool, most=most)
    return trialfolder.room_words(Layout(root), load_config(Layout(root))[0]) if trial.asks_model else ""


def tried(
    root: Path,
    name: str,
    by: str,
    progress: Progress = lambda words: None,
    stopped: Callable[[], bool] = bool,
    most: int = MOST_PAIRS,
) -> TrialReport:
    """Try a candidate now, for front ends; ActionError where that cannot be."""
    return Trial(Store(root), name, progress=progress, stopped=stopped, most=most).run(time.time(), by)


def rules_digest(layout: Layout, role: str) -> str:
    """Return a hash of what decides besides the edits: the settings, the role's files, the program's version."""
    paths = (layout.config, layout.operator, *([layout.role(role)] if role else []))
    parts = [__version__.encode(), *(files.read(path) or b"" for path in paths)]
    return sha256(b"\0".join(sha256(part).encode() for part in parts))[:16]
