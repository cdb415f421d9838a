"""Whether something came in that the next beat should see to soon: cheap evidence first, then the loop's own news."""

from __future__ import annotations

import os
from pathlib import Path

from lumen_tui.engine.loop import MainLoop
from lumen_tui.model.config import Config
from lumen_tui.store.layout import Layout

Stamp = tuple[int, int]  # size and time of the last change


class Arrivals:
    """Compares with the last look, so that what lies there unread asks for one beat and not for one after another."""

    def __init__(self, layout: Layout, loop: MainLoop) -> None:
        self._layout, self._loop = layout, loop
        self._mail, self._work, self._approvals = self._stamps()

    def _stamps(self) -> tuple[tuple[Stamp, Stamp], Stamp, Stamp]:
        layout = self._layout
        return (_stamp(layout.signals), _stamp(layout.memory)), _stamp(layout.work), _stamp(layout.approvals)

    def look(self, config: Config) -> bool:
        """Whether there is news since the last look. StoreError.

        What comes while the agent is at work waits for the end of its loop, which brings a beat by itself.
        """
        before = self._mail, self._work, self._approvals
        self._mail, self._work, self._approvals = self._stamps()
        if self._approvals != before[2]:
            return True
        if self._loop.at_work:
            return False
        return self._work != before[1] or (self._mail != before[0] and bool(self._loop.news(config)))


def _stamp(path: Path) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
