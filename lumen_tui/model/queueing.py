"""Why a task that could go on does not, and what lifts that. Pure: everything it goes by is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from lumen_tui.model import agent, ids, lanes, times
from lumen_tui.model.config import LanesConfig
from lumen_tui.model.hosting import NO_HOSTS, HostBook, place
from lumen_tui.model.tasks import Status, TaskView


def in_lanes(alive: Iterable[TaskView]) -> dict[str, tuple[str, ...]]:
    """Who is at work in which lane. Tasks on one work unit have one place together; a task on none has its own."""
    units: dict[str, set[str]] = {}
    for view in alive:
        if view.spec.lane:
            units.setdefault(lanes.key(view.spec.lane), set()).add(view.spec.wu_id or view.id)
    return {lane: tuple(sorted(names)) for lane, names in units.items()}


def lane_full(view: TaskView, taken: Mapping[str, Sequence[str]], rules: LanesConfig) -> str:
    """Return why the task has no place in its lane now; nothing where it has."""
    at_work = taken.get(lanes.key(view.spec.lane), ()) if view.spec.lane else ()
    limit = rules.limit(view.spec.lane)
    if len(at_work) < limit or (view.spec.wu_id or view.id) in at_work:
        return ""
    held = ", ".join(ids.short(name) for name in at_work[:3])
    return f"lane {view.spec.lane} has {len(at_work)} at work ({held}), and its limit is {limit}"


class QueueConditions(Struct, frozen=True):
    """What may hold tasks back at one moment. Texts say who did what and why; empty ones hold nothing back."""

    engine: str = ""  # why nothing is started at all
    killed: str = ""
    paused: dict[str, str] = field(default_factory=dict)  # everything, the loop, `role NAME` -> by whom and why
    limit: int = 0  # workers at the same time; 0: not known
    alive: dict[str, int] = field(default_factory=dict)  # workers by role, without the main agent's session
    at_once: dict[str, int] = field(default_factory=dict)  # by role, where its limit is not the engine's
    in_lanes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # who is at work, as the function has it
    lanes: LanesConfig = field(default_factory=LanesConfig)
    retired: tuple[str, ...] = ()
    full: str = ""  # why today's budget has no room
    full_roles: dict[str, str] = field(default_factory=dict)  # the same of single roles
    hosts: HostBook = NO_HOSTS
    next_day: float = 0.0  # when the next day of the budget begins, in seconds since 1970; 0: not known


class Wait(NamedTuple):
    """One reason: in two or three words for a list, and in a sentence."""

    short: str
    words: str


NOTHING_KNOWN = QueueConditions()


def waits(view: TaskView, conditions: QueueConditions) -> list[Wait]:
    """Every reason why a queued task does not start, what holds most back first. Empty: the next beat starts it."""
    return list(_waits(view, conditions)) if view.status is Status.QUEUED else []


def why(view: TaskView, conditions: QueueConditions) -> str:
    """The reasons in one sentence, for a queued task and for one that waits for budget; else what the task says."""
    if view.awaits_budget:
        return f"{view.reason}; {lifts(conditions)}" if view.reason else lifts(conditions)
    return "; ".join([*(wait.words for wait in waits(view, conditions)), *([view.reason] if view.reason else [])])


def lifts(conditions: QueueConditions) -> str:
    """Return what makes room in a budget that is used up."""
    day = f" or at {times.time_of_day(conditions.next_day)}, when its next day begins" if conditions.next_day else ""
    return f"it resumes once today's cap is raised (`lumen-tui budget raise`, $ in the room){day}"


def _waits(view: TaskView, conditions: QueueConditions) -> Iterator[Wait]:
    role = view.spec.role
    if conditions.killed:
        yield Wait("killed", f"the agent is {conditions.killed}; `unkill` resumes it")
    for name, short in (("everything", "all paused"), (f"role {role}", "role paused")):
        if name in conditions.paused:
            yield Wait(short, f"{name} is {conditions.paused[name]}")
    for name, words in conditions.paused.items():
        if name.startswith("provider "):
            yield Wait("provider closed", f"{name} is {words}")
    if role == agent.ROLE and "the loop" in conditions.paused:
        yield Wait("loop paused", f"the loop is {conditions.paused['the loop']}")
    if role in conditions.retired:
        yield Wait("role fired", f"role {role} was fired: hire it again, or cancel the task")
    if view.waits_for:
        names = ", ".join(view.waits_for)
        yield Wait(f"after {ids.short(view.waits_for[0])}", f"it begins after {names} is done")
    if view.spec.host and not view.host and (short := (where := place(view.spec, conditions.hosts)).short):
        yield Wait(short, where.words)
    if not view.claimed and (full := conditions.full or conditions.full_roles.get(role, "")):
        yield Wait("budget full", f"{full}; {lifts(conditions)}")
    yield from _crowded(view, conditions)
    if not view.claimed and (words := lane_full(view, conditions.in_lanes, conditions.lanes)):
        yield Wait("lane busy", words)
    if conditions.engine:
        yield Wait("no engine", conditions.engine)


def _crowded(view: TaskView, conditions: QueueConditions) -> Iterator[Wait]:
    """Yield the limits of workers. The main agent's session takes no worker's place, and one on a host none here."""
    role = view.spec.role
    if role == agent.ROLE:
        return
    most, now = conditions.at_once.get(role, 0), conditions.alive.get(role, 0)
    if 0 < most <= now:
        yield Wait("role busy", f"role {role} has {now} at work, and its limit is {most}")
    busy = sum(conditions.alive.values()) - sum(conditions.hosts.busy.values())
    if not view.spec.host and 0 < conditions.limit <= busy:
        yield Wait("workers busy", f"{busy} workers are at work, and the limit is {conditions.limit}")
