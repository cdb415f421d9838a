"""What needs a person: one list, from which the header's count, `status -q` and the title all come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lumen_tui.model import agent, ids, times
from lumen_tui.model.liveness import EngineLife, EngineView
from lumen_tui.model.loop import LoopState
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.problem import Problem
from lumen_tui.model.records import DiscoveryRow, Signal, Untriaged
from lumen_tui.model.snapshot import Attention, Need
from lumen_tui.model.spendbook import SpendView
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.model.analytics import Retirement
    from lumen_tui.model.approvals import Approval, Overdue
    from lumen_tui.model.changelist import OpenList
    from lumen_tui.model.freshness import FactState
    from lumen_tui.model.learnt import EvolutionView
    from lumen_tui.model.progress import Missing
    from lumen_tui.model.relay import Submission

_ORDER = list(Need)
_UNTIL = " until "
_DAY = lazy_re(r"\d{4}-\d\d-\d\d")
_MOMENT = lazy_re(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_OBJECTIVE = 120  # characters
PROPOSALS = "proposals-"  # before the session that asks
CHANGES = "changes-"  # before the task whose change list is open
_QUESTIONS = 5  # sessions that ask by themselves; the others ask together
_BEFORE_NO = 300.0  # seconds before a question counts as no at which it is shown again
# Single events. The others end with their cause, and what was dismissed once would stay silent the next time.
_SETTLED = frozenset(
    {
        Need.FAILED,
        Need.LOST,
        Need.P0_SIGNAL,
        Need.P0_DISCOVERY,
        Need.TRIAGE,
        Need.PROGRESS,
        Need.RETIREMENT,
        Need.EXPIRED,
        Need.ROLLED_BACK,
    }
)


class Queue(NamedTuple):
    """What needs a person now, and what was put off and comes back by itself."""

    shown: tuple[Attention, ...]
    put_off: tuple[Attention, ...]


def collect(
    *,
    engine: EngineView,
    tasks: Iterable[TaskView],
    p0_signals: Iterable[Signal],
    p0_discoveries: Iterable[DiscoveryRow],
    spend: SpendView,
    problems: Iterable[Problem],
    progress: Iterable[Missing] = (),
    loop: LoopState | None = None,
    killed: str = "",
    approvals: Iterable[Approval] = (),
    facts: Iterable[FactState] = (),
    evolution: EvolutionView | None = None,
    retirements: Iterable[Retirement] = (),
    held: Iterable[tuple[str, Submission]] = (),
    overdue: Iterable[Overdue] = (),
    untriaged: Untriaged | None = None,
    changes: Iterable[OpenList] = (),
    now: float = 0.0,
) -> tuple[Attention, ...]:
    """Return all there is, most urgent first and oldest first within one urgency."""
    items = [*_engine(engine), *_killed(killed), *_spend(spend)]
    for approval in approvals:
        text = f"{approval.role} asks: {approval.summary}"
        need = Need.QUESTION if approval.question else Need.APPROVAL
        items.append(Attention(need, approval.id, text, approval.asked, closes=approval.expires))
    items += [Attention(Need.EXPIRED, question.id, question.text, question.since) for question in overdue]
    items += [item for view in tasks if (item := _task(view))]
    for signal in p0_signals:
        text = f"{signal.sender}: {signal.message}" if signal.sender else signal.message
        items.append(Attention(Need.P0_SIGNAL, signal.id, text, times.epoch(signal.created_at)))
    for row in p0_discoveries:
        items.append(Attention(Need.P0_DISCOVERY, row.node.id, row.node.title, row.created))
    items += [_changes(open_list) for open_list in changes]
    items += [_fact(state) for state in facts]
    items += _loop(loop)
    items += _triage(untriaged, now) if untriaged else []
    items += [Attention(Need.PROGRESS, signal_due.target, signal_due.text, signal_due.since) for signal_due in progress]
    items += [_held(name, submission) for name, submission in held]
    items += _evolution(evolution)
    for retirement in retirements:
        items.append(Attention(Need.RETIREMENT, retirement.target, retirement.text, role=retirement.role))
    items += [Attention(Need.PROBLEM, problem.where, f"{problem.where}: {problem.what}") for problem in problems]
    return in_order(items)


def in_order(items: Iterable[Attention]) -> tuple[Attention, ...]:
    """Return them most urgent first and oldest first within one urgency."""
    return tuple(sorted(items, key=lambda item: (_ORDER.index(item.need), item.since)))


def sift(needs: Iterable[Attention], dismissed: frozenset[str], day: str, now: float) -> Queue:
    """Return the list without what was dismissed (`dismissed`, the names), and what of that comes back by itself.

    `day` is the budget's, such as `2026-11-21`.
    """
    items, off = tuple(needs), _put_off(dismissed, day, now)
    return Queue(
        tuple(item for item in items if item.target not in dismissed and item.target not in off),
        tuple(
            msgspec.structs.replace(item, until=off[item.target])
            for item in items
            if item.target not in dismissed and item.target in off
        ),
    )


def until_tomorrow(target: str, day: str) -> str:
    """Return the name that snoozes a target to the end of a budget day (`2026-11-21`). ValueError for no day."""
    from datetime import date, timedelta  # only where somebody asks for it

    return f"{target}{_UNTIL}{date.fromisoformat(day) + timedelta(days=1)}"


def until_then(target: str, moment: float) -> str:
    """Return the name under which a target is snoozed until a moment, in seconds since 1970."""
    return f"{target}{_UNTIL}{times.iso(moment)}"


def unsnoozed(name: str) -> str:
    """Return the target in a name under which something was dismissed or snoozed."""
    target, _, until = name.rpartition(_UNTIL)
    return target if target and (_DAY.fullmatch(until) or _MOMENT.fullmatch(until)) else name


def can_wait(need: Attention) -> bool:
    """Return whether a need may be dismissed."""
    return need.need in _SETTLED or need.target.startswith("budget-warning-")  # named by its day


def put_off(need: Attention, day: str) -> tuple[str, str]:
    """Return the name under which a need is put off until the day after the budget's `day`, or why it cannot be."""
    if need.need in (Need.APPROVAL, Need.QUESTION, Need.ENGINE):
        return "", f"what is about the {need.need} cannot wait"
    try:
        return until_tomorrow(need.target, day), ""
    except ValueError:
        return "", "what day it is here is not known yet: try again in a moment"


