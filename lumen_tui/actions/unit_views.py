"""Work units as a person sees them: the list with what is known of each, and the page of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from lumen_tui.actions import agents, checks, ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import times
from lumen_tui.model.acceptance import Acceptance, CheckResult
from lumen_tui.model.decoding import safe_record
from lumen_tui.model.kinds import CHECKPOINT_MARK
from lumen_tui.model.progress import named_percent
from lumen_tui.model.text import one_line
from lumen_tui.model.views import NodeView, Page
from lumen_tui.model.work import Tracked
from lumen_tui.queries.trail import CHECKPOINT, DECISION, Trail, blockers
from lumen_tui.storage.store import Store
from lumen_tui.store.work import unit_checks, work_units

_TOLD = 3  # of the newest signals on a unit in which its progress is looked for
_MOST = 10  # checkpoints and decisions of a page


class UnitRow(Struct, frozen=True):
    """One work unit among others."""

    unit: Tracked
    percent: int | None = None  # as the newest signal or checkpoint that names one says
    checkpoint: str = ""
    checkpoint_at: float = 0.0
    waits_for: tuple[str, ...] = ()  # ids of what blocks it and is open
    not_accepted: str = ""  # after which task and why its acceptance was disproved; empty where it was not

    @property
    def state(self) -> str:
        """Its status as it is shown: one that waits for others is no work for anybody yet."""
        return "waiting" if self.waits_for and self.unit.status == "ready" else self.unit.status.replace("_", " ")


class UnitDetail(Struct, frozen=True):
    """All there is to read about one work unit."""

    row: UnitRow
    page: Page  # as `ready --wu` has it
    checkpoints: tuple[NodeView, ...] = ()  # newest first
    decisions: tuple[NodeView, ...] = ()  # newest first, the answered ones as well
    origin: NodeView | None = None  # the discovery that became it
    checked: Acceptance | None = None  # what the checks of its acceptance found last
    checked_by: str = ""  # the task after which they were run

    def result_of(self, check: str) -> CheckResult | None:
        """Return what was found of one line of the acceptance; None where it was not run."""
        return (
            next((result for result in self.checked.results if result.check == check), None) if self.checked else None
        )


def unit_rows(root: Path, now: float) -> Sequence[UnitRow]:
    """Read all work units, by number. Files that cannot be read are problems of the folder, and left out."""
    store = Store(root)
    units = work_units.list_tracked(store.layout)
    with Trail(store.layout) as trail:
        return [_row(store, trail, safe_record(unit), now) for unit in units]


def unit_detail(root: Path, wu_id: str, now: float) -> UnitDetail:
    """Read one work unit with its trail. ActionError where there is none."""
    store = Store(root)
    unit = work_units.read_tracked(store.layout, checks.known_unit(store.layout, wu_id))
    if unit is None:
        raise ActionError(f"there is no work unit {wu_id}", missing=True)
    unit, checked = safe_record(unit), unit_checks.read(store.layout, unit.id)
    with Trail(store.layout) as trail:
        return UnitDetail(
            row=_row(store, trail, unit, now),
            page=ready.page(store, by="", now=now, wu_id=unit.id),
            checkpoints=tuple(trail.newest(unit.id, (CHECKPOINT,), _MOST)),
            decisions=tuple(trail.newest(unit.id, (DECISION,), _MOST, any_state=True)),
            origin=trail.node(unit.discovery) if unit.discovery else None,
            checked=checked.acceptance if checked else None,
            checked_by=checked.task_id if checked else "",
        )


def _row(store: Store, trail: Trail, unit: Tracked, now: float) -> UnitRow:
    if unit.status == "done":
        return UnitRow(unit, 100)
    last = next(iter(trail.newest(unit.id, (CHECKPOINT,), 1)), None)
    return UnitRow(
        unit,
        next(_percents(trail, unit.id, last), None),
        one_line(last.title.removeprefix(CHECKPOINT_MARK), 200) if last else "",
        times.epoch(last.created_at) if last else 0.0,
        tuple(blocker.id for blocker in blockers(store, trail, unit.id, now=now)),
        one_line(agents.not_accepted(store, unit), 200),
    )


def _percents(trail: Trail, wu_id: str, last: NodeView | None) -> Iterator[int]:
    """Yield how far the unit is, as the newest of its signals and its last checkpoint say it; the newest first."""
    remarks = [(times.epoch(signal.created_at), signal.message) for signal in trail.signals(wu_id, _TOLD)]
    if last is not None:
        progress = last.metadata.get("progress")
        words = progress if isinstance(progress, str) else ""
        remarks.append((times.epoch(last.created_at), f"{words} {last.content}"))
    for _, text in sorted(remarks, reverse=True):
        if (percent := named_percent(text)) is not None:
            yield percent
