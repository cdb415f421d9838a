"""How an action ends."""

from __future__ import annotations

from msgspec import Struct


class Done(Struct, frozen=True):
    """An action that was carried out."""

    summary: str  # one plain sentence for the operator
    target: str = ""  # the id of what was made or changed
    action_id: str = ""  # set where it can be undone


class ActionError(Exception):
    """An action that could not be carried out; the text says why and what to do next. Nothing was written."""

    def __init__(self, text: str, *, candidates: tuple[str, ...] = (), missing: bool = False) -> None:
        super().__init__(text)
        self.candidates = candidates  # nearest names, or what an ambiguous prefix could be
        self.missing = missing  # the thing is not there (exit code 3) rather than the call being wrong (2)
