"""A desk whose snapshot a thread keeps up to date, so that a read of many clients never waits for the disk."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.access import Principal
from lumen_tui.model.requests.base import Request
from lumen_tui.model.searching import Found, SearchQuery
from lumen_tui.servers.desk import Desk
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.stamped import Stamp, stamp

if TYPE_CHECKING:
    from lumen_tui.engine.port import TaskDetail
    from lumen_tui.model.snapshot import Snapshot

T = TypeVar("T")
_LOOK = 2.0  # seconds between two looks at whether anybody still waits, or a disk works again
_PATIENCE = 3.0  # seconds for the thread to end
_MOST_SETTLED = 64  # answers that are kept


class Moment(NamedTuple):
    """What an answer that was worked out holds for: one snapshot, and one second, as ages are in it."""

    snapshot: Snapshot | None
    second: int

    def is_same(self, other: Moment) -> bool:
        """Return whether it is the very same."""
        return self.snapshot is other.snapshot and self.second == other.second


class SettledAnswer(NamedTuple):
    """What was worked out, and the facts that it is made of."""

    value: object
    moment: Moment
    paths: tuple[Path, ...]
    stamps: tuple[Stamp, ...]

    def holds(self, moment: Moment) -> bool:
        """Return whether all facts are as they were."""
        return self.moment.is_same(moment) and tuple(map(stamp, self.paths)) == self.stamps


class FollowingDesk(Desk):
    """Answers from the newest snapshot. What was done through it is in the next read."""

    _newest: Snapshot | None = None
    _thread: threading.Thread | None = None
    _searched: Moment | None = None

    def follow(self) -> None:
        """Take the first snapshot, which reads all journals, then follow in a thread."""
        self._settled: dict[Hashable, SettledAnswer] = {}
        self._keeping = threading.Lock()
        self._stop, self._turn, self._news = threading.Event(), threading.Lock(), threading.Condition()
        self._renew()
        self._thread = threading.Thread(target=self._watch, name="snapshots", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(StoreError, OSError):  # a disk that fails for a while ends no server
                for _ in super().changes(self._stop):
                    self._renew()
            self._stop.wait(_LOOK)

    def _renew(self) -> None:
        with self._turn:  # else an older snapshot could take the place of a newer one
            newest = super().snapshot()
            with self._news:
                self._newest = newest
                self._news.notify_all()

    def changes(self, stop: threading.Event) -> Iterator[Snapshot]:
        """Yield a new snapshot whenever there is one; all who wait share the one thread."""
        seen: Snapshot | None = None
        while not stop.is_set():
            with self._news:
                if self._newest is seen:
                    self._news.wait(_LOOK)
                newest = self._newest
            if newest is not None and newest is not seen:
                seen = newest
                yield newest

    def snapshot(self) -> Snapshot:
        return self._newest if self._newest is not None else super().snapshot()

    @property
    def moment(self) -> Moment:
        """The newest snapshot, and this second."""
        return Moment(self._newest, int(self.now))

    def settled(self, about: Hashable, paths: Callable[[], Sequence[Path]], make: Callable[[], T]) -> T:
        if (known := self._settled.get(about)) is not None and known.holds(self.moment):
            return cast("T", known.value)
        moment, looked_at = self.moment, tuple(paths())
        stamps = tuple(map(stamp, looked_at))  # before it is made: what is written meanwhile counts as a change
        value = make()
        with self._keeping:
            while len(self._settled) >= _MOST_SETTLED:
                self._settled.pop(next(iter(self._settled)))
            self._settled[about] = SettledAnswer(value, moment, looked_at, stamps)
        return value

    def is_settled(self, about: Hashable) -> bool:
        """Return whether this is answered from memory."""
        known = self._settled.get(about)
        return known is not None and known.holds(self.moment)

    def search(self, query: SearchQuery) -> Found:
        """Return the best hits; what others have written meanwhile is looked for once a second."""
        moment, searched = self.moment, self._searched
        result = self._searcher.search(query, self.now, refresh=searched is None or not moment.is_same(searched))
        self._searched = moment
        return result

    def task(self, task_id: str) -> TaskDetail:
        try:
            return self._port.task_detail(task_id, refresh=self._newest is None)
        except ActionError:
            return super().task(task_id)  # it is newer than what was taken in

    def perform(self, who: Principal, request: Request) -> Done:
        done = super().perform(who, request)
        if self._newest is not None:
            self._renew()
        return done

    def close(self) -> None:
        """End the thread, and close what is open."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join(_PATIENCE)
        self._searcher.close()