def for_an_hour(need: Attention, now: float) -> tuple[float, str]:
    """For how many seconds a need can be put off, or why it cannot be. A question comes back before it counts as no."""
    if need.need is Need.ENGINE:
        return 0.0, "what is about the engine cannot wait"
    seconds = need.closes - now - _BEFORE_NO if need.closes else times.HOUR
    if seconds < _BEFORE_NO:
        return 0.0, "it expires too soon to be snoozed"
    return min(times.HOUR, seconds), ""


def _put_off(names: frozenset[str], day: str, now: float) -> dict[str, str]:
    """Return the targets that are snoozed until a day or a moment that has not come, with the latest one."""
    parts = sorted(name.rpartition(_UNTIL)[::2] for name in names if _UNTIL in name)
    return {target: until for target, until in parts if _to_come(until, day, now)}


def _to_come(until: str, day: str, now: float) -> bool:
    if _DAY.fullmatch(until):
        return bool(day) and day < until
    return bool(_MOMENT.fullmatch(until)) and now < times.epoch(until)


def _engine(engine: EngineView) -> list[Attention]:
    beat = engine.heartbeat
    since = times.epoch(beat.at) if beat else 0.0
    if engine.life in (EngineLife.LATE, EngineLife.HUNG):
        return [Attention(Need.ENGINE, "engine", f"the engine is {engine.life}: {engine.why}", since)]
    if engine.life is EngineLife.NONE and beat is not None and beat.phase != "stopped":
        text = f"the engine {engine.why}; `lumen-tui --engine-only` starts one"
        return [Attention(Need.ENGINE, "engine", text, since)]
    if beat is not None and beat.phase == "degraded" and engine.life is EngineLife.ALIVE:
        return [Attention(Need.ENGINE, "engine", f"the engine cannot work: {beat.note}", since)]
    return []


def _killed(words: str) -> list[Attention]:
    text = f"the agent is {words}; nothing starts until `unkill`"
    return [Attention(Need.ENGINE, "kill", text)] if words else []


def _spend(spend: SpendView) -> list[Attention]:
    """Return a full budget until there is room; a warning until somebody puts it aside, which holds for its day."""
    if spend.reached:
        waits = f"; {spend.waiting} wait{'s' if spend.waiting == 1 else ''} for room" if spend.waiting else ""
        return [Attention(Need.BUDGET, "budget", f"{'; '.join(spend.reached)}{waits}")]
    if spend.warned:
        return [Attention(Need.BUDGET, f"budget-warning-{spend.day}", spend.warned)]
    return []


