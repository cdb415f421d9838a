"""Freshness in each beat: a few probes in a child process, beside the beat, and what follows from what they see."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.engine.actions import facts as verbs
from lumen_tui.engine.events import EventLog
from lumen_tui.model import freshness, times
from lumen_tui.model.config import FreshnessConfig
from lumen_tui.model.facts import Confirmation, Fact, Outcome, Probe, Reading, probe_words
from lumen_tui.model.freshness import FactState, Turn, claim_of, plain
from lumen_tui.model.text import one_line
from lumen_tui.store.files import StoreError
from lumen_tui.store.memory import facts as kept
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.store import Store
from lumen_tui.store.units import work

if TYPE_CHECKING:
    from lumen_tui.tools.probes.batch import Batch, Job

    Results = Sequence[tuple[Job, Reading]]

_VALUED = frozenset({"text", "json", "output", "git"})  # kinds whose value can take the place of the old one
_SETTLING = 72  # a fact that took another's place in the last 1/72 of its span is not superseded again
_AGAIN = 0.05  # seconds between two tries to end probes


class Users:
    """What is current and may rely on a fact: open work units, wake-state, CLAUDE.md, the newest capsule."""

    def __init__(self, store: Store) -> None:
        units = [unit for unit in work.list_units(store.layout)[0] if unit.status != "done"]
        self._units = {unit.id for unit in units}
        named = [(unit.id, "\n".join([unit.title, unit.body, *unit.acceptance])) for unit in units]
        self._texts = [(name, plain(text)) for name, text in [*named, *kept.texts_in_use(store.layout)]]

    def of(self, fact: Fact) -> tuple[str, ...]:
        """Who names the fact, by its id or in its own words, or was where it was noted."""
        needles = list(filter(None, (fact.id, claim_of(fact.title))))
        found = [name for name, text in self._texts if any(needle in text for needle in needles)]
        found += [fact.wu_id] if fact.wu_id in self._units else []
        return tuple(dict.fromkeys(found))


class Freshness:
    """`begin` starts the probes of a beat, `look` takes in what they found. Nothing here waits for a probe."""

    def __init__(self, store: Store, log: EventLog | None, rng: random.Random | None = None) -> None:
        self._store, self._log = store, log
        self._rng = rng or random.Random()  # noqa: S311 - a sample, guards nothing
        self._index = FactIndex(store.layout)
        self._turns: dict[tuple[str, str], float] = {}  # when each probe had its turn, written down or not
        self._batch: Batch | None = None
        self._waiter: threading.Thread | None = None
        self._results: Results | None = None
        self._began, self._cut = 0.0, False
        self._trouble = self._told = ""  # why no probe could be made: now, and as it was told

    def close(self) -> None:
        """Let go of the journals of facts."""
        self._index.close()

    @property
    def busy(self) -> bool:
        """Whether probes are being made."""
        return self._waiter is not None and self._waiter.is_alive()

    def begin(self, config: FreshnessConfig, now: float) -> None:
        """Start the probes of this beat, unless the last ones still go."""
        self.look(now)
        if self._waiter is not None or not config.enabled:
            return
        self._began, self._cut = now, False
        self._waiter = threading.Thread(target=self._work, args=(config, now), name="probes", daemon=True)
        self._waiter.start()

    def _work(self, config: FreshnessConfig, now: float) -> None:
        """In the thread: choose, and make. Nobody else touches the index meanwhile."""
        try:
            self._index.refresh()
            chosen = freshness.choose(self._all_turns(now), config.per_beat, self._rng)
            if chosen and not self._cut:
                self._make(chosen, config)
            self._trouble = ""
        except (OSError, StoreError) as error:
            self._trouble = str(error)

    def _make(self, chosen: Sequence[Turn], config: FreshnessConfig) -> None:
        from lumen_tui.tools.probes.batch import Batch, Job  # half the tools: no start of an engine waits for them

        jobs = [Job(turn.fact_id, self._probe(turn)) for turn in chosen]
        self._batch = Batch(self._store.root, jobs, seconds=config.seconds, each=config.each_seconds)
        self._results = self._batch.wait()

    def look(self, now: float) -> None:
        """Take in the results of probes that are through; their moment is that at which they began."""
        if self._waiter is None or self._waiter.is_alive():
            return
        results, self._results, self._waiter, self._batch = self._results or (), None, None, None
        if self._trouble and self._trouble != self._told:
            self._say("probes_failed", f"no probe could be made: {self._trouble}", now)
        self._told = self._trouble
        if results and not self._cut:
            self.take(results, self._began)

    def finish(self, now: float, *, cut: bool = False) -> None:
        """Wait for the probes that are being made and take in what they found; with `cut` end them, and forget it."""
        self._cut = cut
        if self._waiter is not None:
            while cut and self._waiter.is_alive():
                if self._batch is not None:
                    self._batch.end()
                self._waiter.join(_AGAIN)
            self._waiter.join()
        self.look(now)

    def _all_turns(self, now: float) -> list[Turn]:
        current = [state for state in self._index.states() if state.current and state.fact.probes]
        users = Users(self._store) if current else None
        return [
            Turn(state.fact.id, probe.id, self._had_turn(state, probe), freshness.weight(used, now))
            for state in current
            for used in [msgspec.structs.replace(state, used_by=users.of(state.fact) if users else ())]
            for probe in state.fact.probes
        ]

    def _had_turn(self, state: FactState, probe: Probe) -> float:
        known = self._turns.get((state.fact.id, probe.id))
        if known is not None:
            return known
        last = self._index.found(state.fact.id).latest.get(probe.id)
        return times.epoch(last.at) if last else 0.0

    def _probe(self, turn: Turn) -> Probe:
        state = self._index.get(turn.fact_id)
        return next(probe for probe in (state.fact.probes if state else ()) if probe.id == turn.probe_id)

    def take(self, results: Results, at: float) -> None:
        """What was seen at a moment: written down where it is news, and carried out where a fact drifted."""
        self._index.refresh()
        users = Users(self._store) if any(reading.outcome is Outcome.DRIFTED for _, reading in results) else None
        lines: list[Confirmation] = []
        news: list[tuple[Fact, Probe, Confirmation]] = []
        for job, reading in results:
            self._turns[(job.fact_id, job.probe.id)] = at
            state = self._index.get(job.fact_id)
            if state is None or not state.current or job.probe not in state.fact.probes:
                continue  # changed while it was looked at
            line = _line(state.fact, job.probe, reading, at, users)
            before = self._index.found(job.fact_id).latest.get(job.probe.id)
            if freshness.worth_recording(before, line, state.fact.span):
                lines.append(line)
                if before is None or before.outcome != line.outcome:
                    news.append((state.fact, job.probe, line))
        kept.record(self._store.layout, lines)
        self._index.refresh()
        self._tell(news, at)
        self._follow_up(at)

    def _tell(self, news: Iterable[tuple[Fact, Probe, Confirmation]], at: float) -> None:
        for fact, probe, line in news:
            title, state = one_line(fact.title, 100), self._index.get(fact.id)
            if line.outcome == Outcome.FAILED:
                self._say("probe_failed", f"“{title}” ({probe_words(probe)}): {line.evidence}", at, fact=fact.id)
            elif line.outcome == Outcome.DRIFTED:
                denial = state.denial if state is not None else "does not hold"
                after = self._superseded(fact, probe, line, at)
                used = f"; used by {', '.join(line.used_by)}" if line.used_by else ""
                said = f"“{title}” {denial}: {line.evidence}{used}"
                self._say("fact_drifted", said, at, fact=fact.id, superseded_by=after)

    def _say(self, kind: str, text: str, at: float, **data: str) -> None:
        if self._log is not None:  # only the engine writes events
            self._log.add(kind, text, at, **data)

    def _superseded(self, fact: Fact, probe: Probe, line: Confirmation, at: float) -> str:
        """The id of what takes the place of a fact that drifted; empty where a person has to say what is so."""
        unsettled = bool(fact.supersedes) and at - fact.written < fact.span / _SETTLING
        if not line.value or not probe.expect or probe.kind not in _VALUED or unsettled:
            return ""
        after = verbs.supersede(self._store, fact, probe, line.value, now=at)
        if after:
            seen = Confirmation(after, times.iso(at), Outcome.HOLDS, probe.id, evidence=line.evidence, by="probe")
            kept.record(self._store.layout, [seen])
        return after

    def _follow_up(self, at: float) -> None:
        """Say anew what relies on superseded facts that nobody dealt with: texts that were mended count no more."""
        self._index.refresh()
        gone = [one for one in self._index.states() if one.fact.status == "superseded" and one.drifted]
        open_ = [one for one in gone if not one.settled]
        users = Users(self._store) if open_ else None
        lines = []
        for state in open_:
            used = users.of(state.fact) if users else ()
            last = self._index.found(state.fact.id).decisive
            lines += [
                msgspec.structs.replace(line, at=times.iso(at), used_by=used)
                for line in last.values() if line.outcome == Outcome.DRIFTED and line.used_by != used
            ]  # fmt: skip
        kept.record(self._store.layout, lines)


def _line(fact: Fact, probe: Probe, reading: Reading, at: float, users: Users | None) -> Confirmation:
    drifted = reading.outcome is Outcome.DRIFTED
    return Confirmation(
        fact.id, times.iso(at), reading.outcome, probe.id, evidence=reading.evidence,
        value=reading.value if drifted else "", by="probe", used_by=users.of(fact) if drifted and users else (),
    )  # fmt: skip


def check_now(store: Store, fact_ids: Sequence[str], *, now: float, config: FreshnessConfig) -> Results:
    """Make all probes of these facts at once, and wait: for a person who asks. What they find is taken in."""
    with closing(FactIndex(store.layout)) as index:
        index.refresh()
    states = [state for one in fact_ids if (state := index.get(one)) and state.current]
    from lumen_tui.tools.probes import batch
    from lumen_tui.tools.probes.batch import Job

    jobs = [Job(state.fact.id, probe) for state in states for probe in state.fact.probes]
    seconds = max(config.seconds, len(jobs) * config.each_seconds)
    results = batch.run(store.root, jobs, seconds=seconds, each=config.each_seconds)
    with closing(Freshness(store, None)) as freshly:
        freshly.take(results, now)
    return results
