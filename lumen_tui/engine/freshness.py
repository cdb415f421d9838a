"""Freshness in each beat: a few probes in a child process, beside the beat, and what follows from what they see."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions.fact_readings import FactReadings, Users
from lumen_tui.engine.events import EventLog
from lumen_tui.model import freshness, times
from lumen_tui.model.config import FreshnessConfig
from lumen_tui.model.facts import Probe, Reading
from lumen_tui.model.freshness import DueProbe, FactState
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.store import Store
from lumen_tui.store.memory.facts import FactIndex

if TYPE_CHECKING:
    from lumen_tui.tools.probes.batch import Batch, ProbeJob

    Results = Sequence[tuple[ProbeJob, Reading]]

_AGAIN = 0.05  # seconds between two tries to end probes


class Freshness:
    """`begin` starts the probes of a beat, `poll` takes in what they found. Nothing here waits for a probe."""

    def __init__(self, store: Store, log: EventLog, rng: random.Random | None = None) -> None:
        self._store = store
        self._log = log
        self._rng = rng or random.Random()  # noqa: S311 - a sample, guards nothing
        self._index = FactIndex(store.layout)
        self._readings = FactReadings(store, self._index, log.add)
        self._turns: dict[tuple[str, str], float] = {}  # when each probe had its turn, written down or not
        self._batch: Batch | None = None
        self._waiter: threading.Thread | None = None
        self._results: Results | None = None
        self._began = 0.0
        self._cut = False
        self._trouble = self._reported = ""  # why no probe could be made: now, and as it was reported

    def close(self) -> None:
        """Let go of the journals of facts."""
        self._index.close()

    @property
    def busy(self) -> bool:
        """Whether probes are being made."""
        return self._waiter is not None and self._waiter.is_alive()

    def begin(self, config: FreshnessConfig, now: float) -> None:
        """Start the probes of this beat, unless the last ones are still running."""
        self.poll(now)
        if self._waiter is not None or not config.enabled:
            return
        self._began = now
        self._cut = False
        self._waiter = threading.Thread(target=self._work, args=(config, now), name="probes", daemon=True)
        self._waiter.start()

    def _work(self, config: FreshnessConfig, now: float) -> None:
        """Choose probes and run them, in the thread. Nobody else touches the index meanwhile."""
        try:
            self._index.refresh()
            chosen = freshness.choose(self._all_turns(now), config.per_beat, self._rng)
            if chosen and not self._cut:
                self._make(chosen, config)
            self._trouble = ""
        except (OSError, StoreError) as error:
            self._trouble = str(error)

    def _make(self, chosen: Sequence[DueProbe], config: FreshnessConfig) -> None:
        from lumen_tui.tools.probes.batch import Batch, ProbeJob  # half the tools: no start of an engine waits for them

        jobs = [ProbeJob(turn.fact_id, self._probe(turn)) for turn in chosen]
        self._batch = Batch(self._store.root, jobs, seconds=config.seconds, each=config.each_seconds)
        self._results = self._batch.wait()

    def poll(self, now: float) -> None:
        """Take in the results of finished probes, dated by when they began."""
        if self._waiter is None or self._waiter.is_alive():
            return
        results = self._results or ()
        self._results = None
        self._waiter = None
        self._batch = None
        if self._trouble and self._trouble != self._reported:
            self._log.add("probes_failed", f"no probe could be made: {self._trouble}", now)
        self._reported = self._trouble
        if results and not self._cut:
            self._turns.update(((job.fact_id, job.probe.id), self._began) for job, _ in results)
            self._readings.take(results, self._began)

    def finish(self, now: float, *, cut: bool = False) -> None:
        """Wait for the probes that are being made and take in what they found; with `cut` end them, and forget it."""
        self._cut = cut
        if self._waiter is not None:
            while cut and self._waiter.is_alive():
                if self._batch is not None:
                    self._batch.end()
                self._waiter.join(_AGAIN)
            self._waiter.join()
        self.poll(now)

    def _all_turns(self, now: float) -> list[DueProbe]:
        current = [state for state in self._index.states() if state.current and state.fact.probes]
        users = Users(self._store) if current else None
        return [
            DueProbe(state.fact.id, probe.id, self._had_turn(state, probe), freshness.weight(used, now))
            for state in current
            for used in [msgspec.structs.replace(state, used_by=users.of(state.fact) if users else ())]
            for probe in state.fact.probes
        ]

    def _had_turn(self, state: FactState, probe: Probe) -> float:
        known = self._turns.get((state.fact.id, probe.id))
        if known is not None:
            return known
        last = self._index.evidence(state.fact.id).latest.get(probe.id)
        return times.epoch(last.at) if last else 0.0

    def _probe(self, turn: DueProbe) -> Probe:
        state = self._index.get(turn.fact_id)
        return next(probe for probe in (state.fact.probes if state else ()) if probe.id == turn.probe_id)
