"""One session file through the whole pipeline: read on, extract, judge, keep. A kill at any point costs nothing.

What was learnt is written before the place in the file. Read again after a kill, the same lines give the same sources,
and a source that an observation has already counts once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from lumen_tui.engine.evolution.extract import Extractor
from lumen_tui.engine.evolution.found import Found
from lumen_tui.engine.evolution.judging import Judging
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.model.sessionlog import MODEL_PLACE, Open, Place, Report
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.store import evolved, files, locks, sessionlines
from lumen_tui.store.layout import Layout
from lumen_tui.store.sessionfiles import SessionParser
from lumen_tui.store.stamped import stamp

Progress = Callable[[Report, int], None]  # the report so far, and the size of the file
_LINES = 4000  # between two writes
_BYTES = 8 * 1024 * 1024


def never() -> bool:
    """Go on to the end."""
    return False


class Evolving:
    """Reads session files of one state folder. One object may read many, one after the other."""

    def __init__(
        self, layout: Layout, config: EvolutionConfig, *, dry_run: bool = False, stop: Callable[[], bool] = never,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        self._layout, self._config = layout, config
        self._dry, self._stop, self._progress = dry_run, stop, progress
        self.judging = Judging(layout, config, dry_run=dry_run)
        self._places: dict[str, Place] = {}
        self._places_stamp = (-1, -1, -1)

    def read(self, path: Path, now: float, *, own: bool) -> Report:
        """Take in what is new in one session file. What cannot be read is said in the report and not raised."""
        report = Report(one_line(str(path), 300))
        began = time.perf_counter()
        try:
            fd = sessionlines.open_session(path)
        except (OSError, files.StoreError) as error:
            report.problem = f"cannot be read: {error}"
            return report
        try:
            self._read(fd, path, report, now, own)
        finally:
            os.close(fd)
            report.seconds = time.perf_counter() - began
        return report

    def _read(self, fd: int, path: Path, report: Report, now: float, own: bool) -> None:
        report.session = one_line(path.stem, 80)
        key = f"{report.session}:{sessionlines.head_hash(fd)}"
        place = self._place(key, fd)
        run = _Run(self, fd, path, key, report, place)
        held = msgspec.convert(msgspec.to_builtins(place.open), Open) if place else Open()
        parser = SessionParser(report.session, report, own=own)
        run.through(parser, Extractor(held), now)

    def _place(self, key: str, fd: int) -> Place | None:
        """Where reading goes on; from the first line where the file is not the one that was read."""
        place = self.place_on_disk(key)
        if place is None or os.fstat(fd).st_size < place.offset:
            return None
        return place if sessionlines.tail_hash(fd, place.offset) == place.tail else None

    def place_on_disk(self, key: str) -> Place | None:
        """What the last write of anybody says."""
        now = stamp(self._layout.read_sessions)
        if now != self._places_stamp:
            self._places, self._places_stamp = evolved.places(self._layout), now
        return self._places.get(key)

    def known_as(self, path: Path) -> bool:
        """Whether a file has not changed since it was read to its end: no look inside is needed then."""
        found = stamp(path)
        self.place_on_disk("")
        return any(
            place.file == str(path) and place.size == found[1] == place.offset and place.mtime == found[2]
            for key, place in self._places.items()
            if not key.startswith(MODEL_PLACE)
        )

    @property
    def parts(self) -> tuple[Layout, bool, Callable[[], bool], Progress | None]:
        return self._layout, self._dry, self._stop, self._progress


class _Run:
    """One way through one file."""

    def __init__(self, evolving: Evolving, fd: int, path: Path, key: str, report: Report, place: Place | None) -> None:
        self._evolving, self._fd, self._path, self._key, self._report = evolving, fd, path, key, report
        self._before = place
        self._layout, self._dry, self._stop, self._progress = evolving.parts
        self._offset = place.offset if place else 0
        self._line = place.line if place else 0
        self._first = self._line
        self._buffer: list[Found] = []

    def through(self, parser: SessionParser, extractor: Extractor, now: float) -> None:
        """Read on to the end, or until told to stop, with a write after each stretch."""
        size, begun = os.fstat(self._fd).st_size, self._offset
        written, lines = self._offset, self._line
        for offset, line in sessionlines.lines_from(self._fd, self._offset):
            self._line += 1
            for entry in parser.entries(self._line, line):
                self._buffer.extend(extractor.take(entry))
            self._offset = offset
            if self._line % 200 == 0 and self._stop():
                self._report.finished = False
                break
            if self._line - lines >= _LINES or self._offset - written >= _BYTES:
                if not self._keep(extractor.held, now):
                    return
                written, lines = self._offset, self._line
                self._tell(begun, size)
        self._keep(extractor.held, now)
        self._tell(begun, size)

    def _tell(self, begun: int, size: int) -> None:
        self._report.bytes, self._report.lines = self._offset - begun, self._line - self._first
        if self._progress is not None:
            self._progress(self._report, size)

    def _keep(self, held: Open, now: float) -> bool:
        """Judge and write what was found so far, then the place. False where somebody else has read on meanwhile."""
        if self._dry:
            self._evolving.judging.take(self._buffer, held, self._report, now)
            self._buffer = []
            return True
        with locks.waiting_lock(self._layout.lock(evolved.LOCK)):
            known = self._evolving.place_on_disk(self._key)
            if known != self._before and known is not None and known.offset >= self._offset:
                self._report.problem = "it is being read by somebody else as well: nothing is counted twice"
                return False
            if self._before is not None and self._offset == self._before.offset and known == self._before:
                return True
            self._evolving.judging.take(self._buffer, held, self._report, now)
            self._buffer = []
            self._before = self._new_place(held, now)
            evolved.remember(self._layout, self._before)
        return True

    def _new_place(self, held: Open, now: float) -> Place:
        found = os.fstat(self._fd)
        return Place(
            self._key, str(self._path), self._offset, self._line, found.st_size, found.st_mtime_ns,
            sessionlines.tail_hash(self._fd, self._offset), iso(now), held,
        )  # fmt: skip
