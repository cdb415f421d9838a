"""Asking a person for a word on a tool call."""

from __future__ import annotations

from lumen_tui.model.tasks import Spec
from lumen_tui.tools.base import Answer, Request
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.world import World


class Asking:
    """Asks for one task."""

    def __init__(self, world: World, spec: Spec, events: Recorder) -> None:
        self._world, self._spec, self._events = world, spec, events

    def ask(self, request: Request) -> Answer:
        """What a person says to the call. Where nobody can be asked, no."""
        self._events.event("note", f"needs a person's word: {request.summary}", tool=request.tool, ok=False)
        return Answer(allowed=False, reason="it needs a person's word, and nobody can be asked yet")
