"""What a model back end is to the worker: a conversation that asks for tool calls until it has an answer.

A conversation is a generator. It yields steps; each ToolCall is answered with its Reply, everything else with
None; its return value is the Outcome. So the worker alone runs tools, records events and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol

from msgspec import Struct

from lumen_tui.model.tasks import Usage


class ProviderError(Exception):
    """The back end could not go on; the text says why and what to do next."""


class ToolCall(Struct, frozen=True):
    """A tool the back end wants to use."""

    name: str
    arguments: dict[str, Any]


class Said(Struct, frozen=True):
    """Text on the way: what a model says between calls (`text`), a remark of the back end (`note`), or `wait`.

    A `wait` says what the back end waits for (a rate limit, a slow server); its data may hold `until`, in seconds
    since 1970, so that a silent worker is not taken for a hung one.
    """

    text: str
    kind: str = "text"
    data: dict[str, Any] = {}


class Reserve(Struct, frozen=True):
    """A model call is about to be made: the most it can cost. The worker sets it aside, or ends the conversation."""

    usage: Usage
    model: str


class Spent(Struct, frozen=True):
    """What one model call cost; it settles the last Reserve."""

    usage: Usage


class Outcome(Struct, frozen=True):
    """How a conversation ended. `text` is the final answer where no result was written on the way."""

    ok: bool
    text: str = ""
    reason: str = ""


class Reply(Protocol):
    """The answer to a tool call."""

    @property
    def text(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def data(self) -> dict[str, Any]: ...


class ToolDeclaration(Protocol):
    """A tool that may be used."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def schema(self) -> dict[str, Any]: ...


Step = ToolCall | Said | Reserve | Spent
Conversation = Generator[Step, Reply | None, Outcome]


class Job(Struct, frozen=True):
    """Everything a back end is told about one task."""

    system: str
    objective: str
    context: str = ""
    constraints: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()  # the constraints that no tool rule enforces
    tools: tuple[Any, ...] = ()  # of ToolDeclaration
    now: Callable[[], float] = float  # seconds since 1970


class Provider(Protocol):
    """A model back end."""

    @property
    def brain(self) -> str:
        """What answers, for the record: `offline: largest-files`, or provider and model."""

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError."""


def ask(call: ToolCall) -> Generator[Step, Reply | None, Reply]:
    """Make one call and get its reply: `reply = yield from ask(ToolCall(...))`."""
    reply = yield call
    if reply is None:
        raise ProviderError(f"the call of {call.name} was not answered")
    return reply
