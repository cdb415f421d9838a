"""What tasks have taken, from the records that there are: their events, and the ledger of model calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.spendbook import Amount
from lumen_tui.model.task_cost import TaskCost, cost_of
from lumen_tui.model.tasks import TaskEvent, TaskView
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks import task_files

_MOST = 64 * 1024 * 1024  # bytes of the events of one task
_TELLING = (b'"usage"', b'"started"', b'"finished"')


def costs(layout: Layout, views: Iterable[TaskView], now: float) -> dict[str, TaskCost]:
    """Return what each task has taken, by its id. The ledger has the last word on money: it knows lost calls too."""
    spent = _spent(layout)
    by_task = {}
    for view in views:
        folder = task_files.folder_of(layout, view.id)
        known = spent.get(view.id)
        going = now if view.status.alive else 0.0
        by_task[view.id] = (
            cost_of(_events(folder), now=going, usd=known.usd if known else None) if folder else TaskCost()
        )
    return by_task


def _spent(layout: Layout) -> dict[str, Amount]:
    ledger = Ledger(layout)
    try:
        return dict(ledger.refresh().tasks)
    except (files.StoreError, OSError):
        return {}
    finally:
        ledger.close()


def _events(folder: Path) -> Iterator[TaskEvent]:
    """Yield the events that tell of time and money, and the last one; damaged lines are passed over."""
    try:
        lines = (files.read(folder / "events.jsonl", _MOST) or b"").splitlines()
    except (files.StoreError, OSError):
        return
    for number, line in enumerate(lines, 1):
        if number == len(lines) or any(mark in line for mark in _TELLING):
            try:
                yield decode_safe(line, TaskEvent)
            except UNDECODABLE:
                continue
