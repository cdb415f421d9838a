"""What the main agent schedules for itself: follow-ups and repeated work, within the bounds of [scheduling]."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import agent, times
from lumen_tui.model.acceptance import MOST
from lumen_tui.model.agent import Act
from lumen_tui.model.ids import short_hash
from lumen_tui.model.requests.schedules import AddSchedule, RemoveSchedule
from lumen_tui.model.schedules import Schedule, ScheduleError, ScheduleSource
from lumen_tui.model.text import one_line
from lumen_tui.store.schedules import checking, schedules, timing
from lumen_tui.store.schedules.schedules import Known
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.tools.agent.notes import once
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult

_Check = Annotated[str, Meta(min_length=1, max_length=1000)]


class ScheduleArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,63}$", description="such as check-deploy")]
    when: Annotated[
        str,
        Meta(
            min_length=4,
            max_length=100,
            description="once: `in 2h`, `at 2026-11-24 09:00`; again and again: `every 90m`, or five cron fields such "
            "as `0 9 * * 1-5`",
        ),
    ]
    text: Annotated[str, Meta(min_length=1, max_length=4000, description="what you are told, or the objective")]
    makes: Annotated[
        Literal["wake", "task"], Meta(description="wake: you are woken with text; task: a worker gets it")
    ] = "wake"
    role: Annotated[str, Meta(max_length=64, description="who does the task")] = "researcher"
    accept: Annotated[
        tuple[_Check, ...], Meta(max_length=MOST, description="of a task: what proves it done, as in create_task")
    ] = ()
    folder: Annotated[
        str, Meta(max_length=1000, description="of a task: a whole path, from which relative names count")
    ] = ""
    zone: Annotated[str, Meta(max_length=64, description="such as Europe/Berlin")] = ""


class UnscheduleArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=80)]


def schedule(context: Context, arguments: ScheduleArguments) -> ToolResult:
    roles = [role.name for role in list_roles(context.store.layout)[0] if role.name != agent.ROLE]
    if arguments.makes == "task" and arguments.role not in roles:
        raise ToolError(f"no role {one_line(arguments.role, 60)!r} can be given work: one of {', '.join(roles)}")

    folder = context.clean(arguments.folder)
    if folder and arguments.makes != "task":
        raise ToolError("folder is what a task is about: leave it out, or say makes=task")
    if folder and not (os.path.isabs(folder) and os.path.isdir(folder)):
        raise ToolError(f"there is no folder {one_line(folder, 200)!r}: name one by its whole path")

    def add(key: str, before: list[Act]) -> str:
        now, config = context.now(), load_config(context.store.layout)[0].scheduling
        new = Schedule(
            id=f"sch-{short_hash(key)}",
            name=arguments.name,
            text=context.clean(arguments.text).strip(),
            when=arguments.when,
            zone=arguments.zone,
            makes=arguments.makes,
            role=arguments.role,
            accept=tuple(context.clean(check) for check in arguments.accept),
            folder=folder,
            usd=config.agent_usd if arguments.makes == "task" else 0.0,
            source=ScheduleSource.AGENT,
            created_by=agent.ROLE,
            created_at=times.iso(now),
        )

        def decide(known: Known) -> list[Schedule]:
            return [] if new.id in known else [checking.checked(new, now, config, known.values())]

        try:
            schedules.change(context.store.layout, decide)
        except ScheduleError as error:
            raise ToolError(str(error)) from error
        return new.id

    result = once(context, "schedule", arguments, f"{arguments.name}: {arguments.when}", add)
    stored = schedules.read(context.store.layout)[str(result.data["id"])]
    first = timing.next_time(stored, context.now())
    ahead = f"; it is due first {times.stamp(first)}" if first < float("inf") else ""
    return msgspec.structs.replace(result, text=f"{result.text}{ahead}")


def unschedule(context: Context, arguments: UnscheduleArguments) -> ToolResult:
    def decide(known: Known) -> list[Schedule]:
        before = checking.find(known.values(), arguments.name)
        if before.source is not ScheduleSource.AGENT:
            raise ScheduleError(f"{before.name} is a person's: you remove your own only")
        return [schedules.removed(before, context.now())]

    def remove(key: str, before: list[Act]) -> str:
        try:
            return schedules.change(context.store.layout, decide)[0].id
        except ScheduleError as error:
            raise ToolError(str(error)) from error

    return once(context, "removal of schedule", arguments, arguments.name, remove)


SCHEDULE = Tool(
    "schedule",
    "Have yourself woken, or a task given to a worker, at a time to come. Use it for what cannot be done now and no "
    "news will bring. The number, the interval and the runs of a day are bounded: a refusal names the bound.",
    ScheduleArguments,
    schedule,
    lambda a: f"schedule {a.name}, {a.when}: {a.text}",
    request=AddSchedule,
    effect=Effect.NONE,
)
UNSCHEDULE = Tool(
    "unschedule",
    "Remove a schedule that you made. What it made stays. Those of people cannot be removed.",
    UnscheduleArguments,
    unschedule,
    lambda a: f"unschedule {a.name}",
    request=RemoveSchedule,
    effect=Effect.NONE,
)
