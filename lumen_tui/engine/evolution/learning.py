"""The engine's learning: after sessions, in a thread, a few seconds in each beat. Beats never wait for it."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

import msgspec

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.evolution.canary import Canary
from lumen_tui.engine.evolution.proposed import ProposedTrials, SleepWork
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped, stamp
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution.constitution import read_constitution
from lumen_tui.store.sessions.transcripts import own_sessions
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import is_killed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from lumen_tui.engine.evolution import modelread
    from lumen_tui.engine.evolution.modeljudge import ModelJudge
    from lumen_tui.model.config import EvolutionConfig

_STOPS_WITHIN = 5.0  # seconds that an engine which ends waits for the thread


class _Pass(msgspec.Struct):
    """What one pass brought; `again` where it was stopped before the end."""

    summary: str = ""
    changed: bool = False
    again: bool = False
    problem: str = ""
    facts: str = ""  # what became of facts that were learnt
    model: str = ""  # what a model made of the sessions
    model_failed: bool = False
    judge: str = ""  # what a model made of what the rules let pass
    judge_failed: bool = False


class Learning:
    """Checks the constitution on each beat, and begins a pass where a session may have something new."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout = layout
        self._log = log
        self._job: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._seen: object = None  # what `_looks` gave when the last pass began
        self._store = Store(layout.root)
        self._canary = Canary(self._store, log)
        self._proposed = ProposedTrials(layout, log)
        self._sleep = SleepWork(layout, log)
        self._tried = set[str]()
        self._ended: _Pass | None = None
        self._reported_fault = ""  # the fault of the constitution that was reported
        self._reported_models: dict[str, str] = {}  # the last word about each
        paths = [layout.constitution, layout.approved_constitution]
        self._standing = Stamped(lambda: paths, lambda: read_constitution(layout))

    def note_ended(self, ended: object, now: float) -> None:
        """Note that sessions ended: there may be something new in their files, and the canary looks at their tasks."""
        self._canary.note_ended(ended, now)
        if ended:
            self._seen = None

    def wake(self) -> None:
        """End sleep-time work: something waits."""
        self._sleep.wake()

    def beat(self, config: EvolutionConfig, now: float, *, busy: bool = False) -> None:
        """Report what the last pass brought, check the constitution, start the next pass if there is cause.

        While the engine is `busy` with tasks nothing is tried.
        """
        self._report(now)
        self._standing.refresh()
        holds = self._constitution_holds(now)
        if holds and config.enabled:
            held = busy or self._held_back()
            self._proposed.beat(now, busy=held)
            self._sleep.beat(now, wanted=config.sleep and not held)
        if not holds or not config.enabled or self._job is not None:
            return
        looks = self._inputs_stamp(now)
        if looks == self._seen:
            return
        self._seen = looks
        self._job = asyncio.get_running_loop().create_task(self._run(config, now))

    def _inputs_stamp(self, now: float) -> object:
        """Return a value that changes when there may be work: sessions, observations, probe results, a new hour."""
        layout = self._layout
        return (*map(stamp, (layout.transcripts, layout.observations, layout.confirmations)), now // 3600)

    def _constitution_holds(self, now: float) -> bool:
        fault = self._standing.value.why
        if fault and fault != self._reported_fault:
            self._log.add("constitution", f"{fault}: nothing is learnt until it is approved", now)
        elif self._reported_fault and not fault:
            self._log.add("constitution", "the constitution is approved: learning goes on", now)
        self._reported_fault = fault
        return not fault

    async def _run(self, config: EvolutionConfig, now: float) -> None:
        try:
            self._ended = await asyncio.to_thread(self._pass, config, now)
        except ImportError as error:  # an upgrade took the program's files away
            self._ended = _Pass(problem=str(error))
        finally:
            self._job = None

    def _pass(self, config: EvolutionConfig, now: float) -> _Pass:
        """Read all own sessions that changed, until the time is over. Runs in a thread."""
        with acting.acting_for(acting.LEARNING, acting.ENGINE, now):
            return self._learn(config, now)

    def _learn(self, config: EvolutionConfig, now: float) -> _Pass:
        from lumen_tui.engine.evolution import evolve, pipeline  # rapidfuzz: 40 ms that no start pays

        deadline = time.monotonic() + config.seconds

        def over() -> bool:
            return self._stop.is_set() or time.monotonic() > deadline

        judge = self._judge(config)
        evolving = pipeline.EvolutionPipeline(self._layout, config, stop=over, judge=judge)
        try:
            paths = [path for path in own_sessions(self._layout) if not evolving.is_unchanged(path)]
            in_time = itertools.takewhile(lambda _: not over(), paths)
            outcome = evolve.evolve(self._layout, evolving, in_time, now=now)
            if _has_results(outcome):
                evolve.write(self._layout, outcome, config, now=now, by=acting.LEARNING)
            ended = _Pass(outcome.summary, _has_results(outcome))
            if len(outcome.reports) < len(paths) or not all(report.finished for report in outcome.reports):
                ended.again = True
            else:
                self._go_on(ended, config, judge, now)
            if judge is not None:
                ended.judge = judge.done.summary
                ended.judge_failed = bool(judge.done.problem)
            return ended
        except (ActionError, files.StoreError, OSError) as error:
            return _Pass(problem=str(error))

    def _judge(self, config: EvolutionConfig) -> ModelJudge | None:
        """Return a model that judges behind the gate, if the operator wants that."""
        from lumen_tui.engine.evolution import modeljudge

        if config.judge != modeljudge.MODEL:
            return None
        refusal = "the agent is paused" if self._held_back() else ""
        return modeljudge.ModelJudge(self._store, config, over=self._stop.is_set, refusal=refusal)

    def _held_back(self) -> bool:
        """Return whether a person holds everything back, or may do so in a file that cannot be read."""
        return is_killed(self._layout) or pauses.paused(self._layout) is not None

    def _go_on(self, ended: _Pass, config: EvolutionConfig, judge: ModelJudge | None, now: float) -> None:
        """Do what follows the extractor: a model that reads along, and facts."""
        from lumen_tui.engine.evolution import evolve

        read = self._read_along(config, own_sessions(self._layout), judge, now)
        linked = evolve.link_facts(self._store, now, self._tried, probe=not self._held_back())
        ended.again = linked.again or read.again
        ended.facts = linked.summary
        ended.model = read.summary
        ended.model_failed = bool(read.problem)

    def _read_along(
        self, config: EvolutionConfig, paths: list[Path], judge: ModelJudge | None, now: float
    ) -> modelread.Read:
        """Let a model read what the extractor has read, where the operator wants that."""
        from lumen_tui.engine.evolution import modelread

        if config.extractor != modelread.MODEL or self._held_back():
            return modelread.Read()
        return modelread.read(self._store, paths, now, is_own=lambda _: True, over=self._stop.is_set, judge=judge)

    def _report(self, now: float) -> None:
        ended = self._ended
        self._ended = None
        if ended is None:
            return
        if ended.again:
            self._seen = None
        if ended.problem:
            self._seen = None
            if ended.problem != self._reported_fault:
                self._log.add("evolution", f"could not learn: {ended.problem}", now)
        elif ended.changed:
            self._log.add("evolution", ended.summary, now)
        self._report_model("reads", ended.model, ended.model_failed, now)
        self._report_model("judges", ended.judge, ended.judge_failed, now)
        if ended.facts:
            self._log.add("evolution", f"{ended.facts} from what was learnt", now)

    def _report_model(self, model: str, summary: str, failed: bool, now: float) -> None:
        """Report what a model did; a failure that stays the same once."""
        if not summary:
            return
        if not failed or summary != self._reported_models.get(model):
            self._log.add("evolution", summary, now)
        self._reported_models[model] = summary

    async def settled(self) -> None:
        """Return when no pass is under way."""
        if self._job is not None:
            await asyncio.wait([self._job])

    async def wait(self) -> None:
        """Let a pass come to its end soon; what it has not read is read after the next start."""
        self._stop.set()
        self._sleep.wake()
        if self._job is not None:
            await asyncio.wait([self._job], timeout=_STOPS_WITHIN)


def _has_results(outcome: object) -> bool:
    from lumen_tui.engine.evolution.evolve import EvolutionOutcome

    return isinstance(outcome, EvolutionOutcome) and any(
        outcome.total(name) for name in ("accepted", "proposed", "merged")
    )
