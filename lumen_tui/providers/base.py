"""What a model back end is to the worker: a conversation that asks for tool calls until it has an answer.

A conversation is a generator of steps. The worker sends a Reply back for each ToolCall, CutOffCall and
PermissionRequest, for a Reserve where less was reserved than it asked for, and None for every other step. Its return
value is the Outcome. So only the worker runs tools, records events and stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from lumen_tui.model.tasks import Usage

if TYPE_CHECKING:
    import subprocess

    from lumen_tui.model.media import Media

JsonObject = dict[str, Any]  # as JSON is decoded: the keys that are used are checked where they are used


class ProviderError(Exception):
    """The back end could not go on; the text says why and what to do next."""


class ToolCall(Struct, frozen=True):
    """A tool the back end wants to use. `alone`: it is a result, and nothing else is in the answer."""

    name: str
    arguments: JsonObject
    alone: bool = False
    id: str = ""


class CutOffCall(Struct, frozen=True):
    """A call that may have happened: the process that made it ended before its end was known.

    It is not made again. The Reply says what the model is told of it.
    """

    call: ToolCall


class TextUpdate(Struct, frozen=True):
    """Text on the way: what a model says between calls (`text`), a remark of the back end (`note`), `wait`, or
    `summary`: what stands for earlier steps from here on.

    A `wait` says what the back end waits for (a rate limit, a slow server); its data may hold `until`, in seconds
    since 1970, so that a silent worker is not taken for a hung one.
    """

    text: str
    kind: str = "text"
    data: JsonObject = {}


LEAST_OUTPUT = 1024  # tokens: a shorter answer is hardly worth its prompt


class Reserve(Struct, frozen=True):
    """A model call is about to be made: the most it can cost. The worker sets it aside, or ends the conversation.

    Where `least` says what it costs with an answer of LEAST_OUTPUT tokens, the worker may reserve something between
    the two: then the Reply's data hold the `output`, in tokens, that the answer may have. `tells` promises that
    the job's `sent` is called before anything leaves: where it was not, the call was never made.
    """

    usage: Usage
    model: str
    least: Usage | None = None
    tells: bool = False
    purpose: str = ""  # of a call that no step needs, such as SUMMARY: where there is no room the Reply is not ok


SUMMARY = "summary"


class Spent(Struct, frozen=True):
    """What one model call cost; it settles the last Reserve. The texts since then, put together, are the answer's.

    Where the call failed (`ok` is False), the usage is what is known of it and the texts are void.
    """

    usage: Usage
    ok: bool = True
    purpose: str = ""  # as in its Reserve
    window: int = 0  # tokens that the model takes; 0: not known, or not the model of the conversation


class EndpointClosed(Struct, frozen=True):
    """No call of an endpoint gets an answer until `resets_at`, in seconds since 1970: may the conversation wait?

    Answered with a Reply once it is open again, and with None where it must not wait.
    """

    endpoint: str
    kind: str
    resets_at: float
    reason: str


class PermissionRequest(Struct, frozen=True):
    """The back end is about to use a tool of its own: may it? Answered with a Reply whose text says why not."""

    call: ToolCall  # the same in the words of our tools, whose rules are asked
    name: str  # the back end's own name of it
    foreign: bool = False  # no tool of ours stands for it
    asks: bool = False  # it is foreign, and a person is asked about each call but for those allowed for good


class BuiltinToolResult(Struct, frozen=True):
    """What a tool of the back end gave that was permitted."""

    call: ToolCall
    name: str
    text: str
    ok: bool = True


class ConversationOutcome(Struct, frozen=True):
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
    def data(self) -> JsonObject: ...
    @property
    def media(self) -> tuple[Media, ...]: ...


class ToolDeclaration(Protocol):
    """A tool that may be used."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def schema(self) -> JsonObject: ...


class Launched(Protocol):
    """A program that was started for a conversation; its three streams are pipes."""

    @property
    def child(self) -> subprocess.Popen[bytes]: ...
    def end(self) -> None:
        """Ask the program to end, wait, terminate it, wait, kill it. May be called twice."""


