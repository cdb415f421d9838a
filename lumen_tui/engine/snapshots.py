"""Snapshots of a state folder as it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.queries.snapshot_reader import Reader
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.watch import wait_for_changes

_AGES = 60.0  # seconds after which a snapshot is taken again because time alone has changed it
_LOADING = 0.15  # seconds between two snapshots while a large folder is read in


class SnapshotStream:
    """Takes a snapshot whenever something changed. `turn` is held while the reader is used."""

    def __init__(self, reader: Reader, clock: Clock, turn: threading.Lock, read_only: Callable[[], str]) -> None:
        self._reader, self._clock, self._turn, self._read_only = reader, clock, turn, read_only

    def signed(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot with the reason why nothing can be written, where there is one."""
        return msgspec.structs.replace(snapshot, read_only=self._read_only())

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """A new snapshot whenever something changed, until `stop` is set. Blocks between them."""
        mark, taken = None, 0.0
        for _ in self._occasions(stop):
            now, running = self._clock.now(), self._clock.running()
            with self._turn:
                new = (self._reader.mark(), self._read_only())
                if new == mark and running - taken < _AGES:
                    continue
                snapshot = self.signed(self._reader.picture(now))
            mark, taken = new, running
            yield snapshot

    def _occasions(self, stop: threading.Event) -> Iterator[None]:
        """Once for each part of the first load, then for each change."""
        yield from self._load(stop)
        for _ in wait_for_changes(self._reader.layout, stop, self._reader.tasks.busy):
            yield from self._load(stop)

    def _load(self, stop: threading.Event) -> Iterator[None]:
        """Take in what is new; while that takes long, a snapshot of what is there so far every now and then."""
        more, shown = True, self._clock.running()
        while more and not stop.is_set():
            with self._turn:
                more = self._reader.refresh(self._clock.now())
            if not more or self._clock.running() - shown > _LOADING:
                shown = self._clock.running()
                yield
