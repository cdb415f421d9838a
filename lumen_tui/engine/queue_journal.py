"""The engine's part in telling a person: it writes each transition of the attention queue to its journal, once."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from lumen_tui.engine import first_reading
from lumen_tui.engine.child_process import ChildProcess
from lumen_tui.model.attention import Queue
from lumen_tui.model.notify_config import NotifyConfig
from lumen_tui.model.transition_rules import ages_of, due, item_of, next_due
from lumen_tui.model.transitions import OpenItem, QueueHistory, Transition, TransitionKind
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.queries.transitions import with_endings
from lumen_tui.storage import files, origin
from lumen_tui.storage.clock import Clock, clocks_of
from lumen_tui.storage.layout import Layout
from lumen_tui.store.attention import answers, receipts, transitions

_PIECE = 0.02  # seconds of reading in one pass, while a large folder is read in
_AGES = 60.0  # seconds after which the queue is looked at though no file changed


class QueueJournal:
    """Follows the queue as the operator who started the engine has it, and records what becomes of it.

    What is read by one operator and not by another (an urgent signal) is gone once this one has read it.
    """

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self._layout = layout
        self._operator = origin.operator_name(os.environ)
        self._reader = SnapshotReader(layout.root, self._operator, queue_only=True)
        self._reader.clocks = clocks_of(clock)
        self._begun = False
        self._first: ChildProcess | None = None  # while a child reads for us
        self._mark: object = None
        self._next = 0.0  # when time alone may make a transition
        self.waiting: tuple[OpenItem, ...] = ()  # what is on the queue, with its transitions, as of the last look

    def close(self) -> None:
        """Close every journal."""
        if self._first is not None:
            self._first.end()
            self._first = None
        self._reader.close()

    def due(self, now: float) -> bool:
        """Return whether `poll` has something to do because of the time."""
        return now >= self._next

    def poll(self, config: NotifyConfig, now: float) -> list[Transition]:
        """Record what is new on the queue, if a file changed or the time has come.

        Where the disk takes nothing, the next pass finds the same missing; what else this pass did must not be lost.
        """
        try:
            return self._record(config, now) if self._load(now) else []
        except (files.StoreError, OSError):
            return []

    def _record(self, config: NotifyConfig, now: float) -> list[Transition]:
        mark = self._reader.mark()
        if mark == self._mark and not self.due(now):
            return []
        queue, ages = self._reader.queue(now), ages_of(config)
        book = self._reader.transitions
        written = book.record(lambda history: self._missing(history, due(history, queue.shown, now, ages), queue))
        self._mark = self._reader.mark()
        self.waiting = book.history.among({item_of(need) for need in queue.shown})
        self._next = min(now + _AGES, next_due(book.history, queue.shown, ages))
        return written

    def _load(self, now: float) -> bool:
        """Take in what changed, a piece at a time; return whether all is read."""
        if self._is_read_for_us():
            return False
        begun = time.monotonic()
        while self._reader.refresh(now):
            if time.monotonic() - begun > _PIECE:
                return False
        return True

    def _is_read_for_us(self) -> bool:
        """Return whether a child makes the first reading of a large folder; it is started where one is to be made."""
        if not self._begun:
            self._begun = True
            if self._unread() >= first_reading.LEAST:
                with contextlib.suppress(OSError):  # no process to be had: it is read here
                    self._first = ChildProcess(first_reading.__name__, self._layout.root, self._operator)
        if self._first is None:
            return False
        if self._first.running():
            return True
        self._first = None
        return False

    def _unread(self) -> int:
        """Return how many bytes of the large journals nobody has read into an index yet."""
        reader, layout = self._reader, self._layout
        large = ((reader.signals.kept, layout.signals), (reader.nodes.kept, layout.memory))
        return sum(_size(journal) for kept, journal in large if not kept.path.exists())

    def _missing(self, history: QueueHistory, lacking: Sequence[Transition], queue: Queue) -> list[Transition]:
        """Return what the journal lacks, with who or what ended it where something left the queue."""
        gone = [transition for transition in lacking if transition.kind is TransitionKind.GONE]
        snoozed = frozenset(need.target for need in queue.put_off)
        ended = with_endings(self._layout, gone, history, snoozed, self._operator)
        return [*ended, *(transition for transition in lacking if transition.kind is not TransitionKind.GONE)]

    def shorten(self, now: float) -> None:
        """Drop what is old from journals that have grown long."""
        needed = self._reader.transitions.needed()
        with contextlib.suppress(files.StoreError, OSError):
            transitions.shorten(self._layout, needed)
            receipts.shorten(self._layout, needed, now)
            answers.shorten(self._layout, now)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
