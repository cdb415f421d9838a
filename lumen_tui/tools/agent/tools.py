"""The tools that only the main agent has, and create_task, the one with which it gives out work."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model import ids, times
from lumen_tui.model.agent import MOST_TASKS, ROLE, Act
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.model.tasks import Budget, Spec
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.roles import list_roles, load_role
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work import views
from lumen_tui.store.work.work_units import read_unit
from lumen_tui.tools.agent.notes import CHECKPOINT, DISCOVER, PROPOSE, REMEMBER, SIGNAL, once
from lumen_tui.tools.agent.report import DEPOSIT, SLEEP
from lumen_tui.tools.agent.scheduling import SCHEDULE, UNSCHEDULE
from lumen_tui.tools.base import AnyTool, Context, Tool, ToolError, ToolResult

_MOST_WAITING = 60  # tasks that are not archived, beyond which no more are made

_Text = Annotated[str, Meta(min_length=1, max_length=1000)]


class TaskArguments(Struct, frozen=True, forbid_unknown_fields=True):
    objective: Annotated[str, Meta(min_length=1, max_length=4000)]
    role: Annotated[str, Meta(max_length=64, description="who does it, of the roles in the briefing")] = "researcher"
    context: Annotated[str, Meta(max_length=20_000)] = ""
    constraints: Annotated[tuple[_Text, ...], Meta(max_length=20)] = ()
    wu_id: Annotated[str, Meta(max_length=20)] = ""
    depends_on: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    priority: Literal["P0", "P1", "P2", "P3"] = "P2"
    model: Annotated[
        Literal["", "haiku", "sonnet", "opus"],
        Meta(description="the tier, where the role's own is too small or too dear"),
    ] = ""
    lane: Annotated[str, Meta(max_length=100, description="the lane it counts in, a known one [the work unit's]")] = ""
    timeout_seconds: Annotated[float, Meta(ge=0, le=86_400, description="seconds, 0 for the role's")] = 0.0
    tokens: Annotated[
        int, Meta(ge=0, le=1_000_000_000, description="the most it may spend, 0 for no limit of its own")
    ] = 0
    usd: Annotated[float, Meta(ge=0, le=1_000_000, description="the same in dollars")] = 0.0


def create_task(context: Context, arguments: TaskArguments) -> ToolResult:
    role, lane = _known_role(context, arguments.role), _lane(context, arguments)
    for name in arguments.depends_on:
        _known_task(context, name)

    def make(key: str, before: list[Act]) -> str:
        _check_room(context, before)
        spec = Spec(
            id=task_files.id_for_key(key),
            objective=context.clean(arguments.objective).strip(),
            role=role,
            context=context.clean(arguments.context),
            constraints=tuple(context.clean(constraint) for constraint in arguments.constraints),
            wu_id=arguments.wu_id,
            lane=lane,
            model=arguments.model,
            timeout_seconds=arguments.timeout_seconds,
            budget=Budget(tokens=arguments.tokens, usd=arguments.usd),
            priority=arguments.priority,
            depends_on=arguments.depends_on,
            created_by=context.spec.id,
            order=context.spec.order,
            created_at=times.iso(context.now()),
            key=key,
        )
        try:
            task_files.add(context.store.layout, spec)
        except task_files.Taken:
            return spec.id  # an attempt that was killed before it could note this one
        return spec.id

    return once(context, "task", arguments, one_line(arguments.objective, 200), make)


def _check_room(context: Context, before: list[Act]) -> None:
    if sum(act.kind == "task" for act in before) >= MOST_TASKS:
        raise ToolError(
            f"this loop has created {MOST_TASKS} tasks, the most it may: deposit, and go on in the next loop"
        )
    waiting = sum(entry.is_dir() for entry in context.store.layout.tasks.iterdir())
    if waiting > _MOST_WAITING:
        raise ToolError(f"{waiting} tasks wait, run or failed already: wait for them before more are made")


def _known_role(context: Context, name: str) -> str:
    """Return the name of a role that may be given work, else raise ToolError."""
    layout = context.store.layout
    try:
        if name != ROLE:
            return load_role(layout, ids.check_name(name, "role")).name
    except (FileNotFoundError, BadFile, ValueError):
        pass
    known = ", ".join(role.name for role in list_roles(layout)[0] if role.name != ROLE)
    raise ToolError(f"no role {one_line(name, 60)!r} can be given work: one of {known}")


def _lane(context: Context, arguments: TaskArguments) -> str:
    """Return the lane that is named, else that of the work unit; nothing without either."""
    known = views.known_lanes(context.store.layout.root)
    if arguments.lane and arguments.lane not in known:
        names = ", ".join(known) or "none"
        raise ToolError(f"there is no lane {one_line(arguments.lane, 100)!r}; the known ones are: {names}")
    wu_id = arguments.wu_id
    if arguments.lane or not wu_id:
        return arguments.lane
    try:
        unit = read_unit(context.store.layout, wu_id)
    except (ids.BadId, BadFile, files.StoreError) as error:
        raise ToolError(str(error)) from error
    if unit is None:
        raise ToolError(f"there is no work unit {wu_id}")
    return one_line(unit.lane, 100)


def _known_task(context: Context, name: str) -> None:
    try:
        folder = task_files.folder_of(context.store.layout, name)
    except ids.BadId as error:
        raise ToolError(str(error)) from error
    if folder is None:
        raise ToolError(f"there is no task {one_line(name, 80)!r} to depend on")


CREATE_TASK = Tool(
    "create_task",
    f"Give a piece of work to a worker of a role; at most {MOST_TASKS} in one loop. It begins on its own; its result "
    "comes with a later loop's briefing. The same call twice makes one task.",
    TaskArguments,
    create_task,
    lambda a: f"create_task {a.role}: {a.objective}",
    request=NewTask,
)

AGENT_TOOLS: dict[str, AnyTool] = {
    tool.name: tool
    for tool in (CREATE_TASK, SIGNAL, REMEMBER, DISCOVER, CHECKPOINT, PROPOSE, SCHEDULE, UNSCHEDULE, SLEEP, DEPOSIT)
}


def tools_of(role: str, tools: dict[str, AnyTool]) -> dict[str, AnyTool]:
    """Return the tools there are for a role: only the main agent's sessions know those of the agent."""
    return {**tools, **AGENT_TOOLS} if role == ROLE else tools


def earlier(folder_acts: list[Act]) -> str:
    """Return what an attempt that was cut off had done, for the next one; empty where there is nothing."""
    if not folder_acts:
        return ""
    lines = [f"- {act.kind} {act.id}: {one_line(act.text, 120)}" for act in folder_acts]
    return "An earlier attempt at this loop was cut off. It had done this already:\n" + "\n".join(lines)
