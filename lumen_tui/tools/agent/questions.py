"""ask_operator: a question to the operator. Its task waits for the answer without a process and without a call."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model.approvals import ASK, MOST_QUESTIONS
from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, Effect, Question, Tool, ToolError, ToolResult

_Option = Annotated[str, Meta(min_length=1, max_length=200)]


class AskArguments(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, max_length=1000, description="whole in itself, with what hangs on it")]
    default: Annotated[
        str, Meta(min_length=1, max_length=300, description="what you will go on with if nobody answers in time")
    ]
    options: Annotated[
        tuple[_Option, ...], Meta(max_length=4, description="answers to choose from; any other text may be given")
    ] = ()
    wait_minutes: Annotated[
        int, Meta(ge=0, le=10_080, description="how long the answer may take; 0 for the usual time")
    ] = 0


def ask(context: Context, arguments: AskArguments) -> ToolResult:
    options = tuple(one_line(context.clean(option)) for option in arguments.options)
    if len(set(options)) < len(options) or not all(options):
        raise ToolError("two of the options are the same, or one says nothing")
    question = context.clean(arguments.question).strip()
    default = one_line(context.clean(arguments.default))
    if not question or not default:
        raise ToolError("question and default must say something")
    reply = context.question(Question(question, default, options, arguments.wait_minutes * 60.0))
    return ToolResult(reply.text, data={"answered": reply.answered}, summary=one_line(reply.summary, 100))


ASK_OPERATOR = Tool(
    ASK,
    f"Ask the operator, the person whose system this is, where the task cannot go on without a choice that is theirs; "
    f"at most {MOST_QUESTIONS} times in a task. Not for what you can find out or decide yourself, and not for leave to "
    "make a call: that is asked for by itself. You wait, and commands in the background end meanwhile; what comes back "
    "is the answer, or after the time your default.",
    AskArguments,
    ask,
    lambda a: f"asks: {one_line(a.question, 150)}",
    effect=Effect.NONE,
)
