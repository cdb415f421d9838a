"""Approvals that expired unanswered, from the engine's events."""

from __future__ import annotations

import contextlib

import msgspec

from lumen_tui.model import times
from lumen_tui.model.approvals import Overdue
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.loop import EngineEvent
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, files
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines

_MARK = b'"approval_expired"'
_EARLIER = 8 * 1024 * 1024  # bytes of the events before the present file
_MOST = 100  # the newest ones
_event = msgspec.json.Decoder(EngineEvent).decode


class ExpiredIndex:
    """Follows the events. Those that a rotation removes meanwhile are kept."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._follower = Follower(layout.events)
        self._found: dict[str, Overdue] = {}
        self._begun = False
        self.revision = 0

    @property
    def found(self) -> tuple[Overdue, ...]:
        """The expired approvals, the oldest first."""
        return tuple(self._found.values())

    def close(self) -> None:
        """Close the journal."""
        self._follower.close()

    def refresh(self) -> None:
        """Read what is new."""
        if not self._begun:
            self._begun = True
            with contextlib.suppress(files.Refused):  # misplaced.py names it
                self._take(backwards.read_tail(self._layout.earlier_events, _EARLIER))
        for _, data in self._follower.pieces():
            self._take(data)

    def _take(self, data: bytes) -> None:
        if _MARK not in data:
            return
        self.revision += 1
        for _, line in split_lines(data, 0):
            if _MARK in line and (overdue := _overdue(line)):
                self._found[overdue.id] = overdue
        self._found = dict(list(self._found.items())[-_MOST:])


def _overdue(line: bytes) -> Overdue | None:
    try:
        event = _event(line)
    except UNDECODABLE:
        return None
    name = event.data.get("approval")
    if event.kind != "approval_expired" or not isinstance(name, str):
        return None
    return Overdue(one_line(name, 64), one_line(event.text), times.epoch(event.at))
