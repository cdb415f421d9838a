"""The queue of what needs a person: an item is put aside by an action, and comes back when that is undone."""

from __future__ import annotations

from collections.abc import Iterable

from lumen_tui.engine.actions import checks, edits
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model.records import Change
from lumen_tui.model.text import one_line
from lumen_tui.store import files, history
from lumen_tui.store.store import Store


def dismiss(store: Store, *, by: str, now: float, targets: str | Iterable[str], reason: str = "") -> Done:
    """Put these items aside; `targets` are those of the queue."""
    found = checks.as_ids(targets)
    if not all(target.strip() for target in found):
        raise ActionError("an item without a target cannot be put aside")
    actions = []
    for target in found:
        change = Change(kind="attention", key=target, before=None, after={"dismissed": True})
        said = f"{one_line(target, 80)} put aside"
        actions.append(edits.new_action("attention.dismiss", [change], summary=said, by=by, now=now, reason=reason))
    files.append(store.layout.actions, b"".join([history.action_lines(action) for action in actions]))
    summary = actions[0].summary if len(actions) == 1 else f"{len(actions)} items put aside"
    return Done(summary=summary, target=found[0], action_id=actions[-1].id)
