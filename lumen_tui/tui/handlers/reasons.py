"""Asking for a reason, with the last ones that were given for the same action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.storage.files import StoreError

if TYPE_CHECKING:
    from lumen_tui.tui.room import Room


class Reasons:
    """Offers what the journal of actions holds. The prompt opens at once, with what was known before."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: dict[str, tuple[str, ...]] = {}  # by verb, newest first

    def ask(self, title: str, verb: str, then: Callable[[str], None]) -> None:
        """Ask for a reason; `then` gets it, and is not called where the prompt was left."""
        from lumen_tui.tui.kit.reason_prompt import ReasonPrompt

        def answered(reason: str | None) -> None:
            if reason:
                self._used(verb, reason)
                then(reason)

        prompt = ReasonPrompt(title, self._known.get(verb, ()), look=lambda: self._look(verb))
        if verb == "approval.deny":
            prompt.hint = "why? the worker is told so"
        self._room.lumen.push_screen(prompt, answered)

    def _used(self, verb: str, reason: str) -> None:
        others = (old for old in self._known.get(verb, ()) if old != reason)
        self._known[verb] = (reason, *others)

    def _look(self, verb: str) -> tuple[str, ...]:
        """Read the journal, for this prompt and for the next one."""
        try:
            self._known[verb] = self._room.lumen.port.recent_reasons(verb)
        except (ActionError, StoreError, OSError):
            return ()  # a hint less; what is wrong with the folder is told elsewhere
        return self._known[verb]
