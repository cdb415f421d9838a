"""What needs a person: one list, from which the header's count, `status -q` and the title all come."""

from __future__ import annotations

from collections.abc import Iterable

from lumen_tui.model import times
from lumen_tui.model.progress import Missing
from lumen_tui.model.records import Signal
from lumen_tui.model.snapshot import Attention, DiscoveryRow, EngineLife, EngineView, Need, Problem, SpendView
from lumen_tui.model.tasks import Status, TaskView

_ORDER = list(Need)


def collect(
    *,
    engine: EngineView,
    tasks: Iterable[TaskView],
    p0_signals: Iterable[Signal],
    p0_discoveries: Iterable[DiscoveryRow],
    spend: SpendView,
    problems: Iterable[Problem],
    dismissed: frozenset[str],
    progress: Iterable[Missing] = (),
) -> tuple[Attention, ...]:
    """The list, most urgent first and oldest first within one urgency."""
    found = [*_engine(engine), *_spend(spend)]
    found += [item for view in tasks if (item := _task(view))]
    for signal in p0_signals:
        found.append(Attention(Need.P0_SIGNAL, signal.id, signal.message, times.epoch(signal.created_at)))
    for row in p0_discoveries:
        found.append(Attention(Need.P0_DISCOVERY, row.node.id, row.node.title, row.created))
    found += [Attention(Need.PROGRESS, one.target, one.text, one.since) for one in progress]
    for problem in problems:
        found.append(Attention(Need.PROBLEM, problem.where, f"{problem.where}: {problem.what}"))
    kept = [item for item in found if item.target not in dismissed]
    return tuple(sorted(kept, key=lambda item: (_ORDER.index(item.need), item.since)))


def _engine(engine: EngineView) -> list[Attention]:
    beat = engine.heartbeat
    since = times.epoch(beat.at) if beat else 0.0
    if engine.life in (EngineLife.LATE, EngineLife.HUNG):
        return [Attention(Need.ENGINE, "engine", f"the engine is {engine.life}: {engine.why}", since)]
    if engine.life is EngineLife.NONE and beat is not None and beat.phase != "stopped":
        return [Attention(Need.ENGINE, "engine", f"the engine {engine.why}", since)]
    if beat is not None and beat.phase == "degraded" and engine.life is EngineLife.ALIVE:
        return [Attention(Need.ENGINE, "engine", f"the engine cannot write: {beat.note}", since)]
    return []


def _spend(spend: SpendView) -> list[Attention]:
    if 0 < spend.usd_cap <= spend.usd:
        return [Attention(Need.BUDGET, "budget", f"today's ${spend.usd_cap:.2f} are spent")]
    if 0 < spend.tokens_cap <= spend.tokens:
        return [Attention(Need.BUDGET, "budget", f"today's {spend.tokens_cap:,} tokens are spent")]
    return []


_NEEDS = {Status.FAILED: Need.FAILED, Status.LOST: Need.LOST, Status.STALLED: Need.STALLED}


def _task(view: TaskView) -> Attention | None:
    need = _NEEDS.get(view.status)
    if need is None:
        return None
    reason = f": {view.reason}" if view.reason else ""
    since = view.last_event if need is Need.STALLED else view.finished
    return Attention(need, view.id, f"{view.spec.objective} {view.status}{reason}", since)
