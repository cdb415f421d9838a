"""Leaving the room: what becomes of the engine."""

from __future__ import annotations

from lumen_tui.tui.kit.menu import Menu, Option

_KEEP = Option("k", "keep it running", "keep", "the agent goes on; any room can attach again")
_STOP = Option("s", "stop the engine", "stop", "workers go on; the next engine takes them over")
_LEAVE = Option("k", "leave", "keep", "nothing stops")


class QuitAsk(Menu):
    """Answers `stop` or `keep`. Where the engine was started elsewhere there is nothing to stop."""

    def __init__(self, engine_started_here: bool) -> None:
        if engine_started_here:
            super().__init__("Leave the room", (_KEEP, _STOP), ("This room started the engine.",))
        else:
            super().__init__("Leave the room", (_LEAVE,), ("The engine was not started here and goes on.",))
