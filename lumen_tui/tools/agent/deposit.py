"""How a main agent's session ends: for how long it wants to rest, and what it leaves to the next one."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import times
from lumen_tui.model.agent import DEPOSIT_FILE, SLEEP_FILE, Deposit, Nap
from lumen_tui.model.loop import Artifact, Health, LeftOut
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.tools.agent.report import RESULT
from lumen_tui.tools.base import Context, Tool, ToolResult

NAME = "deposit"
MOST_WAKE = 12_000  # characters

_Line = Annotated[str, Meta(min_length=1, max_length=400)]
_Lines = Annotated[tuple[_Line, ...], Meta(max_length=20)]


class ArtifactArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    path: Annotated[str, Meta(max_length=400, description="where it stands")] = ""
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
            min_length=1, max_length=MOST_WAKE,
            description="Markdown: what you need to know when you wake next, without memory of this loop",
        ),
    ]  # fmt: skip
    made: Annotated[_Made, Meta(description="what this loop made")] = ()
    decided: Annotated[_Lines, Meta(description="what was decided")] = ()
    abandoned: Annotated[_Left, Meta(description="what was begun or asked for and is given up, and why")] = ()
    decided_against: Annotated[_Left, Meta(description="what could have been done and was not, and why")] = ()
    next: Annotated[_Lines, Meta(description="what the next loop should do")] = ()
    constraints: Annotated[_Lines, Meta(description="what binds the next loop: what was forbidden or promised")] = ()
    health: Literal["ok", "degraded", "failed"] = "ok"
    health_note: Annotated[str, Meta(max_length=400, description="what is wrong, where something is")] = ""


class SleepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    seconds: Annotated[float, Meta(ge=60, le=86_400)]
    reason: Annotated[str, Meta(min_length=1, max_length=400)]


def sleep(context: Context, arguments: SleepArguments) -> ToolResult:
    nap = Nap(seconds=arguments.seconds, reason=context.redact(one_line(arguments.reason)))
    with context.guard():
        files.replace(context.folder / SLEEP_FILE, msgspec.json.encode(nap))
    said = times.span(arguments.seconds)
    return ToolResult(f"noted: {said}, unless something urgent or one of your tasks wakes you", summary=said)


def deposit(context: Context, arguments: DepositArguments) -> ToolResult:
    def words(text: str) -> str:
        return context.redact(one_line(text))

    def left(entries: tuple[LeftOutArguments, ...]) -> tuple[LeftOut, ...]:
        return tuple(LeftOut(words(one.what), words(one.why)) for one in entries)

    record = Deposit(
        made=tuple(Artifact(words(one.kind), words(one.path), words(one.title)) for one in arguments.made),
        decided=tuple(map(words, arguments.decided)), abandoned=left(arguments.abandoned),
        decided_against=left(arguments.decided_against), next=tuple(map(words, arguments.next)),
        constraints=tuple(map(words, arguments.constraints)),
        health=Health(arguments.health, words(arguments.health_note)),
        wake_state=context.redact(safe(arguments.wake_state)).strip(),
    )  # fmt: skip
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
    """The deposit as a person reads it, in result.md of the session."""
    made = [f"{one.title}: `{one.path}`" if one.path else one.title for one in record.made]
    left = [f"{one.what}: {one.why}" for one in record.abandoned]
    against = [f"{one.what}: {one.why}" for one in record.decided_against]
    parts = [record.wake_state]
    for title, lines in (
        ("Made", made), ("Decided", record.decided), ("Abandoned", left), ("Decided against", against),
        ("Constraints", record.constraints), ("Next", record.next),
    ):  # fmt: skip
        if lines:
            parts.append(f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


SLEEP = Tool(
    "sleep",
    "Ask to be left alone for a while: news that can wait is held back so long. P0 signals, signals to you by name and "
    "tasks that end wake you before.",
    SleepArguments, sleep, lambda a: f"sleep {times.span(a.seconds)}: {a.reason}",
)  # fmt: skip
DEPOSIT = Tool(
    NAME, "End this loop: what was made and decided, what was left out and why, and what you need to know next "
    "time. Your last call; nothing after it counts.",
    DepositArguments, deposit, lambda a: f"deposit, {len(a.wake_state):,} characters",
)  # fmt: skip
