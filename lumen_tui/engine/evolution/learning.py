"""The engine's own evolving: after sessions, in a thread, a few seconds in each beat. Beats never wait for it."""

from __future__ import annotations

import asyncio
import threading
import time

import msgspec

from lumen_tui.engine.events import EventLog
from lumen_tui.engine.outcome import ActionError
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.store import files
from lumen_tui.store.constitution import read_standing
from lumen_tui.store.layout import Layout
from lumen_tui.store.stamped import Stamped, stamp

_BY = "evolution"
_STOPS_WITHIN = 5.0  # seconds that an engine which ends waits for the thread


class _Pass(msgspec.Struct):
    """What one pass brought; `again` where it was stopped before the end."""

    summary: str = ""
    changed: bool = False
    again: bool = False
    problem: str = ""


class Learning:
    """Checks the constitution on each beat, and begins a pass where a session may have something new."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout, self._log = layout, log
        self._job: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._seen: object = None  # what the transcripts looked like when the last pass began
        self._ended: _Pass | None = None
        self._told = ""  # the constitution's fault that was told
        paths = [layout.constitution, layout.approved_constitution]
        self._standing = Stamped(lambda: paths, lambda: read_standing(layout))

    def note_ended(self, ended: object) -> None:
        """Sessions came to an end: there may be something new in their files."""
        if ended:
            self._seen = None

    def beat(self, config: EvolutionConfig, now: float) -> None:
        """One look: tell what the last pass brought, check the constitution, begin the next pass if there is cause."""
        self._tell(now)
        self._standing.refresh()
        if not self._constitution_holds(now) or not config.enabled or self._job is not None:
            return
        looks = stamp(self._layout.transcripts)
        if looks == self._seen:
            return
        self._seen = looks
        self._job = asyncio.get_running_loop().create_task(self._run(config, now))

    def _constitution_holds(self, now: float) -> bool:
        why = self._standing.value.why
        if why and why != self._told:
            self._log.add("constitution", f"{why}: nothing is learnt until it is approved", now)
        elif self._told and not why:
            self._log.add("constitution", "the constitution is approved: learning goes on", now)
        self._told = why
        return not why

    async def _run(self, config: EvolutionConfig, now: float) -> None:
        try:
            self._ended = await asyncio.to_thread(self._pass, config, now)
        finally:
            self._job = None

    def _pass(self, config: EvolutionConfig, now: float) -> _Pass:
        """In a thread: all own sessions that changed, until the time is over."""
        from lumen_tui.engine.evolution import evolve, pipeline  # rapidfuzz: 40 ms that no start pays

        deadline = time.monotonic() + config.seconds

        def over() -> bool:
            return self._stop.is_set() or time.monotonic() > deadline

        evolving = pipeline.Evolving(self._layout, config, stop=over)
        try:
            paths = [path for path in evolve.own_sessions(self._layout) if not evolving.known_as(path)]
            done = evolve.Outcome()
            for path in paths:
                if over():
                    return _Pass(done.summary, _matters(done), again=True)
                done.reports += evolve.evolve(self._layout, evolving, [path], now=now).reports
            if _matters(done):
                evolve.write(self._layout, done, config, now=now, by=_BY)
            return _Pass(done.summary, _matters(done))
        except (ActionError, files.StoreError, OSError) as error:
            return _Pass(problem=str(error))

    def _tell(self, now: float) -> None:
        ended, self._ended = self._ended, None
        if ended is None:
            return
        if ended.again:
            self._seen = None
        if ended.problem:
            self._seen = None
            if ended.problem != self._told:
                self._log.add("evolution", f"could not learn: {ended.problem}", now)
        elif ended.changed:
            self._log.add("evolution", ended.summary, now)

    async def settled(self) -> None:
        """Return when no pass is under way."""
        if self._job is not None:
            await asyncio.wait([self._job])

    async def wait(self) -> None:
        """Let a pass come to its end soon; what it has not read is read after the next start."""
        self._stop.set()
        if self._job is not None:
            await asyncio.wait([self._job], timeout=_STOPS_WITHIN)


def _matters(done: object) -> bool:
    from lumen_tui.engine.evolution.evolve import Outcome

    return isinstance(done, Outcome) and any(done.total(name) for name in ("accepted", "proposed", "merged"))
