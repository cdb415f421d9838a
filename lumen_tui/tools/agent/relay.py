"""relay_read and relay_submit: how a worker takes its turn in a place that several write to."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import ids, relay
from lumen_tui.model.relay import Status
from lumen_tui.model.text import one_line, safe
from lumen_tui.store.memory import relays as kept
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural

_LONGEST = 20_000  # characters of one read
_Name = Annotated[str, Meta(min_length=1, max_length=64, description="the relay")]


class RelayReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    since: Annotated[int, Meta(ge=0, description="only what came after this position")] = 0


class RelaySubmitArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    text: Annotated[str, Meta(min_length=1, max_length=8000, description="what to say; its first line is a title")]
    base: Annotated[int, Meta(ge=0, description="the position up to which you have read, as relay_read gave it")]


def relay_read(context: Context, arguments: RelayReadArguments) -> ToolResult:
    try:
        state = kept.read(context.store.layout, arguments.name)
    except ids.BadId as error:
        raise ToolError(str(error)) from error
    if state is None:
        known = ", ".join(kept.names(context.store.layout)) or "none"
        raise ToolError(f"there is no relay {one_line(arguments.name, 60)!r}; there are: {known}")
    entries = [entry for entry in state.entries if entry.position > arguments.since]
    lines = [f"{entry.position}  {entry.at}  {one_line(entry.by, 60)}\n{safe(entry.text).strip()}" for entry in entries]
    text = f"{state.name} is at position {state.position}\n\n" + "\n\n".join(lines)
    cut = "\n… cut: read on from a later position" if len(text) > _LONGEST else ""
    data, summary = {"position": state.position}, plural(len(entries), "entry", "entries")
    return ToolResult(text[:_LONGEST] + cut, data=data, summary=summary)


def relay_submit(context: Context, arguments: RelaySubmitArguments) -> ToolResult:
    text = context.redact(safe(arguments.text)).strip()
    key = f"{context.spec.id}:{relay.content_hash(text)}"  # another attempt at the task submits nothing twice
    try:
        with context.guard():
            submission = kept.submit(
                context.store.layout,
                arguments.name,
                text,
                by=context.role.name,
                base=arguments.base,
                now=context.now(),
                key=key,
            )
    except (relay.Refused, ids.BadId) as error:
        raise ToolError(str(error)) from error
    data = msgspec.to_builtins(submission)
    words = safe("\n".join(relay.words(submission)))
    return ToolResult(words, ok=submission.status is Status.SENT, data=data, summary=str(submission.status))


RELAY_READ = Tool(
    "relay_read",
    "Read a relay, a place that several write to in turn, and its position.",
    RelayReadArguments,
    relay_read,
    lambda a: f"relay_read {a.name}",
)
RELAY_SUBMIT = Tool(
    "relay_submit",
    "Say something in a relay, on the position up to which you have read it. What repeats what was "
    "said, or was written without a look at what came since, is held for a person; the answer says what moved.",
    RelaySubmitArguments,
    relay_submit,
    lambda a: f"relay_submit {a.name}: {a.text}",
    risk="Others read and act on it.",
)
