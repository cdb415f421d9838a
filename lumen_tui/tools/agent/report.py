"""What is handed on: by a worker what it did and saw (write_result, signal, discover), by a main agent its loop.

deposit ends a main agent's session with what it leaves to the next one, and sleep says for how long it rests.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import ids, times
from lumen_tui.model.agent import DEPOSIT_FILE, SLEEP_FILE, Deposit, Nap
from lumen_tui.model.loop import Artifact, Health, LeftOut
from lumen_tui.model.records import Node, Signal
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.schedules import ScheduleError
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.agent.memory import label, source_of
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.policy.rules import too_many_rows

RESULT = "result.md"
_Priority = Literal["", "P0", "P1", "P2", "P3"]


class ResultArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=1_000_000, description="the whole result as Markdown")]


class SignalArguments(Struct, frozen=True, forbid_unknown_fields=True):
    message: Annotated[str, Meta(min_length=1, max_length=4000)]
    to: Annotated[str, Meta(max_length=100)] = ""
    priority: _Priority = ""


class DiscoverArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="what was noticed, on one line")]
    details: Annotated[str, Meta(max_length=8000, description="evidence: where, what, how to see it again")] = ""
    priority: _Priority = "P2"
    tags: Annotated[tuple[str, ...], Meta(max_length=10)] = ()


def write_result(context: Context, arguments: ResultArguments) -> ToolResult:
    if rows := too_many_rows(arguments.text, context.rules.max_rows):
        raise ToolError(f"the result lists {rows} rows; a constraint allows at most {context.rules.max_rows}")
    text = context.clean(arguments.text).rstrip() + "\n"
    with context.guard():
        files.replace(context.folder / RESULT, text.encode())
    return ToolResult("written", data={"path": RESULT}, summary=plural(text.count("\n"), "line"))


def signal(context: Context, arguments: SignalArguments) -> ToolResult:
    record = Signal(
        id=ids.new_id("sig"),
        message=context.clean(arguments.message),
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
    "Hand in the result of the task, whole and as Markdown; it replaces an earlier one. Call it once, alone, when "
    "everything is done: that ends the task. Its reader sees nothing else of your work, so it holds the answer "
    "first, then evidence, then what is open. Where you had to stop half-way it says what is finished and where to "
    "go on.",
    ResultArguments,
    write_result,
    lambda a: f"write_result, {len(a.text):,} characters",
    effect=Effect.NONE,
)
SIGNAL = Tool(
    "signal",
    "Send a short note to an agent or role by name, or to everybody. Use it only where somebody must know before "
    "they read your result; P0 wakes the main agent at once, so keep it for harm that is done now. You get the id; "
    "nobody answers within this task.",
    SignalArguments,
    signal,
    lambda a: f"signal {a.message}",
    request=SendSignal,
)
DISCOVER = Tool(
    "discover",
    "Record something that you noticed and that is not part of this task: a defect, a risk, an idea. One discovery "
    "each, with the evidence in details and a priority that you could defend. Somebody judges it later; it changes "
    "nothing now, so go on with your task.",
    DiscoverArguments,
    discover,
    lambda a: f"discover {a.title}",
    request=CreateNode,
)

NAME = "deposit"
MOST_WAKE = 12_000  # characters
_SHORTEST, _LONGEST = 60.0, 7 * times.DAY  # seconds of one sleep

_Line = Annotated[str, Meta(min_length=1, max_length=400)]
_Lines = Annotated[tuple[_Line, ...], Meta(max_length=20)]


class ArtifactArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    path: Annotated[str, Meta(max_length=400, description="where it is")] = ""
    kind: Annotated[str, Meta(max_length=40, description="such as report, task, change, answer")] = ""


class LeftOutArguments(Struct, frozen=True, forbid_unknown_fields=True):
    what: Annotated[str, Meta(min_length=1, max_length=300)]
    why: Annotated[str, Meta(min_length=1, max_length=400)]


_Made = Annotated[tuple[ArtifactArguments, ...], Meta(max_length=20)]
_Left = Annotated[tuple[LeftOutArguments, ...], Meta(max_length=20)]


class DepositArguments(Struct, frozen=True, forbid_unknown_fields=True):
    wake_state: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MOST_WAKE,
            description="Markdown, up to 12,000 characters: what you must know when you wake next, without memory of "
            "this loop",
        ),
    ]
    made: Annotated[_Made, Meta(description="what there is now")] = ()
    decided: Annotated[_Lines, Meta(description="with the reason")] = ()
    abandoned: Annotated[_Left, Meta(description="begun or asked for, and given up")] = ()
    decided_against: Annotated[_Left, Meta(description="possible, and not done")] = ()
    next: Annotated[_Lines, Meta(description="for the next loop to do")] = ()
    constraints: Annotated[_Lines, Meta(description="what was forbidden or promised, and binds the next loop")] = ()
    health: Annotated[Literal["ok", "degraded", "failed"], Meta(description="whether all about you works")] = "ok"
    health_note: Annotated[str, Meta(max_length=400, description="what does not")] = ""


class SleepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    reason: Annotated[str, Meta(min_length=1, max_length=400, description="what you wake for: you are told it then")]
    until: Annotated[str, Meta(max_length=100, description="`in 2h`, or a local time such as `2026-11-24 09:00`")] = ""
    seconds: Annotated[float, Meta(ge=0, le=_LONGEST, description="or for so many seconds, 60 at least")] = 0.0


def sleep(context: Context, arguments: SleepArguments) -> ToolResult:
    seconds = _asleep(context, arguments)
    nap = Nap(seconds=seconds, reason=context.redact(one_line(arguments.reason)))
    with context.guard():
        files.replace(context.folder / SLEEP_FILE, msgspec.json.encode(nap))
    span = times.span(seconds)
    return ToolResult(
        f"noted: you wake in {span}, or before where something urgent or one of your tasks wakes you", summary=span
    )


def _asleep(context: Context, arguments: SleepArguments) -> float:
    """Return for how many seconds. ToolError where neither a time nor a span says it, or both do."""
    from lumen_tui.store.schedules import timing  # with its zones 10 ms, which only a loop that sleeps pays

    if bool(arguments.until) == bool(arguments.seconds):
        raise ToolError("name until when (`until`) or for how long (`seconds`), one of them")
    seconds = arguments.seconds
    if arguments.until:
        try:
            zone = load_config(context.store.layout)[0].scheduling.zone
            seconds = timing.once(arguments.until, zone, context.now()) - context.now()
        except ScheduleError as error:
            raise ToolError(str(error)) from error
    if not _SHORTEST <= seconds <= _LONGEST:
        raise ToolError(f"{times.span(seconds)} is not slept: {times.span(_SHORTEST)} to {times.span(_LONGEST)}")
    return seconds


def deposit(context: Context, arguments: DepositArguments) -> ToolResult:
    def clean(text: str) -> str:
        return context.redact(one_line(text))

    def left_out(entries: tuple[LeftOutArguments, ...]) -> tuple[LeftOut, ...]:
        return tuple(LeftOut(clean(entry.what), clean(entry.why)) for entry in entries)

    record = Deposit(
        made=tuple(Artifact(clean(entry.kind), clean(entry.path), clean(entry.title)) for entry in arguments.made),
        decided=tuple(map(clean, arguments.decided)),
        abandoned=left_out(arguments.abandoned),
        decided_against=left_out(arguments.decided_against),
        next=tuple(map(clean, arguments.next)),
        constraints=tuple(map(clean, arguments.constraints)),
        health=Health(arguments.health, clean(arguments.health_note)),
        wake_state=context.clean(arguments.wake_state).strip(),
    )
    _write(context, record)
    return ToolResult("deposited: this loop is over", summary="the loop is over")


def deposit_last_words(context: Context, text: str) -> None:
    """Make the last words of a session that ended without a deposit into one."""
    health = Health("degraded", "the session ended without a deposit; its last words were kept")
    _write(context, Deposit(wake_state=context.redact(safe(text[:MOST_WAKE])).strip(), health=health))


def _write(context: Context, record: Deposit) -> None:
    with context.guard():
        files.replace(context.folder / RESULT, as_text(record).encode())
        files.replace(context.folder / DEPOSIT_FILE, msgspec.json.format(msgspec.json.encode(record), indent=2))


def as_text(record: Deposit) -> str:
    """Return the deposit as a person reads it, in result.md of the session."""
    artifacts = [f"{entry.title}: `{entry.path}`" if entry.path else entry.title for entry in record.made]
    abandoned = [f"{entry.what}: {entry.why}" for entry in record.abandoned]
    rejected = [f"{entry.what}: {entry.why}" for entry in record.decided_against]
    parts = [record.wake_state]
    for title, lines in (
        ("Made", artifacts),
        ("Decided", record.decided),
        ("Abandoned", abandoned),
        ("Decided against", rejected),
        ("Constraints", record.constraints),
        ("Next", record.next),
    ):
        if lines:
            parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


SLEEP = Tool(
    "sleep",
    "Rest until a time (`until`) or for a while (`seconds`): then you are woken with your reason, also without news. "
    "P0 signals, orders, signals to you by name and tasks that end still wake you before. To be woken again and again, "
    "or for one matter beside others, use schedule. Only the last sleep of a loop counts.",
    SleepArguments,
    sleep,
    lambda a: f"sleep {a.until or times.span(a.seconds)}: {a.reason}",
    effect=Effect.NONE,
)
DEPOSIT = Tool(
    NAME,
    "End this loop with what it made and decided, what it left out and why, and wake_state, the letter to yourself, "
    "which stands whole in your next briefing. Call it last and alone: where another call of the same answer fails, it "
    "is not carried out. A line of the lists has up to 400 characters.",
    DepositArguments,
    deposit,
    lambda a: f"deposit, {len(a.wake_state):,} characters",
    effect=Effect.NONE,
)
