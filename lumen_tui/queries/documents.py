"""What is answered as JSON, by the command line and by servers alike: status and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model import times
from lumen_tui.model.skills import read_in
from lumen_tui.model.tasks import STATES, Status, TaskView, live_ones, tally
from lumen_tui.model.text import one_line, safe, safe_all
from lumen_tui.queries.task_costs import costs
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.task_records import newest_events

if TYPE_CHECKING:
    from lumen_tui.model.queueing import QueueConditions
    from lumen_tui.model.snapshot import Snapshot
    from lumen_tui.model.task_cost import TaskCost

Document = dict[str, object]


def open_tasks(snapshot: Snapshot) -> list[TaskView]:
    """Return the tasks that are queued or have a worker."""
    return [view for view in live_ones(snapshot.tasks) if view.status.alive or view.status is Status.QUEUED]


def status_document(layout: Layout, snapshot: Snapshot, now: float) -> Document:
    """Return what `status` answers."""
    from lumen_tui.model.agentstate import agent_status

    counts, every = tally(snapshot.tasks), open_tasks(snapshot)
    took = costs(layout, every, now)
    status = agent_status(snapshot, now)
    return {
        "state": snapshot.root,
        "agent": {
            "state": status.state.value,
            "detail": status.words(now),
            "reason": status.reason,
            "until": times.iso(status.until) if status.until else "",
        },
        "engine": snapshot.engine.life.value,
        "loop": snapshot.loop.loop if snapshot.loop else 0,
        **{name: counts[state] for state, name in STATES.items()},
        "tasks": [_task_at_work(view, took[view.id]) for view in every],
        "upcoming": [{"name": one.name, "at": times.iso(one.at)} for one in snapshot.upcoming],
        "unread": snapshot.unread,
        "discoveries": len(snapshot.discoveries),
        "held_back": held_back(snapshot),
        "spend": snapshot.spend,
        "killed": snapshot.killed,
        "paused": snapshot.paused,
        "attention": snapshot.attention,
        "snoozed": snapshot.snoozed,
        "problems": snapshot.problems,
    }


def _task_at_work(view: TaskView, cost: TaskCost) -> Document:
    spec = view.spec
    ids = {"id": view.id, "parent": spec.parent, "work_unit": spec.wu_id}
    return {**ids, "state": view.state, "role": spec.role, "objective": spec.objective, "cost": cost.fields()}


def held_back(snapshot: Snapshot) -> list[str]:
    """Return why nothing or not everything starts: who killed or paused what and why, and how to resume."""
    reasons = [f"nothing starts: it is {snapshot.killed}; `lumen-tui unkill` resumes it"] if snapshot.killed else []
    for name, how in snapshot.paused.items():
        whole = name == "everything"
        scope = "" if whole else f" {name.removeprefix('the ')}"
        reasons.append(f"{'nothing starts: ' if whole else ''}{name} is {how}; `lumen-tui resume{scope}` resumes it")
    return [*reasons, *_reached(snapshot)]


def _reached(snapshot: Snapshot) -> list[str]:
    """Return a line for each used-up cap: the day's holds back all use of models, a role's that role."""
    if full := snapshot.spend.full:
        from lumen_tui.model.snapshot import Need

        need = next((need.text for need in snapshot.attention if need.need is Need.BUDGET), full)
        return [f"nothing that uses a model starts: {need}"]
    return [
        f"role {one_line(role, 64)} starts nothing that uses a model: {reason}"
        for role, reason in snapshot.spend.full_roles.items()
    ]


def waiting(view: TaskView, standing: QueueConditions) -> TaskView:
    """Return the task with every reason for which it waits."""
    from lumen_tui.model import queueing

    return msgspec.structs.replace(view, reason=queueing.why(view, standing))


def task_document(view: TaskView) -> Document:
    """Return what lists of tasks answer for each."""
    return {
        **msgspec.to_builtins(view.spec),
        "status": view.status.value,
        "attempt": view.attempt,
        "verdict": str(view.verdict or ""),
        "acceptance": msgspec.to_builtins(view.acceptance),
        "reason": view.reason,
        "brain": view.brain,
        "usage": msgspec.to_builtins(view.usage),
        "archived": view.archived,
        "waits_for": list(view.waits_for),
    }


def whole_task(
    layout: Layout, view: TaskView, folder: Path | None, now: float, cost: TaskCost | None = None
) -> Document:
    """Return what `task show` answers: the same with its cost, where that is known already, session, skills, result."""
    cost = cost or costs(layout, [view], now)[view.id]
    ended = task_files.read_exit(folder) if folder else None
    return {
        **task_document(view),
        "cost": cost.fields(),
        "session": ended.session if ended else "",
        "skills": list(read_in(newest_events(folder)) if folder else ()),
        "result": result_text(folder),
    }


def result_text(folder: Path | None) -> str:
    """Return the result of a task; empty where there is none."""
    data = files.read(folder / "result.md") if folder else None
    return safe((data or b"").decode(errors="replace"))


class SettledDocument(dict[str, object]):
    """A document that stays as it is, so that its JSON is made once."""

    data: bytes | None = None


def encoded(document: Mapping[str, object]) -> bytes:
    """Return a document as JSON, every text in it safe."""
    if not isinstance(document, SettledDocument):
        return _encoded(document)
    if document.data is None:
        document.data = _encoded(document)
    return document.data


def _encoded(document: Mapping[str, object]) -> bytes:
    try:
        data = msgspec.json.encode(document)
        return data if _has_only_plain_letters(data) else msgspec.json.encode(plain(document))
    except UnicodeEncodeError:  # half a character, which `safe` replaces
        return msgspec.json.encode(plain(document))


def plain(document: Mapping[str, object]) -> Document:
    """Return a document as dicts, lists, numbers and texts, every text in it safe."""
    built: Document = msgspec.to_builtins(document, str_keys=True)
    try:
        if _has_only_plain_letters(msgspec.json.encode(built)):
            return built
    except UnicodeEncodeError:
        pass
    return {name: safe_all(value) for name, value in built.items()}


def _has_only_plain_letters(data: bytes) -> bool:
    """Return whether no text of a JSON document needs a look of its own, as in most: it has nothing but plain letters.

    A pair of escapes that does not begin where it seems to leaves its backslash behind, and the look is taken.
    """
    if not data.isascii() or b"\x7f" in data:
        return False
    return b"\\" not in data or b"\\" not in data.replace(b"\\n", b"").replace(b'\\"', b"")
