"""The work units as they were: those of now, with what was done to them since taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from lumen_tui.model import ids, times
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.records import Action, Change, Stage
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import Stamped
from lumen_tui.store.audit.journal import marked
from lumen_tui.store.work.work_units import list_units, parse_unit, unit_files

_MADE, _FIELDS = "work", "unit"  # kinds of changes: it was made or retired; its front matter
_MARKS = (b'"kind":"work"', b'"kind":"unit"', b'"stage":"dropped"')
_DEFAULTS = WorkUnit(id="", title="")


class _Done(NamedTuple):
    at: float
    changes: tuple[Change, ...]


class UnitsPast:
    """Reads the units and what was done to them once, and again where that changed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._now = Stamped(lambda: unit_files(layout), lambda: list_units(layout)[0])
        self._retired = Stamped(lambda: [layout.work / "retired"], lambda: dict(_retired(layout)))
        self._done = Stamped(lambda: [layout.actions], lambda: list(_done(layout)))

    def at(self, moment: float) -> tuple[WorkUnit, ...]:
        """Return the units of a moment, by number and safe to show. Touches the disk."""
        for part in (self._now, self._retired, self._done):
            part.refresh()
        units = {unit.id: unit for unit in self._now.value}
        for done in reversed(self._done.value):
            if done.at > moment:
                for change in done.changes:
                    self._take_back(units, change)
        there = (unit for unit in units.values() if times.epoch(unit.created_at, moment) <= moment)
        return tuple(safe_record(unit) for unit in sorted(there, key=lambda unit: int(unit.id.partition("-")[2])))

    def _take_back(self, units: dict[str, WorkUnit], change: Change) -> None:
        unit = units.get(change.key)
        if change.kind == _MADE and change.before is None:
            units.pop(change.key, None)
        elif change.kind == _MADE and change.key in self._retired.value:
            units.setdefault(change.key, self._retired.value[change.key])
        elif change.kind == _FIELDS and unit is not None:
            units[change.key] = replace(unit, **_known(change.before or {}))


def _known(fields: dict[str, object]) -> dict[str, object]:
    """Return the fields that a unit has, of their types; one that was not set has its default."""
    known: dict[str, object] = {}
    for name, value in fields.items():
        default = getattr(_DEFAULTS, name, None)
        if default is not None:
            known[name] = value if type(value) is type(default) else default
    return known


def _done(layout: Layout) -> Iterator[_Done]:
    """Yield what was done to units, oldest first; what was dropped, and what cannot be read, is left out."""
    actions: list[Action] = []
    dropped = set[str]()
    for action in marked(layout, *_MARKS):
        if action.stage == Stage.DROPPED:
            dropped.add(action.id)
        else:
            actions.append(action)
    for action in actions:
        changes = tuple(change for change in action.changes if change.kind in (_MADE, _FIELDS))
        if changes and action.id not in dropped:
            yield _Done(times.epoch(action.at), changes)


def _retired(layout: Layout) -> Iterator[tuple[str, WorkUnit]]:
    for path in (layout.work / "retired").glob("WU-*.md"):
        try:
            yield path.stem, parse_unit(path.stem, (files.read(path) or b"").decode(errors="replace"))
        except (BadFile, ids.BadId, files.StoreError, OSError):
            continue
