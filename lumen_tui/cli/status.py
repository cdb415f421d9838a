"""What `status` answers: the state folder as the room would show it, in lines."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.cli.session import Session, document, say
from lumen_tui.engine.health import without_model
from lumen_tui.model import times
from lumen_tui.model.agentstate import AgentState, agent_status
from lumen_tui.model.budget import dollars
from lumen_tui.model.ids import KINDS
from lumen_tui.model.snapshot import Need
from lumen_tui.model.tasks import tally, tally_words
from lumen_tui.model.text import one_line
from lumen_tui.queries.documents import held_back, open_tasks, status_document
from lumen_tui.queries.task_costs import costs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lumen_tui.model.snapshot import Attention, Snapshot
    from lumen_tui.model.spendbook import SpendView

_ALWAYS = frozenset({"running", "queued"})
_MOST_NAMED = 8  # tasks


def status(session: Session, args: Namespace) -> int:
    """Print the line of status with what is at work and what needs a person; with `--short` state and counts alone."""
    snapshot = session.snapshot()
    if args.json:
        document(status_document(session.layout, snapshot, session.now))
        return 0
    if args.short:
        say(_short_line(snapshot))
        return 0
    say(_status_line(snapshot, session.now))
    for reason in held_back(snapshot):
        say(f"  {reason}")
    if snapshot.spend.unknown_tokens:
        say(f"  {_unknown(snapshot.spend)}")
    for problem in without_model(snapshot):
        say(f"  {problem}")
    if snapshot.upcoming:
        ahead = snapshot.upcoming[0]
        say(f"  next: schedule {ahead.name}, {times.dated(ahead.at, session.now)}")
    for line in _at_work(session, snapshot):
        say(f"  {line}")
    for need in snapshot.attention:
        if not _is_shown_above(need):
            say(f"  {_with_id(need)}")
    return 0


def _at_work(session: Session, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each task that waits or runs: its id, its state, and what it took so far."""
    every = open_tasks(snapshot)
    took = costs(session.layout, every[:_MOST_NAMED], session.now)
    for view in every[:_MOST_NAMED]:
        cost = took[view.id]
        used = f" ({words})" if (words := cost.progress.words()) else ""
        spent = f", {cost.words()}" if cost.attempts else ""
        yield f"{view.id}  {view.state}{used}{spent}: {view.spec.role}: {one_line(view.spec.objective, 100)}"
    if len(every) > _MOST_NAMED:
        yield f"… and {len(every) - _MOST_NAMED} more: `lumen-tui task list`"


def _with_id(need: Attention) -> str:
    """Return what needs a person, behind the id of what it is about where it has one."""
    named = need.target and need.target not in need.text and need.target.partition("-")[0] in (*KINDS, "loop", "WU")
    return f"{need.target}  {need.text}" if named else need.text


def _is_shown_above(need: Attention) -> bool:
    """Return whether the lines on held-back work name it already: the kill switch, a full budget."""
    return (need.need, need.target) in ((Need.ENGINE, "kill"), (Need.BUDGET, "budget"))


def _unknown(spend: SpendView) -> str:
    """Return a sentence on the unknown part of today's cost, from workers that ended within a call."""
    return (
        f"of today's {dollars(spend.usd)}, {dollars(spend.unknown_usd, spend.usd)} is unknown and counted in full: "
        "workers ended in the middle of a call (`lumen-tui budget` lists them)"
    )


def _status_line(snapshot: Snapshot, now: float) -> str:
    state = agent_status(snapshot, now)
    beat = snapshot.engine.heartbeat
    detail = state.words(now)
    if state.state is AgentState.DOWN and state.reason:
        detail += f" ({state.reason})"
    count = len(snapshot.discoveries)
    parts = [f"{state.state}{' ' if detail else ''}{detail}", *tally_words(tally(snapshot.tasks), always=_ALWAYS)]
    parts += [f"{snapshot.unread} unread", "1 discovery" if count == 1 else f"{count} discoveries"]
    need = len(snapshot.attention)
    parts.append(f"{need} need{'s' if need == 1 else ''} you")
    parts += [f"{len(snapshot.snoozed)} snoozed"] if snapshot.snoozed else []
    parts += [f"last beat {times.ago(now - times.epoch(beat.at))}"] if beat and beat.at else []
    return " · ".join(parts)


def _short_line(snapshot: Snapshot) -> str:
    """Return the agent's state and counts, without a word that comes from elsewhere."""
    counts, need = tally(snapshot.tasks), len(snapshot.attention)
    parts = [str(agent_status(snapshot, snapshot.taken).state), *tally_words(counts, always=frozenset({"running"}))]
    return " · ".join([*parts, *([f"{need} need{'s' if need == 1 else ''} you"] if need else [])])
