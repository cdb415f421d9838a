"""The types that all tools share: context, result, approval request, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from lumen_tui.model.approvals import AllowRule
from lumen_tui.model.media import Media
from lumen_tui.model.requests.base import Request
from lumen_tui.model.roles import REQUEST_HOST, Role, ToolRule
from lumen_tui.model.skills import Skills
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import safe
from lumen_tui.storage.store import Store

if TYPE_CHECKING:
    from lumen_tui.tools.sandbox.task_network import TaskNetwork


class BadRules(Exception):
    """Rules that contradict each other; the task cannot begin."""


class TaskRules(Struct, frozen=True):
    """The permissions in force. The default allows nothing."""

    tools: frozenset[str] = frozenset()
    shell: str = "none"  # none | read | any
    write: bool = False
    own_files_only: bool = False  # what it changes is in the task's own folder
    network: bool = False
    offline: bool = False  # a constraint says so: nothing that it calls reaches the network either
    max_steps: int = 40
    max_rows: int = 0  # of any table or numbered list in the result; 0: no limit
    roots: tuple[str, ...] = ()  # file tools stay below these; empty: anywhere
    hosts: tuple[str, ...] = ()  # where web_fetch may go; empty: nowhere
    command_hosts: tuple[str, ...] = ()  # where commands may go, through a proxy
    private: tuple[str, ...] = ()  # hosts that may stand at an address of this machine or network
    hidden: tuple[str, ...] = ()  # real paths that no tool reads
    role: str = ""
    task: str = ""  # its id
    custom: frozenset[str] = frozenset()  # of the tools, those that are programs of the operator's own
    tool_rules: tuple[ToolRule, ...] = ()
    asks: tuple[str, ...] = ()  # groups of calls that need a person's word
    allows: tuple[AllowRule, ...] = ()  # of those, the calls that do not any more
    enforced: tuple[str, ...] = ()  # constraints that became a rule
    advice: tuple[str, ...] = ()  # constraints that only the prompt carries

    @property
    def proxied(self) -> bool:
        """Whether commands reach hosts of an allow-list, which may be empty until a person adds one."""
        return self.shell == "any" and not self.network and bool(self.command_hosts or REQUEST_HOST in self.tools)


class Stopped(BaseException):
    """The task was asked to end. Not an Exception, so that no retry loop on the way up swallows it."""


class TaskParked(BaseException):
    """The task goes on in another process, once a question is answered. Like Stopped nothing swallows it."""


class ToolError(Exception):
    """A call that was refused or failed; the text says why and what to do instead."""


class ToolResult(Struct, frozen=True):
    """The result of a call: `text` for a model, `data` for a playbook."""

    text: str
    ok: bool = True
    data: dict[str, Any] = {}
    truncated: int = 0  # bytes of text that were left out
    summary: str = ""  # a few words for the live tail, such as `14 entries`
    refused: bool = False  # the call was not made
    media: tuple[Media, ...] = ()  # images and PDF files for the model, where it takes them


class Performed(Struct, frozen=True):
    """A request that was carried out: a sentence, the id of what it made or changed, and what else happened."""

    summary: str
    target: str = ""
    aside: str = ""


def _carries_nothing_out(request: Request) -> Performed:
    raise ToolError("nothing can be carried out here: only a task's own worker does that")


class ApprovalRequest(Struct, frozen=True):
    """A call that needs a person's approval before it is made."""

    tool: str
    summary: str  # the call in a few words, safe and on one line
    arguments: dict[str, object] = {}
    risk: str = ""  # what could go wrong, in a plain sentence
    reason: str = ""  # the rule that asks
    diff: str = ""  # what a change of a file would do to it
    rule: str = ""  # the narrow rule that "allow always" would save; empty where there is none
    folder: str = ""  # a command's own folder, part of that rule
    unsandboxed: bool = False  # it would run without a sandbox
    lasting: bool = False  # it is left for a person: the engine carries it out, and nobody waits here


class ApprovalReply(Struct, frozen=True):
    """The reply of the person; the reason goes back to the worker."""

    allowed: bool
    reason: str = ""
    by: str = ""
    left: str = ""  # the id under which the call was left for a person


class Question(Struct, frozen=True):
    """A question to the operator; texts are safe."""

    text: str
    default: str
    options: tuple[str, ...] = ()
    seconds: float = 0.0  # until the default counts; 0 for the usual time


class QuestionReply(Struct, frozen=True):
    """What the model is told: the answer, or the default where nobody gave one."""

    text: str
    answered: bool = False
    summary: str = ""


def _nobody_there(question: Question) -> QuestionReply:
    raise ToolError(f"nobody can be asked here: go on with your default ({question.default})")


def _never_waits(tasks: tuple[str, ...], seconds: float) -> None:
    """Nothing can be awaited here: what is asked for is told as it is."""


def _nobody(request: ApprovalRequest) -> ApprovalReply:
    reason = "it needs a person's word, and nobody can be asked here"
    if request.unsandboxed:
        reason += ". With a sandbox it would need none: `lumen-tui doctor --sandbox` says what this machine lacks"
    return ApprovalReply(allowed=False, reason=reason)


def _keep(text: str) -> str:
    return text


def _ignore(text: str) -> None:
    pass


class BackgroundJob(Protocol):
    """A command that runs while the worker does something else."""

    exit_code: int | None  # None while it runs

    @property
    def state(self) -> str:
        """How it is, in words."""

    def take(self, seconds: float, check: Callable[[], None]) -> tuple[bytes, int]:
        """Return new output, and how many bytes of it were dropped."""

    def take_quarantined(self) -> list[str]:
        """Return the quarantined paths that nobody took before."""

    def stop(self) -> None:
        """End it and wait for that."""