def _loop(state: LoopState | None) -> list[Attention]:
    """Return an item for loops that failed, or for several in a row that changed nothing.

    Once dismissed, a run of such loops stays silent to its end.
    """
    if state is None:
        return []
    since = times.epoch(state.completed_at)
    if count := state.failed_loops:
        many = f"last {count} loops failed, the last one" if count > 1 else f"loop {state.loop} failed"
        text = f"the main agent's {many}: {state.health.note}"
        return [Attention(Need.LOOP, f"failed-{agent.task_id(state.loop - count + 1)}", text, since)]
    if (count := state.empty_loops) >= agent.EMPTY_LOOPS and state.rests_until:
        text = f"the main agent's last {count} loops changed nothing; it backs off longer each time"
        return [Attention(Need.LOOP, f"empty-{agent.task_id(state.loop - count + 1)}", text, since)]
    return []


def _evolution(view: EvolutionView | None) -> list[Attention]:
    """Return a changed constitution first of all, then what each session asks as one item; of many the rest as one."""
    if view is None:
        return []
    items = []
    if view.constitution:
        text = f"{view.constitution}; nothing is learnt ({view.diff})"
        items.append(Attention(Need.CONSTITUTION, "constitution", text))
    if (back := view.taken_back) is not None:
        text = f"a change of a role was taken back by itself: {back.reason}"
        items.append(Attention(Need.ROLLED_BACK, back.id, text, back.since))
    for question in view.questions[:_QUESTIONS]:
        many = "1 lesson" if question.entries == 1 else f"{question.entries} lessons"
        text = f"session {question.session[:8]} asks about {many}: {question.newest}"
        items.append(Attention(Need.PROPOSAL, f"{PROPOSALS}{question.session}", text, question.since))
    if more := view.questions[_QUESTIONS:]:
        text = f"{len(more)} more sessions ask about {sum(question.entries for question in more)} lessons"
        items.append(Attention(Need.PROPOSAL, PROPOSALS, text, more[0].since))
    return items


def _triage(untriaged: Untriaged, now: float) -> list[Attention]:
    """Return one item for all of them. It is named by its week: who puts it aside is asked again in the next one."""
    if not untriaged.count:
        return []
    many = "1 discovery waits" if untriaged.count == 1 else f"{untriaged.count:,} discoveries wait"
    oldest = times.age(now - untriaged.oldest)
    text = f"{many} for triage, the oldest for {oldest}"
    return [Attention(Need.TRIAGE, f"triage-{int(now // (7 * times.DAY))}", text, untriaged.oldest)]


def _changes(open_list: OpenList) -> Attention:
    many = f"{open_list.files:,} file{'' if open_list.files == 1 else 's'} +{open_list.added:,} -{open_list.removed:,}"
    task = ids.short(open_list.task_id)
    who = f"{open_list.role} ({task})" if open_list.role else f"task {task}"
    text = f"{who} changed {many}: {one_line(open_list.objective, _OBJECTIVE)}"
    return Attention(Need.CHANGES, f"{CHANGES}{open_list.task_id}", text, open_list.since)


def _held(name: str, submission: Submission) -> Attention:
    reasons = "; ".join(submission.reasons)
    return Attention(
        Need.RELAY,
        submission.id,
        f"{submission.by}'s text is held in {name}: {reasons}: “{submission.title}”",
        submission.since,
    )


def _fact(state: FactState) -> Attention:
    used = ", ".join(state.used_by)
    text = f"“{state.fact.title}” {state.denial}: {state.evidence} (used by {used})"
    return Attention(Need.FACT, state.fact.id, text, state.drifted)


OF_TASKS = {Status.FAILED: Need.FAILED, Status.LOST: Need.LOST, Status.STALLED: Need.STALLED}


def _task(view: TaskView) -> Attention | None:
    need = OF_TASKS.get(view.status)
    if need is None:
        return None
    reason = f": {view.reason}" if view.reason else ""
    since = view.last_event if need is Need.STALLED else view.finished
    objective = one_line(view.spec.objective, _OBJECTIVE)  # the reason is to be seen, too
    return Attention(need, view.id, f"{objective} {view.status}{reason}", since)
