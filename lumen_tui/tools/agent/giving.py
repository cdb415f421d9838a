"""Work given to others: create_task, and cancel_task and retry_task for what was given out.

The main agent has them; another role where its `tools` name them: then what it orders is a sub-task of its own task.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model import ids
from lumen_tui.model.acceptance import MOST
from lumen_tui.model.agent import MOST_TASKS, ROLE, Act
from lumen_tui.model.requests.tasks import CancelTask, NewTask, RetryTask
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.store.settings.roles import list_roles, load_role
from lumen_tui.store.work import views
from lumen_tui.store.work.work_units import read_unit
from lumen_tui.tools.agent.carrying import carry_out, made_of
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult

_MOST_WAITING = 60  # tasks that are not archived, beyond which no more are made

_Text = Annotated[str, Meta(min_length=1, max_length=1000)]
_Task = Annotated[str, Meta(min_length=1, max_length=64, description="such as tsk-7f2k9c0w4h1zt")]
_Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000, description="the most it may spend [no limit of its own]")]
_Usd = Annotated[float, Meta(ge=0, le=1_000_000, description="the same in dollars")]


class TaskArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    objective: Annotated[str, Meta(min_length=1, max_length=4000)]
    role: Annotated[str, Meta(max_length=64, description="of the roles that can be given work")] = "researcher"
    context: Annotated[str, Meta(max_length=20_000)] = ""
    constraints: Annotated[tuple[_Text, ...], Meta(max_length=20)] = ()
    folder: Annotated[str, Meta(max_length=1000, description="a whole path, from which relative names count")] = ""
    isolate: Annotated[
        Literal["", "worktree", "copy"],
        Meta(description="work in a folder of its own and hand in a change list [as its role says]"),
    ] = ""
    accept: Annotated[tuple[_Text, ...], Meta(max_length=MOST)] = ()
    wu_id: Annotated[str, Meta(max_length=20)] = ""
    depends_on: Annotated[tuple[str, ...], Meta(max_length=20)] = ()
    priority: Literal["P0", "P1", "P2", "P3"] = "P2"
    model: Annotated[
        Literal["", "haiku", "sonnet", "opus"],
        Meta(description="where the role's own is too small or too dear"),
    ] = ""
    lane: Annotated[str, Meta(max_length=100, description="a known lane [the work unit's]")] = ""
    timeout_seconds: Annotated[float, Meta(ge=0, le=86_400, description="[as its role says]")] = 0.0
    tokens: _Tokens = 0
    usd: _Usd = 0.0


class CancelArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    task_id: _Task
    reason: Annotated[str, Meta(min_length=1, max_length=400)]


class RetryArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    task_id: _Task
    tokens: Annotated[int, Meta(ge=0, le=1_000_000_000, description="another limit")] = 0
    usd: _Usd = 0.0


def create_task(context: Context, arguments: TaskArguments) -> ToolResult:
    role, lane = _known_role(context, arguments.role), _lane(context, arguments)

    def ask(key: str, before: list[Act]) -> NewTask:
        _must_have_room(context, before)
        return NewTask(
            objective=context.clean(arguments.objective).strip(),
            role=role,
            context=context.clean(arguments.context),
            constraints=tuple(context.clean(constraint) for constraint in arguments.constraints),
            folder=context.clean(arguments.folder),
            isolate=arguments.isolate,
            accept=tuple(context.clean(check) for check in arguments.accept),
            wu_id=arguments.wu_id,
            lane=lane,
            model=arguments.model,
            timeout_seconds=arguments.timeout_seconds,
            budget={"tokens": arguments.tokens, "usd": arguments.usd},
            priority=arguments.priority,
            depends_on=arguments.depends_on,
            key=key,
        )

    return carry_out(context, "task", arguments, one_line(arguments.objective, 200), ask)


def _must_have_room(context: Context, before: list[Act]) -> None:
    most = MOST_TASKS if context.role.name == ROLE else context.role.limits.subtasks
    if made_of(before, "task") >= most:
        creator, advice = (
            ("loop", "deposit, and go on in the next loop")
            if context.role.name == ROLE
            else ("task", "do the rest yourself, or say in the result what is left")
        )
        raise ToolError(f"this {creator} has created {most} tasks, the most it may: {advice}")
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


def cancel_task(context: Context, arguments: CancelArguments) -> ToolResult:
    def ask(key: str, before: list[Act]) -> CancelTask:
        return CancelTask(task_id=arguments.task_id, reason=context.clean(arguments.reason).strip())

    return carry_out(context, "cancel", arguments, f"{arguments.task_id}: {arguments.reason}", ask)


def retry_task(context: Context, arguments: RetryArguments) -> ToolResult:
    def ask(key: str, before: list[Act]) -> RetryTask:
        _must_have_room(context, before)
        caps = {name: value for name in ("tokens", "usd") if (value := getattr(arguments, name))}
        return RetryTask(task_id=arguments.task_id, budget=caps or None, key=key)

    return carry_out(context, "task", arguments, f"{arguments.task_id} again", ask)


CREATE_TASK = Tool(
    "create_task",
    "Give a piece of work to a worker of a role; it begins on its own, and its result comes later. A loop gives out at "
    f"most {MOST_TASKS}. A task may give out what its role says: that costs of its own limit and is cancelled with it. "
    "Without accept, done is the worker's word. To have results put together, create a task that depends on those that "
    "make them. The same call twice makes one.",
    TaskArguments,
    create_task,
    lambda a: f"create_task {a.role}: {a.objective}",
    request=NewTask,
    effect=Effect.NONE,
)
CANCEL_TASK = Tool(
    "cancel_task",
    "Stop a task that runs, or keep one from beginning, where its result is no longer wanted. Its sub-tasks end with "
    "it. What the operator ordered is refused.",
    CancelArguments,
    cancel_task,
    lambda a: f"cancel_task {a.task_id}: {a.reason}",
    request=CancelTask,
    effect=Effect.NONE,
)
RETRY_TASK = Tool(
    "retry_task",
    "Queue a task that ended again, as it was, where the cause is gone or the limit was too low. Where the task itself "
    "was wrong, create another one. It counts as one that you create.",
    RetryArguments,
    retry_task,
    lambda a: f"retry_task {a.task_id}",
    request=RetryTask,
    effect=Effect.NONE,
)
