"""What agents and other programs may do: within bounds, and nothing to what a person holds or has ordered."""

from __future__ import annotations

from lumen_tui.actions import acting
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.acceptance import Finding, Verdict, among
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.work import Tracked
from lumen_tui.storage.store import Store
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.work import unit_checks, work_units


def must_have_room(store: Store, more: int) -> None:
    """Refuse new work units of an agent beyond [projects] open_units."""
    if not acting.caller().bounded:
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
    if acting.caller().bounded and unit.status == "in_progress" and who not in ("", by) and not stale:
        raise ActionError(f"{unit.id} is held by {who}: only they or the operator may do this; send them a signal")


def not_accepted(store: Store, unit: Tracked) -> str:
    """Return after which task and why the acceptance of a unit was disproved; empty where it was not."""
    checked = unit_checks.read(store.layout, unit.id)
    if checked is None or checked.acceptance.verdict is not Verdict.DISPROVED:
        return ""
    failed = {result.check for result in checked.acceptance.results if result.finding is Finding.FAILS}
    if not failed & set(among(unit.acceptance)):
        return ""  # what failed is no longer asked for
    return f"{unit.id} is not accepted after {checked.task_id}: {checked.acceptance.reason}"


def may_close(store: Store, unit: Tracked, reason: str) -> str:
    """Refuse to close a unit whose acceptance was disproved, but to the operator, who says why; return what to note."""
    if not (words := not_accepted(store, unit)):
        return ""
    if not acting.caller().order:
        raise ActionError(f"{words}; mend it and let a task on {unit.id} show that, or leave it to the operator")
    if not reason.strip():
        raise ActionError(f"{words}; `--reason` says why it is done all the same")
    return f"closed although {words}: {one_line(reason, 300)}"


def must_not_be_order(spec: Spec | None) -> None:
    """Refuse an agent to stop what the operator ordered."""
    if acting.caller().bounded and spec is not None and spec.order:
        raise ActionError(
            f"{spec.id} is an order of the operator: only they cancel it; say in a signal why it should be"
        )
