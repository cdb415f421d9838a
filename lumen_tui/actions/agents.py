"""What an agent may do by its tools: within bounds, and nothing to what a person holds or has ordered."""

from __future__ import annotations

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.tasks import Spec
from lumen_tui.model.work import Tracked
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.work import work_units


def must_have_room(store: Store, more: int) -> None:
    """Refuse new work units of an agent beyond [projects] open_units."""
    if not acting.caller().task:
        return
    most = load_config(store.layout)[0].projects.open_units
    units = sum(unit.status != "done" for unit in work_units.list_tracked(store.layout))
    if units + more > most:
        raise ActionError(
            f"{units} work units are open, and with {more} more there would be over {most} ([projects] open_units): "
            "close or merge some first"
        )


def must_be_free(unit: Tracked, *, by: str, stale: bool) -> None:
    """Refuse an agent what would end somebody else's work on a unit."""
    who = unit.claimed_by
    if acting.caller().task and unit.status == "in_progress" and who not in ("", by) and not stale:
        raise ActionError(f"{unit.id} is held by {who}: only they or the operator may do this; send them a signal")


def must_not_be_order(spec: Spec | None) -> None:
    """Refuse an agent to stop what the operator ordered."""
    caller = acting.caller()
    if caller.task and not caller.order and spec is not None and spec.order:
        raise ActionError(
            f"{spec.id} is an order of the operator: only they cancel it; say in a signal why it should be"
        )
