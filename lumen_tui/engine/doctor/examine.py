"""All checks of a state folder, in the order in which one repair uncovers the next problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lumen_tui.engine.doctor import disk, records
from lumen_tui.engine.doctor.finding import DoctorReport, Finding
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

Check = Callable[[Layout, float, bool], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    "places": disk.places,
    "modes, links and owners": disk.modes,
    "leftovers": disk.leftovers,
    "journals": disk.lines,
    "legacy records": disk.legacy,
    "receipts": disk.orphaned,
    "unfinished actions": records.unfinished,
    "references": records.references,
    "documents": records.documents,
    "tasks": records.tasks,
    "engine": records.engine,
    "index": records.indexes,
}


def examine(store: Store, *, now: float, fix: bool = False) -> DoctorReport:
    """Check a state folder; with `fix`, repair what can be. A check that fails is a finding itself."""
    findings: list[Finding] = []
    for name, check in CHECKS.items():
        try:
            findings += check(store.layout, now, fix)
        except (files.StoreError, OSError) as error:
            findings.append(Finding(name, ".", f"could not be looked at: {error}"))
    return DoctorReport(root=str(store.root), checked=tuple(CHECKS), findings=tuple(findings))
