"""The restart budget: a role whose workers keep dying stops being started until a person says so."""

from __future__ import annotations

from collections import deque

from lumen_tui.engine.events import EventLog
from lumen_tui.model import times
from lumen_tui.model.config import WorkersConfig
from lumen_tui.model.loop import Pause
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import pauses


class RestartLimiter:
    """Counts the workers of each role that ended without a word, by running time."""

    def __init__(self, layout: Layout, log: EventLog) -> None:
        self._layout, self._log = layout, log
        self._times: dict[str, deque[float]] = {}

    def note(self, role: str, config: WorkersConfig, *, running: float, now: float) -> None:
        """One more death; where it is one too many the role is paused."""
        seen = self._times.setdefault(role, deque())
        seen.append(running)
        while running - seen[0] > config.deaths_minutes * 60:
            seen.popleft()
        if 0 < config.deaths <= len(seen):
            self._pause(role, len(seen), config, now)
            seen.clear()

    def _pause(self, role: str, count: int, config: WorkersConfig, now: float) -> None:
        reason = f"{count} of its workers died within {times.span(config.deaths_minutes * 60)}"
        pauses.change(self._layout, f"role:{role}", Pause(at=times.iso(now), by=pauses.ENGINE, reason=reason))
        self._log.add("role_stopped", f"{role}: {reason}; nothing of it starts until `resume role {role}`", now)
