"""A cheap model beside the extractor: reads what was said, in a process of its own, and believes nothing unseen.

What it finds carries the trust of a worker, so that a person has the last word; its quote must stand in the line that
it names, and the gate is the same. How far it has read is kept beside the extractor's own place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from lumen_tui.engine.evolution import modeljudge
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.engine.evolution.extract import statement, target_of
from lumen_tui.engine.evolution.gate import NOBODY, CandidateGate
from lumen_tui.engine.evolution.modeljudge import ModelJudge
from lumen_tui.model.config import Config
from lumen_tui.model.evolution import (
    DOMAIN,
    MODEL_PLACE,
    RECOVERY,
    ExtractionState,
    ObservationKind,
    ReadPosition,
    SessionEntry,
    SessionReport,
    Trust,
    lowest,
)
from lumen_tui.model.session_review import ReadingRequest, ReadingResult, SessionPassage
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.storage import files, locks
from lumen_tui.storage.stamped import stamp
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import evolved
from lumen_tui.store.sessions import transcripts
from lumen_tui.store.sessions.transcripts import SessionParser
from lumen_tui.store.settings.config import load_config

MODEL = "model"  # [evolution] extractor
_STRETCH = 24_000  # characters that one call gets
_LEAST = 200  # characters below which nobody is asked
_TARGETS = {ObservationKind.FIX: RECOVERY, ObservationKind.COMMAND: DOMAIN, ObservationKind.FACT: DOMAIN}


class Read(msgspec.Struct):
    """What a model made of some sessions."""

    stretches: int = 0
    report: SessionReport = msgspec.field(default_factory=lambda: SessionReport(""))
    usd: float = 0.0
    tokens: int = 0
    brain: str = ""
    problem: str = ""
    again: bool = False

    @property
    def summary(self) -> str:
        """One plain sentence; empty where nobody was asked and nothing went wrong."""
        if self.problem:
            return f"no model reads along, the sessions were read offline alone: {self.problem}"
        if not self.stretches:
            return ""
        cost = f"{self.tokens:,} tokens, ${self.usd:.4f}"
        outcome = f"{self.report.proposed + self.report.accepted} proposed, {self.report.rejected} rejected"
        return f"{self.brain} read {self.stretches} stretch{'es' if self.stretches > 1 else ''}: {outcome} ({cost})"


def read(
    store: Store,
    paths: Iterable[Path],
    now: float,
    *,
    is_own: Callable[[Path], bool],
    over: Callable[[], bool],
    judge: ModelJudge | None = None,
) -> Read:
    """Let a model read what it has not read of these sessions, until `over` says that it is enough.

    The first thing that goes wrong ends it: what was not read is read another time. `judge` is shown what it found.
    """
    config = load_config(store.layout)[0]
    done, judging = Read(), CandidateGate(store.layout, config.evolution)
    places = {key: place for key, place in evolved.places(store.layout).items() if key.startswith(MODEL_PLACE)}
    seen = {(place.file, place.offset, place.size, place.mtime) for place in places.values()}
    for path in paths:
        looks = stamp(path)
        if (str(path), looks[1], looks[1], looks[2]) in seen:
            continue
        for stretch in _stretches(places, path, is_own(path), done.report):
            if over():
                done.again = True
                return done
            if stretch.size >= _LEAST and not _ask(store, config, stretch, judging, judge, done, now, over):
                return done
            _keep(store, stretch, now)
    return done


class _Stretch(msgspec.Struct):
    """Some lines of a session, and the place behind them."""

    path: Path
    session: str
    entries: list[SessionEntry]
    place: ReadPosition

    @property
    def size(self) -> int:
        return sum(len(entry.text) for entry in self.entries)


def _stretches(places: dict[str, ReadPosition], path: Path, own: bool, report: SessionReport) -> Iterator[_Stretch]:
    try:
        fd = transcripts.open_session(path)
    except (OSError, files.StoreError):
        return  # the extractor has reported it
    try:
        yield from _cut(places, path, fd, SessionParser(one_line(path.stem, 80), report, own=own))
    finally:
        os.close(fd)


def _cut(places: dict[str, ReadPosition], path: Path, fd: int, parser: SessionParser) -> Iterator[_Stretch]:
    key = f"{MODEL_PLACE}{parser.session}:{transcripts.head_hash(fd)}"
    known = places.get(key)
    fits = known and known.offset <= os.fstat(fd).st_size and transcripts.tail_hash(fd, known.offset) == known.tail
    offset, line = (known.offset, known.line) if known and fits else (0, 0)
    begun = offset
    entries = list[SessionEntry]()
    size = 0
    for behind, data in transcripts.lines_from(fd, offset):
        line, offset = line + 1, behind
        messages = [entry for entry in parser.entries(line, data) if entry.kind == "said"]
        entries += messages
        size += sum(len(entry.text) for entry in messages)
        if size >= _STRETCH:
            yield _Stretch(path, parser.session, entries, _place(key, path, fd, offset, line))
            begun = offset
            entries = []
            size = 0
    if offset > begun:
        yield _Stretch(path, parser.session, entries, _place(key, path, fd, offset, line))


def _place(key: str, path: Path, fd: int, offset: int, line: int) -> ReadPosition:
    status = os.fstat(fd)
    tail = transcripts.tail_hash(fd, offset)
    return ReadPosition(key, str(path), offset, line, status.st_size, status.st_mtime_ns, tail, "")


def _keep(store: Store, stretch: _Stretch, now: float) -> None:
    evolved.remember(store.layout, msgspec.structs.replace(stretch.place, at=iso(now)))


def _ask(
    store: Store,
    config: Config,
    stretch: _Stretch,
    judging: CandidateGate,
    judge: ModelJudge | None,
    done: Read,
    now: float,
    over: Callable[[], bool],
) -> bool:
    """Ask the model about a stretch; return whether it was read."""
    passages = tuple(
        SessionPassage(entry.line, "person" if entry.person else "agent", entry.text) for entry in stretch.entries
    )
    answer = _answer(config, ReadingRequest(str(store.root), stretch.session, passages), over)
    done.usd += answer.usd
    done.tokens += answer.tokens
    done.brain = one_line(answer.brain, 80) or done.brain
    if answer.problem:
        done.problem = one_line(answer.problem, 300)
        return False
    done.stretches += 1
    candidates = list(found_in(answer, stretch.entries))
    opinion = judge.opinion([(candidates, ExtractionState())], now) if judge else NOBODY
    if opinion is None:
        done.again = True
        return False
    with locks.waiting_lock(store.layout.lock(evolved.LOCK)):
        judging.take(candidates, ExtractionState(), done.report, now, opinion)
    return True


def _answer(config: Config, order: ReadingRequest, over: Callable[[], bool]) -> ReadingResult:
    """Run the process to its end, which is now where `over` says so."""
    return modeljudge.ask_process("read", config, order, ReadingResult, over)


def found_in(answer: ReadingResult, entries: Iterable[SessionEntry]) -> Iterator[LearningCandidate]:
    """Yield the candidates with the evidence of the lines they name; one that names no line is dropped."""
    by_line: dict[int, list[SessionEntry]] = {}
    for entry in entries:
        by_line.setdefault(entry.line, []).append(entry)
    for finding in answer.found:
        matches = by_line.get(finding.line, [])
        kind = next((kind for kind in ObservationKind if kind == finding.kind), None)
        if kind is None or not matches:
            continue
        entry = next((entry for entry in matches if finding.quote in entry.text), matches[0])
        trust = Trust.WORKER if entry.person else lowest(entry.trust, Trust.WORKER)
        target = _TARGETS.get(kind) or target_of(kind, finding.text)
        yield LearningCandidate(
            kind, statement(finding.text), target, finding.quote[:600], entry.text, entry.source, trust, 0.4
        )