class Launch(Protocol):
    """Starts a program in the sandbox that the task's rules ask for. Raises ProviderError where that cannot be."""

    def __call__(self, argv: list[str], env: dict[str, str], own: str, reads: tuple[str, ...] = ()) -> Launched:
        """Start the program. It keeps its own files in the folder `own`, which can be written, and `reads` others."""


Step = ToolCall | CutOffCall | TextUpdate | Reserve | Spent | EndpointClosed | PermissionRequest | BuiltinToolResult
Conversation = Generator[Step, Reply | None, ConversationOutcome]


class Tuning(Struct, frozen=True):
    """How a model is to work, where it takes that; empty fields are not sent."""

    thinking: str = ""  # adaptive | off; empty: as the server does it by itself
    effort: str = ""  # low | medium | high | xhigh | max
    own: tuple[str, ...] = ()  # claude_md, skills, mcp: what a program has of the operator's own set-up
    cache: str = ""  # 1h: how long the vendor keeps tools and system prompt, where it is not its usual time


class SummaryOrder(Struct, frozen=True):
    """How the earlier steps of a conversation are summed up when it comes near its model's window."""

    system: Callable[[int], str]  # the prompt of the model that does it, for at most so many words
    label: str = ""  # of that prompt, for the record
    store: Callable[[str], str] = lambda text: ""  # keeps the steps whole; returns where they can be read, if anywhere
    pending: Callable[[], str] = str  # what is still to be answered, in words


def _chance() -> float:
    import random  # half a millisecond, which whoever makes no call does without

    return random.random()  # noqa: S311 - spreads load, guards nothing


class Job(Struct, frozen=True):
    """Everything a back end knows about one task."""

    system: str
    objective: str
    folder: str = ""  # where relative names in the objective count from; empty where nobody said
    synonyms: Mapping[str, str] = {}  # of words that playbooks know, the words that stand for them
    history: tuple[Any, ...] = ()  # of Entry: what was said before in the same conversation, the oldest first
    opening: str = ""  # the whole first message, as the model gets it; empty: the objective and the context
    standing: int = 0  # characters at its beginning that the next conversation of the role begins with, too
    context: str = ""  # what is known of the task
    constraints: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()  # the constraints that no tool rule enforces
    tools: tuple[Any, ...] = ()  # of ToolDeclaration
    tuning: Tuning = Tuning()
    last: str = (
        ""  # the tool after which nothing is called: it comes last in its answer, and only if all else went well
    )
    now: Callable[[], float] = float  # seconds since 1970
    sent: Callable[[], None] = lambda: None  # called right before the request of the last Reserve leaves: what it
    # costs is owed from then on, also where nobody tells it; it must not leave where this raises a ProviderError
    pause: Callable[[float], None] = time.sleep  # waits so many seconds; a Stopped may come out of it
    chance: Callable[[], float] = _chance  # from 0 to 1, for the jitter of waits
    keep: Callable[..., None] = lambda *records: None  # called with records of the conversation as they come about;
    # those of one call are kept together or not at all
    earlier: tuple[Any, ...] = ()  # such records of the attempt before, from which it goes on
    news: Callable[[], tuple[str, ...]] = tuple  # messages to the model that came in since it was last called
    load: Callable[[Media], bytes | None] = lambda media: None  # the bytes of what a call returned; None: they are gone
    summary: SummaryOrder | None = None  # None: old results are cut instead
    launch: Launch | None = None  # for back ends that are programs; None: they are started without a sandbox


class Provider(Protocol):
    """A model back end."""

    resumes: bool  # whether it keeps a record of its conversations, and goes on from one
    deaf: str  # why it takes no message while it works; empty where it does

    @property
    def brain(self) -> str:
        """What answers, for the record: `offline: largest-files`, or provider and model."""

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError."""


def ask(step: ToolCall | CutOffCall) -> Generator[Step, Reply | None, Reply]:
    """Make one call and get its reply: `reply = yield from ask(ToolCall(...))`."""
    reply = yield step
    if reply is None:
        call = step.call if isinstance(step, CutOffCall) else step
        raise ProviderError(f"the call of {call.name} was not answered")
    return reply
