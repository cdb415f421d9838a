"""Follows the work units for a snapshot: those there are, their lanes, and how far those in progress are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lumen_tui.model.decoding import safe_record
from lumen_tui.model.problem import Problem
from lumen_tui.model.progress import percents
from lumen_tui.model.records import SignalRow
from lumen_tui.model.text import safe
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.signals.signal_index import SignalIndex
from lumen_tui.store.work.work_units import list_units, unit_files

_NEAR = 200  # of the newest signals, in which the progress of a unit is looked for


class UnitIndex:
    """Not safe for use by two threads at once."""

    def __init__(self, layout: Layout, signals: SignalIndex) -> None:
        self._units = Stamped(lambda: unit_files(layout), lambda: list_units(layout))
        self._signals = signals
        self._shown: tuple[int, tuple[WorkUnit, ...]] = (-1, ())  # as of which revision
        self._percent: dict[str, int] = {}
        self._asked: object = None

    def refresh(self) -> bool:
        """Read again what changed."""
        return self._units.refresh()

    @property
    def revision(self) -> int:
        """A number that grows with each change."""
        return self._units.revision

    @property
    def raw(self) -> list[WorkUnit]:
        """The units as they are written: not for a screen."""
        return self._units.value[0]

    @property
    def problems(self) -> list[Problem]:
        """The files that cannot be read."""
        return self._units.value[1]

    def units(self) -> tuple[WorkUnit, ...]:
        """Return the units by number, safe to show."""
        if self._shown[0] != self.revision:
            self._shown = (self.revision, tuple(safe_record(unit) for unit in self.raw))
        return self._shown[1]

    def lanes(self) -> tuple[str, ...]:
        """Return the lanes, each once and safe."""
        return tuple(sorted({safe(unit.lane) for unit in self.raw if unit.lane}))

    def percent(self) -> dict[str, int]:
        """Return how far units in progress are, as the newest signals about them say it."""
        asked = (self._signals.revision, self.revision)
        if asked != self._asked:
            self._asked = asked
            self._percent = progress_of(self.raw, self._signals.rows())
        return self._percent


def progress_of(units: Iterable[WorkUnit], signals: Sequence[SignalRow]) -> dict[str, int]:
    """Return how far units in progress are, as the newest of these signals, the newest first, say it."""
    going = {unit.id for unit in units if unit.status == "in_progress"}
    near = [row.signal for row in signals[:_NEAR]] if going else []
    return percents((signal.wu_id, signal.message) for signal in near if signal.wu_id in going)
