"""The outcome of an action that succeeded; `ActionError` is that of one that failed."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.actions.refusal import ActionError as ActionError


class Done(Struct, frozen=True):
    """An action that was carried out."""

    summary: str  # one plain sentence for the operator
    target: str = ""  # the id of what was made or changed
    action_id: str = ""  # set where it can be undone
    aside: str = ""  # what else happened, such as a work unit that was made on the way
