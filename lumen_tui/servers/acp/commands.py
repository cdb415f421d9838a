"""Slash commands: looks at the agent without a task, and the verbs that a conversation wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct

from lumen_tui.servers import wording
from lumen_tui.servers.acp.shapes import CommandHint, CommandsUpdate, SlashCommand
from lumen_tui.servers.catalogue import Counter, OperationError
from lumen_tui.servers.jsonrpc import IncomingCall

FOLLOW = "follow"  # of a session: not looked up here
_MOST = 30  # rows


class Look(Struct, frozen=True):
    """A command that reads: the operation that it calls, and its answer in words."""

    text: str
    operation: str
    words: Callable[[Mapping[str, object]], str]
    arguments: Mapping[str, object] = {}
    takes: str = ""  # the argument that what stands behind the command is
    hint: str = ""


LOOKS: Mapping[str, Look] = {
    "status": Look("How the agent is, and what holds it back", "status", wording.status),
    "needs": Look("What needs a person", "attention", wording.needs),
    "briefing": Look(
        "What is known of a piece of work", "briefing", wording.briefing, takes="work", hint="WU-042, or some words"
    ),
    "inbox": Look("Signals that this editor has not marked as read", "inbox", wording.signals, {"limit": _MOST}),
    "triage": Look(
        "Discoveries to be judged, the most urgent first", "list_discoveries", wording.discoveries, {"limit": _MOST}
    ),
    "tasks": Look("Tasks that are open", "list_tasks", wording.tasks, {"status": "open", "limit": _MOST}),
}
_FOLLOW_TEXT = "Go on with the last task of this session where it is still at work"


def offered() -> CommandsUpdate:
    """Return all commands as a client lists them."""
    looks = [
        SlashCommand(name=name, description=look.text, input=CommandHint(hint=look.hint) if look.hint else UNSET)
        for name, look in LOOKS.items()
    ]
    return CommandsUpdate(available_commands=(*looks, SlashCommand(name=FOLLOW, description=_FOLLOW_TEXT)))


def command_of(text: str) -> tuple[str, str]:
    """Return the name of the command that a prompt is and what stands behind it; two empty texts for no command."""
    first, _, behind = text.strip().partition(" ")
    name = first.removeprefix("/")
    return (name, behind.strip()) if first.startswith("/") and (name in LOOKS or name == FOLLOW) else ("", "")


def answer(counter: Counter, call: IncomingCall, name: str, behind: str) -> str:
    """Return what a command answers, in words; what was refused is said as well."""
    look = LOOKS[name]
    if look.takes and not behind:
        return f"Say what about: `/{name} {look.hint}`"
    arguments = {**look.arguments, **({look.takes: behind} if look.takes else {})}
    try:
        return look.words(counter.invoke(call.who, look.operation, arguments)) or "Nothing is known of it yet."
    except OperationError as error:
        return f"Refused: {error}"
