"""One session file through the whole pipeline: read on, extract, judge, keep. A kill at any point costs nothing.

What was learnt is written before the place in the file. Read again after a kill, the same lines give the same sources,
and a source that an observation has already counts once. Where a model judges, files with candidates wait for each
other, so that it is asked once for many: `settle` ends the waiting.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.engine.evolution import seen
from lumen_tui.engine.evolution.candidates import LearningCandidate
from lumen_tui.engine.evolution.extract import Extractor
from lumen_tui.engine.evolution.gate import NOBODY, CandidateGate, Opinion
from lumen_tui.model.evolution import MODEL_PLACE, ExtractionState, ReadPosition, SessionReport
from lumen_tui.model.session_review import MOST_CASES
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.storage import files, locks
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp
from lumen_tui.store.evolution import evolved
from lumen_tui.store.sessions import transcripts
from lumen_tui.store.sessions.transcripts import SessionParser

if TYPE_CHECKING:
    from lumen_tui.engine.evolution.modeljudge import ModelJudge
    from lumen_tui.model.config import EvolutionConfig

Progress = Callable[[SessionReport, int], None]  # the report so far, and the size of the file
_LINES = 4000  # between two writes at least
_BYTES = 8 * 1024 * 1024
# And as many times what was read before, as each looks through that for copied words. Not where a model judges: what it
# was asked is lost with a kill, and with the end of its time.
_GROWTH = 3
_REPORTED = 2000  # lines between two reports of progress


def never() -> bool:
    """Return False: the default for `stop`, to read to the end."""
    return False


class EvolutionPipeline:
    """Reads session files of one state folder. One object may read many, one after the other."""

    def __init__(
        self,
        layout: Layout,
        config: EvolutionConfig,
        *,
        dry_run: bool = False,
        stop: Callable[[], bool] = never,
        progress: Progress | None = None,
        judge: ModelJudge | None = None,
    ) -> None:
        self._layout = layout
        self._config = config
        self.judge = None if dry_run else judge
        self._waiting: list[_Run] = []
        self._dry = dry_run
        self._stop = stop
        self._progress = progress
        self.judging = CandidateGate(layout, config, dry_run=dry_run)
        self._places: dict[str, ReadPosition] = {}
        self._places_stamp = (-1, -1, -1)

    def read(self, path: Path, now: float, *, own: bool) -> SessionReport:
        """Take in what is new in one session file. What cannot be read is in the report, not raised."""
        report = SessionReport(one_line(str(path), 300))
        began = time.perf_counter()
        try:
            fd = transcripts.open_session(path)
        except (OSError, files.StoreError) as error:
            report.problem = f"cannot be read: {error}"
            return report
        try:
            self._read(fd, path, report, now, own)
        finally:
            os.close(fd)
            report.seconds = time.perf_counter() - began
        return report

    def _read(self, fd: int, path: Path, report: SessionReport, now: float, own: bool) -> None:
        report.session = one_line(path.stem, 80)
        key = f"{report.session}:{transcripts.head_hash(fd)}"
        if any(run.key == key for run in self._waiting):
            self.settle(now)
        place = self._place(key, fd)
        run = _Run(self, fd, path, key, report, place)
        held = msgspec.convert(msgspec.to_builtins(place.open), ExtractionState) if place else ExtractionState()
        parser = SessionParser(report.session, report, own=own)
        run.read_on(parser, Extractor(held), now)

    def _place(self, key: str, fd: int) -> ReadPosition | None:
        """Return where reading goes on; None (the first line) if the file is not the one that was read."""
        place = self.place_on_disk(key)
        if place is None or os.fstat(fd).st_size < place.offset:
            return None
        return place if transcripts.tail_hash(fd, place.offset) == place.tail else None

    def place_on_disk(self, key: str) -> ReadPosition | None:
        """Return the place that any process wrote last."""
        current = stamp(self._layout.read_sessions)
        if current != self._places_stamp:
            self._places = evolved.places(self._layout)
            self._places_stamp = current
        return self._places.get(key)

    def is_unchanged(self, path: Path) -> bool:
        """Return whether a file has not changed since it was read to its end."""
        file_stamp = stamp(path)
        self.place_on_disk("")
        return any(
            place.file == str(path) and place.size == file_stamp[1] == place.offset and place.mtime == file_stamp[2]
            for key, place in self._places.items()
            if not key.startswith(MODEL_PLACE)
        )

    def wait(self, run: _Run, now: float) -> None:
        """Queue a file so that it is judged together with others."""
        self._waiting.append(run)
        if sum(len(waiting.buffer) for waiting in self._waiting) >= MOST_CASES:  # known ones with them
            self.settle(now)

    def settle(self, now: float) -> None:
        """Let the model judge what waits, and write it. Where it was ended before, that is read another time."""
        runs = self._waiting
        self._waiting = []
        if not runs or self.judge is None:
            return
        opinion = self.judge.opinion([(run.buffer, run.held) for run in runs], now)
        for run in runs:
            run.settle(opinion, now)

    @property
    def parts(self) -> tuple[Layout, bool, Callable[[], bool], Progress | None]:
        return self._layout, self._dry, self._stop, self._progress


class _Run:
    """One pass through one file."""

    def __init__(
        self,
        evolving: EvolutionPipeline,
        fd: int,
        path: Path,
        key: str,
        report: SessionReport,
        place: ReadPosition | None,
    ) -> None:
        self._evolving = evolving
        self._fd = fd
        self._path = path
        self.key = key
        self._report = report
        self._before = place
        self._layout, self._dry, self._stop, self._progress = evolving.parts
        self._offset = place.offset if place else 0
        self._line = place.line if place else 0
        self._first = self._line
        self.buffer: list[LearningCandidate] = []
        self.held = ExtractionState()
        self._parser: SessionParser | None = None
        self._stretch = seen.SourcePosition(fd, self._offset, self._line)
        self._next = place  # where reading goes on once what was found is written
        self._kept = True

    def read_on(self, parser: SessionParser, extractor: Extractor, now: float) -> None:
        """Read on to the end, or until asked to stop, with a write after each stretch."""
        size, begun = os.fstat(self._fd).st_size, self._offset
        written, lines = self._offset, self._line
        growth = _GROWTH if self._evolving.judge is None else 0
        self.held, self._parser = extractor.held, parser
        self._stretch = seen.SourcePosition(self._fd, self._offset, self._line)
        for offset, line in transcripts.lines_from(self._fd, self._offset):
            self._line += 1
            for entry in parser.entries(self._line, line):
                self.buffer.extend(extractor.take(entry))
            self._offset = offset
            if self._line % 200 == 0 and self._stop():
                self._report.finished = False
                break
            if self._line % _REPORTED == 0:
                self._report_progress(begun, size)
            long = self._line - lines >= max(_LINES, growth * lines)
            if long or self._offset - written >= max(_BYTES, growth * written):
                if not self._keep(now, last=False):
                    return
                written, lines = self._offset, self._line
                self._stretch = seen.SourcePosition(self._fd, written, lines)
        self._keep(now, last=True)
        self._report_progress(begun, size)

    def _report_progress(self, begun: int, size: int) -> None:
        self._report.bytes = self._offset - begun
        self._report.lines = self._line - self._first
        if self._progress is not None:
            self._progress(self._report, size)

    def _keep(self, now: float, *, last: bool) -> bool:
        """Judge and write what was found so far, then the place; or wait for the model that judges.

        False where the rest is not to be read.
        """
        if self._parser is not None:
            self.buffer = seen.without_copies(self.buffer, self._stretch, self._parser.for_another_look())
        if self._dry:
            self._evolving.judging.take(self.buffer, self.held, self._report, now)
            self.buffer = []
            return True
        self._next = self._new_place(now)
        if self._evolving.judge is None or not self.buffer:
            return self._write(NOBODY, now)
        self._evolving.wait(self, now)
        if not last:
            self._evolving.settle(now)
        return self._kept

    def settle(self, opinion: Opinion | None, now: float) -> None:
        """Write with what the model holds against it; nothing where it was ended before it said something."""
        if opinion is None:
            self.buffer = []
            self._kept = False
            self._report.finished = False
        else:
            self._kept = self._write(opinion, now)

    def _write(self, opinion: Opinion, now: float) -> bool:
        """Judge and write under the lock; return False if somebody else has read on meanwhile."""
        with locks.waiting_lock(self._layout.lock(evolved.LOCK)):
            known = self._evolving.place_on_disk(self.key)
            if known != self._before and known is not None and known.offset >= self._offset:
                self._report.problem = "it is being read by somebody else as well: nothing is counted twice"
                return False
            if self._before is not None and self._offset == self._before.offset and known == self._before:
                return True
            self._evolving.judging.take(self.buffer, self.held, self._report, now, opinion)
            self.buffer = []
            self._before = self._next
            if self._before is not None:
                evolved.remember(self._layout, self._before)
        return True

    def _new_place(self, now: float) -> ReadPosition:
        status = os.fstat(self._fd)
        return ReadPosition(
            self.key,
            str(self._path),
            self._offset,
            self._line,
            status.st_size,
            status.st_mtime_ns,
            transcripts.tail_hash(self._fd, self._offset),
            iso(now),
            self.held,
        )
