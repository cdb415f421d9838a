"""Today's spending, read from the state folder."""

from __future__ import annotations

from lumen_tui.model.spendreport import SpendReport, report
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill


def spend_report(layout: Layout, now: float) -> SpendReport:
    """Return the spending report at `now`. StoreError where the ledger cannot be read."""
    config = load_config(layout)[0].budget
    kill = read_kill(layout)
    paused = pauses.in_force(layout, now).get(pauses.EVERYTHING, "")
    return report(Ledger(layout).refresh(), config, now, killed=kill.words if kill else "", paused=paused)
