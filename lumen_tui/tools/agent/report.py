"""write_result, signal and discover: how a worker tells what it did and saw."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model import ids, times
from lumen_tui.model.records import Node, Signal
from lumen_tui.model.text import safe
from lumen_tui.storage import files
from lumen_tui.tools.agent.memory import label, source_of
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.policy.rules import too_many_rows

RESULT = "result.md"
_Priority = Literal["", "P0", "P1", "P2", "P3"]


class ResultArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=1_000_000, description="the whole result as Markdown")]


class SignalArguments(Struct, frozen=True, forbid_unknown_fields=True):
    message: Annotated[str, Meta(min_length=1, max_length=4000, description="one short paragraph")]
    to: Annotated[str, Meta(max_length=100, description="the reader's name; empty: everybody")] = ""
    priority: Annotated[_Priority, Meta(description="P0 needs a person at once")] = ""


class DiscoverArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="what was noticed, on one line")]
    details: Annotated[str, Meta(max_length=8000, description="evidence: where, what, how to see it again")] = ""
    priority: Annotated[_Priority, Meta(description="P0 (now) to P3 (some day)")] = "P2"
    tags: Annotated[tuple[str, ...], Meta(max_length=10, description="short words, such as bug or idea")] = ()


def write_result(context: Context, arguments: ResultArguments) -> ToolResult:
    if rows := too_many_rows(arguments.text, context.rules.max_rows):
        raise ToolError(f"the result lists {rows} rows; a constraint allows at most {context.rules.max_rows}")
    text = context.redact(safe(arguments.text)).rstrip() + "\n"
    with context.guard():
        files.replace(context.folder / RESULT, text.encode())
    return ToolResult("written", data={"path": RESULT}, summary=plural(text.count("\n"), "line"))


def signal(context: Context, arguments: SignalArguments) -> ToolResult:
    record = Signal(
        id=ids.new_id("sig"),
        message=context.redact(safe(arguments.message)),
        created_at=times.iso(context.now()),
        sender=context.role.name,
        target_agent=safe(arguments.to),
        wu_id=context.spec.wu_id,
        lane=context.spec.lane,
        priority=arguments.priority,
        task_id=context.spec.id,
    )
    with context.guard():
        context.store.signals.append(record)
    return ToolResult(f"signal {record.id} sent", data={"id": record.id}, summary=ids.short(record.id))


def discover(context: Context, arguments: DiscoverArguments) -> ToolResult:
    title = " ".join(safe(arguments.title).split())
    content = f"{title}\n\n{safe(arguments.details).strip()}" if arguments.details.strip() else title
    metadata = {"status": "open", "priority": arguments.priority, **source_of(context)}
    node = Node(
        id=ids.new_id("mem"),
        type="discovery",
        content=context.redact(content),
        created_at=times.iso(context.now()),
        wu_id=context.spec.wu_id,
        tags=tuple(label(tag) for tag in arguments.tags),
        metadata={key: value for key, value in metadata.items() if value},
        created_by=context.role.name,
    )
    with context.guard():
        context.store.nodes.append(node)
    return ToolResult(f"discovery {node.id} recorded", data={"id": node.id}, summary=ids.short(node.id))


WRITE_RESULT = Tool(
    "write_result",
    "Write the result of the task, replacing an earlier one. Do this before you end.",
    ResultArguments,
    write_result,
    lambda a: f"write_result, {len(a.text):,} characters",
)
SIGNAL = Tool(
    "signal",
    "Send a short note to another agent, or to all of them.",
    SignalArguments,
    signal,
    lambda a: f"signal {a.message}",
)
DISCOVER = Tool(
    "discover",
    "Record something noticed on the way that is not part of this task, for somebody to judge later.",
    DiscoverArguments,
    discover,
    lambda a: f"discover {a.title}",
)
