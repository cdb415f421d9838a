"""How a loop that began on the cheap tier goes on with the main agent's own."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model.agent import Act
from lumen_tui.model.text import one_line
from lumen_tui.tools.agent.notes import acts_so_far, once
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult

NAME, KIND = "escalate", "escalation"


class EscalateArguments(Struct, frozen=True, forbid_unknown_fields=True):
    reason: Annotated[
        str, Meta(min_length=1, max_length=2000, description="what is to be decided, and what you found out so far")
    ]


def escalate(context: Context, arguments: EscalateArguments) -> ToolResult:
    if not may_escalate(context):
        raise ToolError("this loop is on your own tier already: go on")

    def hand_over(key: str, before: list[Act]) -> str:
        return context.spec.id

    reason = one_line(context.redact(arguments.reason), 2000)
    return once(context, KIND, arguments, reason, hand_over)


def note_failure(context: Context, reason: str) -> None:
    """Record that the cheap tier could not do it."""
    once(context, KIND, EscalateArguments(reason=reason), reason, lambda key, before: context.spec.id)


def may_escalate(context: Context) -> bool:
    """Return whether the loop began on another tier than the role's own and is still on it."""
    return bool(context.spec.model) and not reason_of(acts_so_far(context))


def reason_of(acts: list[Act]) -> str:
    """Return why a loop went on with its own tier; empty where it did not."""
    return next((act.text or KIND for act in acts if act.kind == KIND), "")


ESCALATE = Tool(
    NAME,
    "Hand this loop over to your own, stronger tier, which goes on from what you did. Use it for what has to be "
    "planned, weighed or decided: work in several steps, results that contradict each other, money, or a person's "
    "trust. Not for what is routine.",
    EscalateArguments,
    escalate,
    lambda a: f"escalate: {a.reason}",
    applies=may_escalate,
    effect=Effect.NONE,
)
