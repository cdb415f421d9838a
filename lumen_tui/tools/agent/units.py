"""Planning: work units made, split and moved on, and discoveries judged. The main agent plans, and the role planner."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model.agent import Act
from lumen_tui.model.kinds import WORK_UNIT_TYPES
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.model.requests.work import (
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    NewWorkUnit,
    ReleaseWorkUnit,
    SplitWorkUnit,
    UnblockWorkUnit,
)
from lumen_tui.model.text import one_line
from lumen_tui.tools.agent.carrying import UNIT, carry_out
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult

_Unit = Annotated[str, Meta(min_length=4, max_length=20, description="such as WU-042")]
_Title = Annotated[str, Meta(min_length=1, max_length=200, description="one line")]
_Condition = Annotated[str, Meta(min_length=1, max_length=1000)]
_Conditions = Annotated[
    tuple[_Condition, ...],
    Meta(max_length=30, description="what must be so before it is done, each so that somebody can check it"),
]
_Body = Annotated[str, Meta(max_length=20_000, description="all that who works on it must know")]
_Lane = Annotated[str, Meta(max_length=100)]
_Discovery = Annotated[str, Meta(min_length=1, max_length=64)]


class UnitArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    title: _Title
    body: _Body = ""
    acceptance: _Conditions = ()
    lane: _Lane = ""
    depends_on: Annotated[tuple[_Unit, ...], Meta(max_length=20, description="work units that must be done first")] = ()
    type: Literal[WORK_UNIT_TYPES] = "task"  # type: ignore[valid-type]
    priority: Literal["P0", "P1", "P2", "P3"] = "P2"


class PartArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    title: _Title
    body: _Body = ""
    acceptance: _Conditions = ()
    lane: _Lane = ""


class SplitArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    wu_id: _Unit
    parts: Annotated[
        tuple[PartArguments, ...],
        Meta(min_length=2, max_length=20, description="as in create_unit; without a lane it is that of the whole"),
    ]
    in_order: bool = False


class MoveArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    wu_id: _Unit
    action: Annotated[
        Literal["claim", "release", "block", "unblock", "close"],
        Meta(description="block needs a reason; close means that it is done"),
    ]
    reason: Annotated[str, Meta(max_length=400, description="one line")] = ""


class JudgeArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    ids: Annotated[tuple[_Discovery, ...], Meta(min_length=1, max_length=20, description="their ids")]
    verdict: Annotated[
        Literal["promote", "archive", "merge", "postpone"],
        Meta(description="promote: a work unit of each; merge: close them in favour of `into`"),
    ]
    reason: Annotated[str, Meta(min_length=1, max_length=400, description="for the person who reads it later")]
    lane: Annotated[str, Meta(max_length=100, description="of promote")] = ""
    title: Annotated[str, Meta(max_length=200, description="of promote, for one [its first line]")] = ""
    into: Annotated[str, Meta(max_length=64, description="of merge: which stays")] = ""
    days: Annotated[float, Meta(gt=0, le=365, description="of postpone")] = 7.0


def create_unit(context: Context, arguments: UnitArguments) -> ToolResult:
    def ask(key: str, before: list[Act]) -> NewWorkUnit:
        return NewWorkUnit(
            title=context.clean(arguments.title),
            body=context.clean(arguments.body),
            acceptance=tuple(map(context.clean, arguments.acceptance)),
            lane=context.clean(arguments.lane),
            depends_on=arguments.depends_on,
            type=arguments.type,
            priority=arguments.priority,
            key=key,
        )

    return carry_out(context, UNIT, arguments, one_line(arguments.title, 200), ask)


def split_unit(context: Context, arguments: SplitArguments) -> ToolResult:
    parts = [
        {
            "title": context.clean(part.title),
            "body": context.clean(part.body),
            "acceptance": tuple(map(context.clean, part.acceptance)),
            "lane": context.clean(part.lane),
        }
        for part in arguments.parts
    ]

    def ask(key: str, before: list[Act]) -> SplitWorkUnit:
        return SplitWorkUnit(wu_id=arguments.wu_id, parts=parts, in_order=arguments.in_order, key=key)

    return carry_out(context, UNIT, arguments, f"{arguments.wu_id} split", ask, count=len(parts))


def update_unit(context: Context, arguments: MoveArguments) -> ToolResult:
    unit, reason = arguments.wu_id.upper(), context.clean(arguments.reason).strip()
    if arguments.action == "block" and not reason:
        raise ToolError("to block a work unit needs a reason: say what it waits for")
    requests: dict[str, Request] = {
        "claim": ClaimWorkUnit(wu_id=unit),
        "release": ReleaseWorkUnit(wu_id=unit, reason=reason),
        "block": BlockWorkUnit(wu_id=unit, reason=reason),
        "unblock": UnblockWorkUnit(wu_id=unit),
        "close": FinishWorkUnit(wu_id=unit),
    }

    def ask(key: str, before: list[Act]) -> Request:
        return requests[arguments.action]

    return carry_out(context, "change", arguments, f"{arguments.action} {unit}", ask, about=unit)


def judge_discoveries(context: Context, arguments: JudgeArguments) -> ToolResult:
    request = _judgement(context, arguments)

    def ask(key: str, before: list[Act]) -> Request:
        return request

    text = f"{arguments.verdict} {', '.join(arguments.ids)}: {arguments.reason}"
    return carry_out(context, "judgement", arguments, one_line(text, 200), ask)


def _judgement(context: Context, arguments: JudgeArguments) -> Request:
    chosen, reason = list(arguments.ids), context.clean(arguments.reason).strip()
    if arguments.verdict == "promote":
        if not arguments.lane.strip():
            raise ToolError("promote needs a lane: name where the work units go")
        lane, title = context.clean(arguments.lane), context.clean(arguments.title)
        return PromoteDiscoveries(node_ids=chosen, lane=lane, title=title, reason=reason)
    if arguments.verdict == "merge":
        if not arguments.into:
            raise ToolError("merge needs `into`: the id of the discovery that stays")
        return MergeDiscoveries(node_ids=chosen, into=arguments.into, reason=reason)
    if arguments.verdict == "postpone":
        return PostponeDiscoveries(node_ids=chosen, days=arguments.days)
    return ArchiveDiscoveries(node_ids=chosen, reason=reason)


CREATE_UNIT = Tool(
    "create_unit",
    "Make a work unit: something worth doing that takes more than one task or waits for something. A single piece of "
    "work that can begin now is a task. You get its id; the same call twice makes one.",
    UnitArguments,
    create_unit,
    lambda a: f"create_unit {a.title}",
    request=NewWorkUnit,
    effect=Effect.NONE,
)
SPLIT_UNIT = Tool(
    "split_unit",
    "Make work units of the parts of one that is too large. It waits for all of them, and is closed by itself later. "
    "Not for one that somebody works on.",
    SplitArguments,
    split_unit,
    lambda a: f"split_unit {a.wu_id} into {len(a.parts)}",
    request=SplitWorkUnit,
    effect=Effect.NONE,
)
UPDATE_UNIT = Tool(
    "update_unit",
    "Claim, release, block, unblock or close a work unit. Close it only on evidence that each condition of its "
    "acceptance holds. What another holds, or an open unit blocks, is refused with the reason.",
    MoveArguments,
    update_unit,
    lambda a: f"update_unit {a.wu_id}: {a.action}",
    effect=Effect.NONE,
)
JUDGE_DISCOVERIES = Tool(
    "judge_discoveries",
    "Say what becomes of discoveries. Read them whole before. Proposals are for a person to judge, and are refused.",
    JudgeArguments,
    judge_discoveries,
    lambda a: f"judge_discoveries {a.verdict} {', '.join(a.ids)}",
    effect=Effect.NONE,
)
