"""The error of an action that was not carried out. Apart from `outcome`, so that raising it imports no library."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ActionError(Exception):
    """An action that was not carried out; the text says why and what to do next. Nothing was written."""

    def __init__(self, text: str, *, candidates: tuple[str, ...] = (), missing: bool = False) -> None:
        super().__init__(text)
        self.candidates = candidates  # nearest names, or what an ambiguous prefix could be
        self.missing = missing  # the thing is not there (exit code 3) rather than the call being wrong (2)


def ambiguous(text: str, candidates: Iterable[str], noun: str = "ids") -> ActionError:
    """Return the error for a prefix of several ids, naming the first of them."""
    message = f"{text!r} is the beginning of several {noun}: give more of it"
    return ActionError(message, candidates=tuple(candidates)[:8])
