"""What holds queued tasks back now, and today's spending, from what was read already or read for this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lumen_tui.model import agent, budget
from lumen_tui.model.hosting import NO_HOSTS, HostBook, with_load
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.queueing import QueueConditions, in_lanes
from lumen_tui.model.roles import Role
from lumen_tui.model.spendbook import Book
from lumen_tui.model.tasks import TaskView
from lumen_tui.storage import lease
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import Ledger, LedgerReader
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.hosts import book
from lumen_tui.store.tasks import pauses
from lumen_tui.store.tasks.pauses import read_kill
from lumen_tui.store.tasks.task_records import read_json

if TYPE_CHECKING:
    from lumen_tui.model.config import Config
    from lumen_tui.model.spendreport import SpendReport

_NO_ENGINE = "no engine is running: a room starts one, or `lumen-tui --engine-only` does"


def queue_conditions(
    tasks: Iterable[TaskView],
    config: Config,
    roles: Sequence[Role],
    retired: Sequence[str],
    *,
    engine: EngineView,
    book: Book,
    killed: str,
    paused: dict[str, str],
    now: float,
    hosts: HostBook = NO_HOSTS,
) -> QueueConditions:
    """Return the conditions of one moment. `tasks` are those that are not archived."""
    begun = [view for view in tasks if view.status.alive and view.spec.role != agent.ROLE]
    alive = Counter(view.spec.role for view in begun)
    day = budget.day_of(now, config.budget.day_starts)
    costs = engine.heartbeat is None or engine.heartbeat.brain != "offline"
    names = [role.name for role in roles] if costs else []
    full = {name: reason for name in names if (reason := budget.blocked(book, config.budget, day, name))}
    return QueueConditions(
        engine=_engine(engine),
        killed=killed,
        paused=paused,
        limit=config.workers.limit,
        alive=dict(alive),
        in_lanes=in_lanes(begun),
        lanes=config.lanes,
        at_once={role.name: role.limits.at_once for role in roles if role.limits.at_once},
        retired=tuple(retired),
        full=budget.blocked(book, config.budget, day) if costs else "",
        full_roles=full,
        hosts=with_load(hosts, begun),
        next_day=budget.day_ends(now, config.budget.day_starts),
    )


def _engine(engine: EngineView) -> str:
    if engine.life is EngineLife.HUNG:
        return f"the engine hangs: {engine.why}"
    return _NO_ENGINE if engine.life is EngineLife.NONE else ""


def read_queue_conditions(
    layout: Layout, tasks: Iterable[TaskView], roles: Sequence[Role], retired: Sequence[str], now: float
) -> QueueConditions:
    """Read the conditions for a command, which has read nothing but the roles."""
    ledger = LedgerReader(layout)
    ledger.refresh()
    life = EngineLife.ALIVE if lease.is_held(layout) else EngineLife.NONE
    kill = read_kill(layout)
    return queue_conditions(
        tasks,
        load_config(layout)[0],
        roles,
        retired,
        engine=EngineView(life, read_json(layout.heartbeat, Heartbeat)),
        book=ledger.book,
        killed=kill.words if kill else "",
        paused=pauses.in_force(layout, now),
        hosts=book(layout),
        now=now,
    )


def spend_report(layout: Layout, now: float) -> SpendReport:
    """Return the spending report at `now`. StoreError where the ledger cannot be read."""
    from lumen_tui.model.spendreport import report

    config = load_config(layout)[0].budget
    kill = read_kill(layout)
    paused = pauses.in_force(layout, now).get(pauses.EVERYTHING, "")
    return report(Ledger(layout).refresh(), config, now, killed=kill.words if kill else "", paused=paused)
