"""Whether something came in that the next beat should see to soon: cheap evidence first, then the loop's own news."""

from __future__ import annotations

from lumen_tui.engine.loops.loops import MainLoop
from lumen_tui.model.config import Config
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.stamped import stamp

Stamp = tuple[int, int, int]


class Arrivals:
    """Compares with the last look, so that what lies there unread asks for one beat and not for one after another."""

    def __init__(self, layout: Layout, loop: MainLoop) -> None:
        self._layout, self._loop = layout, loop
        self._mail, self._work, self._approvals = self._stamps()

    def _stamps(self) -> tuple[tuple[Stamp, Stamp], Stamp, Stamp]:
        layout = self._layout
        return (stamp(layout.signals), stamp(layout.memory)), stamp(layout.work), stamp(layout.approvals)

    def poll(self, config: Config) -> bool:
        """Whether there is news since the last look. StoreError.

        What comes while the agent is at work waits for the end of its loop, which brings a beat by itself.
        """
        before = self._mail, self._work, self._approvals
        self._mail, self._work, self._approvals = self._stamps()
        if self._approvals != before[2]:
            return True
        if self._loop.at_work:
            return False
        return self._work != before[1] or (self._mail != before[0] and self._loop.stirs(config))
