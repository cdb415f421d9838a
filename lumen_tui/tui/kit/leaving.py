"""Rows that an action was asked for and that still stand in their list: the cursor goes on before the disk answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lumen_tui.tui.kit.line_list import LineList

_FAR = 500  # rows looked at, both ways, for one that is not leaving
_SEEN = 1.0  # seconds after which what was carried out is in the rows, or was undone since


class Leaving:
    """What was asked for and not seen to happen yet, for one list."""

    def __init__(self, rows: LineList[Any]) -> None:
        self._rows = rows
        self.keys: set[str] = set()
        self._happened: set[str] = set()

    def take(self, keys: Iterable[str]) -> None:
        """These will go: drop the marks and put the cursor on the next row that stays."""
        self.keys.update(keys)
        self._rows.marks.clear()
        step_past(self._rows, self.keys)

    def happened(self, keys: Collection[str]) -> None:
        """The action was carried out: its rows are forgotten once they are gone, as the next ones may be older."""
        self._happened.update(keys)
        self._rows.set_timer(_SEEN, lambda: self._forget(keys))

    def failed(self, keys: Collection[str]) -> None:
        """The action was refused: they stay, and several are marked again."""
        self.keys.difference_update(keys)
        if len(keys) > 1:
            self._rows.marks.keys.update(dict.fromkeys(keys))
        self._rows.refresh_changed()

    def newer_rows(self) -> None:
        """The list took newer rows: forget those that are gone."""
        model = self._rows.model
        self._forget([key for key in self._happened if model.find(key) is None])

    def _forget(self, keys: Collection[str]) -> None:
        self.keys.difference_update(keys)
        self._happened.difference_update(keys)
        self._rows.refresh_changed()


def step_past(rows: LineList[Any], keys: Collection[str]) -> None:
    """Put the cursor on the nearest row whose key is not among `keys`, further down where there is one."""
    model = rows.model
    here = model.cursor
    if len(model) and len(keys) < len(model):
        after = range(here, min(len(model), here + _FAR))
        before = range(here - 1, max(-1, here - _FAR), -1)
        near = (index for index in (*after, *before) if model.key(model.row(index)) not in keys)
        model.move(next(near, here))
    rows.refresh_changed()
    rows.post_message(LineList.Highlighted(rows))