class ProxiedNetwork(Protocol):
    """A network of commands in which a proxy reaches the hosts that are allowed."""

    network: TaskNetwork

    def take_refused(self) -> list[str]:
        """Return what the proxy refused since this was last asked."""

    def close(self) -> None:
        """End all connections and let go of the network."""


class TaskMemo(Struct, eq=False):
    """What the calls of one task remember for later ones."""

    web: set[str] = field(default_factory=set)  # hosts that were read from; notes written after that are untrusted
    running: dict[str, BackgroundJob] = field(default_factory=dict)  # by name
    network: TaskNetwork | None = None  # of the first of them, for all later commands
    egress: ProxiedNetwork | None = None  # the network of commands that reach hosts through a proxy
    hosts: tuple[str, ...] = ()  # that a person added for this task
    outputs: int = 0  # texts kept whole in outputs/
    output_bytes: int = 0
    env_files: set[str] = field(default_factory=set)  # found where commands work
    repositories: set[str] = field(default_factory=set)  # the same
    obeyed: set[str] = field(default_factory=set)  # the same: editors' and agents' settings that no command made
    roots: tuple[str, ...] = ()  # the granted folders that were looked through for these
    times: list[tuple[float, float]] = field(default_factory=list)  # when commands ran
    left_alone: set[tuple[int, int]] = field(default_factory=set)  # such settings elsewhere: disk, inode
    look_again: float = 0.0  # monotonic: when all folders are looked through for these again
    known: dict[str, bytes] = field(default_factory=dict)  # real path -> hash of the file as last read or written
    contents: dict[str, bytes] = field(default_factory=dict)  # of some of these, the content
    too_large: set[str] = field(default_factory=set)  # folders that were reported as too large to scan
    skills: Skills | None = None  # of the task, once they were looked for


class Context(Struct, frozen=True, eq=False):
    """The surroundings of a tool call. Time and stopping come from here, so that tests control both."""

    role: Role
    spec: Spec
    store: Store
    folder: Path  # the task's own
    now: Callable[[], float]  # seconds since 1970
    monotonic: Callable[[], float]
    stopped: Callable[[], bool] = bool
    redact: Callable[[str], str] = _keep
    environ: Mapping[str, str] = field(default_factory=dict)
    guard: Callable[[], AbstractContextManager[None]] = nullcontext  # nothing inside it is interrupted
    progress: Callable[[str], None] = _ignore  # called now and then while a call lasts
    begins: Callable[[str], None] = _ignore  # called with the tool right before a call that must not be made twice
    ask: Callable[[ApprovalRequest], ApprovalReply] = _nobody  # blocks until a person has decided; raises Stopped
    perform: Callable[[Request], Performed] = (
        _carries_nothing_out  # a verb, in the agent's name and never as an order; ToolError where it is refused
    )
    question: Callable[[Question], QuestionReply] = _nobody_there  # raises TaskParked where the task is to wait
    wait: Callable[[tuple[str, ...], float], None] = (
        _never_waits  # until these tasks have ended, so many seconds at most; raises TaskParked, Stopped
    )
    rules: TaskRules = field(default_factory=TaskRules)
    memo: TaskMemo = field(default_factory=TaskMemo)

    def clean(self, text: str) -> str:
        """Return what a model wrote as it may be stored and shown."""
        return self.redact(safe(text))

    def check(self) -> None:
        """Raise Stopped where the task was asked to end."""
        if self.stopped():
            raise Stopped


REPORT_EVERY = 20.0  # seconds between two reports of progress


def _always(context: Context) -> bool:
    return True


def _no_text(arguments: object) -> str:
    return ""


def _no_preview(context: Context, arguments: object) -> str:
    return ""


class Effect(StrEnum):
    """What comes of a call, and so whether it is made again where it was cut off."""

    NONE = "none"  # it is: it changes nothing, or ends as the first one did
    CHANGES = "changes"  # it is not, from the moment at which the tool is run
    OWN = "own"  # it is not, from the moment at which the tool says that it begins


A = TypeVar("A")  # the arguments of one tool: a Struct, or a dict for a tool with a schema of its own


class Tool(Struct, Generic[A], frozen=True):
    """One tool: its declaration for a model and the function behind it."""

    name: str
    description: str
    arguments: type[A] | None  # None where `schema` says what they are
    run: Callable[[Context, A], ToolResult]
    describe: Callable[[A], str]  # a call in a few words, for the live tail
    target: Callable[[Context, A], str] = _no_preview  # the command, path or address that rules look at
    folder: Callable[[A], str] = _no_text  # the folder that a command named
    preview: Callable[[Context, A], str] = _no_preview  # the diff that it would make; ToolError where it cannot
    risk: str = ""  # what could go wrong, in a plain sentence
    effect: Effect = Effect.CHANGES
    traces: Callable[[Context, A], str] = _no_preview  # what can be seen of a call that may have happened
    schema: dict[str, Any] = {}
    declared: dict[str, Any] = {}  # the schema that a model is sent, where `schema` has only what is checked here
    request: type[Request] | None = None  # what it comes to: it describes arguments that do not do so themselves
    applies: Callable[[Context], bool] = _always  # whether a model is offered it; a call says why not


AnyTool = Tool[Any]


def size_text(count: int) -> str:
    """Format a number of bytes: `1536` -> `1.5 KiB`; below 1024 in bytes."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    units = ["KiB", "MiB", "GiB", "TiB"]
    while (value := value / 1024) >= 1024 and len(units) > 1:
        units.pop(0)
    return f"{value:.1f} {units[0]}"


def plural(count: int, word: str, many: str = "") -> str:
    """Format a count with its noun: `1 entry`, `1,204 entries`."""
    return f"{count:,} {word if count == 1 else many or word + 's'}"
