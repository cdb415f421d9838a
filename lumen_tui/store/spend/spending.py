"""Today's spending, read from the state folder."""

from __future__ import annotations

from lumen_tui.model.loop import Pause
from lumen_tui.model.spendreport import SpendReport, report
from lumen_tui.model.text import one_line
from lumen_tui.store.layout import Layout
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.spend.ledger import Ledger
from lumen_tui.store.tasks.killfile import read_kill
from lumen_tui.store.tasks.taskread import read_json


def spend_report(layout: Layout, now: float) -> SpendReport:
    """The page at `now`. StoreError where the ledger cannot be read."""
    config = load_config(layout)[0].budget
    kill = read_kill(layout)
    return report(Ledger(layout).refresh(), config, now, killed=kill.words if kill else "", paused=_paused(layout))


def _paused(layout: Layout) -> str:
    pause = read_json(layout.pause, Pause)
    if pause is None:
        return ""
    return one_line(f"paused by {pause.by}" + (f": {pause.reason}" if pause.reason else ""))
