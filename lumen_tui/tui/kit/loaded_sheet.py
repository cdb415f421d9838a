"""A list whose rows are read from the disk: in a thread when it opens, and anew at every change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from lumen_tui.model.snapshot import Snapshot
from lumen_tui.tui.kit.jobs import Loader
from lumen_tui.tui.kit.rows_sheet import ListSheet

R = TypeVar("R")
T = TypeVar("T")


class LoadedSheet(ListSheet[None, R], Generic[R, T]):
    """Subclasses show in `_loaded` what `read` gave. Until then the list does not say that it is empty."""

    READING = "Reading …"

    def __init__(self, heading: str, now: float, read: Callable[[], T]) -> None:
        super().__init__(heading)
        self._now = now
        self._loader: Loader[T] = Loader(self, read, self._arrived, self._failed)

    def _loaded(self, found: T) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.empty = self.READING
        self._loader.load()

    def _arrived(self, found: T) -> None:
        self.rows.empty = self.EMPTY
        self._loaded(found)

    def show(self, snapshot: Snapshot) -> None:
        """Something changed: read anew."""
        self._now = snapshot.taken
        self.count_to(self._now)
        self._loader.load()

    def tick(self, now: float) -> None:
        self._now = now
        super().tick(now)
        self.show_facts()

    def show_facts(self) -> None:
        """Put what is said of the selected row beside the list, where there is a place for it."""

    def load(self) -> None:
        """Read anew what is shown."""
        self._loader.load()

    def _failed(self, why: str) -> None:
        """It cannot be read; what was read before stays."""
        self.rows.empty = "This cannot be read."
        self.rows.refresh_changed()
        self.say(why, bad=True)
