"""One task: its spec, its events, its exit, and the status that follows from evidence alone."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import takewhile
from typing import Any

from msgspec import Struct, field, structs

from lumen_tui.model.acceptance import Acceptance, Verdict

TIERS = ("haiku", "sonnet", "opus")
STEP_LIMIT = "step limit reached"  # as the reason begins of a task that ended at its limit of tool calls
DECLINED = "the model declined to do this"  # in the reason of one whose model would not
_SAME = 60  # characters by which two texts are taken for the same: a later one may be cut


class Status(StrEnum):
    """What a task is, derived from evidence and never stored as a claim."""

    WAITING = "waiting"  # waits for a person
    ASKING = "asking"  # the same, without a process: its worker ended with a question, the next one goes on from there
    AWAITING = "awaiting"  # the same, where it waits for the tasks that it ordered
    RUNNING = "running"
    STALLED = "stalled"  # alive but silent past its limit: shown only, its time limit ends it
    QUEUED = "queued"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to the task."""
        return self in (Status.DONE, Status.FAILED, Status.CANCELLED)

    @property
    def alive(self) -> bool:
        """Whether it has a worker process."""
        return self in ALIVE

    @property
    def parked(self) -> bool:
        """Whether it waits without a process, and another one will go on from there."""
        return self in (Status.ASKING, Status.AWAITING)


ALIVE = (Status.RUNNING, Status.STALLED, Status.WAITING)
BEGUN = tuple(status for status in Status if status is not Status.QUEUED)  # has or had a worker, or ended without one
WAITING_ON_YOU = "waiting"
FOR_BUDGET = "for budget"
FOR_TASKS = "for tasks"
STATES: Mapping[str, str] = {
    WAITING_ON_YOU: "asking",
    "running": "running",
    "stalled": "stalled",
    FOR_BUDGET: "for_budget",
    FOR_TASKS: "for_tasks",
    "queued": "queued",
    "failed": "failed",
    "lost": "lost",
}
"""What tasks that are not over are called wherever they are listed and counted, in that order; and in JSON."""


class Budget(Struct, frozen=True):
    """What one task may spend; 0 means no limit of its own."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0  # of work between and in model calls, over all attempts; waiting is left out


class Spec(Struct, frozen=True):
    """tasks/<id>/spec.json: everything a stateless worker needs to begin."""

    id: str
    objective: str
    role: str = "researcher"
    model: str = ""  # a tier, a model id, or empty for the role's own tier
    context: str = ""
    folder: str = ""  # where relative names in the objective count from; empty: there are none
    constraints: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()  # checks that must hold for the task to be done, such as `command: make test`
    roots: tuple[str, ...] = ()  # of the folders its role may change only these; empty: all of them
    isolate: str = ""  # worktree | copy: it changes a folder of its own; empty: as its role says
    host: str = ""  # where its worker runs: a host, or `any`; empty: on the engine's own machine
    resources: tuple[str, ...] = ()  # of its host, such as gpu=1
    wu_id: str = ""
    lane: str = ""
    priority: str = "P2"
    depends_on: tuple[str, ...] = ()
    timeout_seconds: float = 0.0  # 0: the role's limit
    steps: int = 0  # tool calls; 0: the role's limit
    budget: Budget = field(default_factory=Budget)
    created_by: str = "operator"
    created_at: str = ""
    order: bool = False  # the operator's own: the process that gave it was seen to be theirs, or ordered it in the chat
    retry_of: str = ""
    parent: str = ""  # the task whose worker ordered it: its limits are those of both, and it is cancelled with it
    key: str = ""  # idempotency key of the creator
    kept: tuple[
        str, ...
    ] = ()  # of a loop: models (as in `model`) asked within the last hour, whose prompts stay cached
    schema: int = 1


class Run(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/run.json: which process was started for which attempt, written before the worker begins."""

    attempt: int
    started_at: str
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    epoch: int = 0
    notes_begun: bool = False  # its worker notes in begun.json when a call begins that must not be made twice
    host: str = ""  # on which it runs; empty: here
    schema: int = 1


class Parked(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/parked.json: the worker ended until what it waits for has come; steps.jsonl is its conversation."""

    attempt: int
    question: str  # its id among the approvals; or that of the task's wait for tasks that it ordered
    at: str
    schema: int = 1


class TaskWait(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/wait.json: the tasks for which it waits, and until when; counts while the task is parked for it."""

    id: str
    tasks: tuple[str, ...]
    until: str
    over: bool = False  # the engine has found its time to be over: its clock decides, so that none waits once more
    schema: int = 1


class StopRequest(Struct, frozen=True):
    """tasks/<id>/stop.json: a worker is asked to end, and how the task then counts."""

    status: str = "cancelled"  # or `failed`
    reason: str = ""
    after: str = "now"  # or `step`: when the tool call is done that runs now


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens and money of model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    read_tokens: int = 0  # of the input: what a vendor's cache gave
    light: int = 0  # tokens that no cap counts, by `model.budget.light_tokens`

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    @property
    def weight(self) -> int:
        """What they count in a cap of tokens."""
        return self.tokens - self.light

    def plus(self, other: "Usage") -> "Usage":
        """Return both together."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.usd + other.usd,
            self.read_tokens + other.read_tokens,
            self.light + other.light,
        )


class Exit(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/exit.json: how it ended; written once, by the worker, or by the engine for a lost one.

    In claim.json it is what a worker says whose task has checks: nothing has ended until those were run.
    """

    task_id: str
    status: str  # done | failed | cancelled | lost
    finished_at: str
    attempt: int = 1
    reason: str = ""
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    brain: str = ""  # `offline: largest-files`, or provider and model
    session: str = ""  # the transcript: transcripts/<session>.jsonl
    acceptance: Acceptance | None = None  # what became of the checks; None without any
    cap: str = ""  # at which cap it ended: task | loop | above, its own; trials: the line of trials
    unanswered: bool = False  # it ended as no model answered
    schema: int = 1


class TaskEvent(Struct, frozen=True, omit_defaults=True):
    """One line of tasks/<id>/events.jsonl."""

    at: str
    kind: str  # started | call | result | text | note | usage | error | finished
    text: str = ""
    tool: str = ""
    ok: bool = True
    attempt: int = 1
    data: dict[str, Any] = field(default_factory=dict)
    output: str = ""  # of a result: the first lines of what a command wrote


class TaskView(Struct, frozen=True):
    """A task as the operator sees it."""

    spec: Spec
    status: Status
    attempt: int = 0
    started: float = 0.0
    finished: float = 0.0
    last_event: float = 0.0
    pid: int = 0
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    brain: str = ""
    tail: tuple[TaskEvent, ...] = ()
    waits_for: tuple[str, ...] = ()  # unfinished dependencies
    archived: bool = False
    claimed: bool = False  # its worker says that it is done, and the checks have not been run to the end
    acceptance: Acceptance | None = None  # of the end, else of the attempt before
    cap: str = ""  # as in Exit
    host: str = ""  # as in Run

    @property
    def id(self) -> str:
        """The id of the spec."""
        return self.spec.id

    @property
    def verdict(self) -> Verdict | None:
        """Whether what counts as done is proved; None where it does not count as done, and was not disproved."""
        if self.finished and self.acceptance is not None:
            return self.acceptance.verdict
        return Verdict.CLAIMED if self.status is Status.DONE else None

    @property
    def outcome(self) -> str:
        """The word of its state; of a task that is done, whether that is proved."""
        return f"{self.state} ({self.verdict})" if self.status is Status.DONE else self.state

    @property
    def awaits_budget(self) -> bool:
        """Whether its worker waits for room in a budget, which asks nobody about the task itself."""
        last = self.tail[-1] if self.tail else None
        return self.status is Status.WAITING and last is not None and last.data.get("budget") is True

    @property
    def state(self) -> str:
        """The word of its state, one of STATES where it is not over."""
        if self.status is Status.WAITING:
            return FOR_BUDGET if self.awaits_budget else WAITING_ON_YOU
        return {Status.ASKING: WAITING_ON_YOU, Status.AWAITING: FOR_TASKS}.get(self.status, str(self.status))


def tally(tasks: Iterable[TaskView]) -> Counter[str]:
    """Return how many of the live tasks are in each state; the archive, which comes after them, is not read."""
    return Counter(view.state for view in live_ones(tasks))


def live_ones(tasks: Iterable[TaskView]) -> Iterator[TaskView]:
    """Yield the tasks before the archived ones, which would each have to be read from disk."""
    return takewhile(_is_live, tasks)


def _is_live(view: TaskView) -> bool:
    return not view.archived


def tally_words(counts: Mapping[str, int], always: frozenset[str] = frozenset()) -> list[str]:
    """Return `1 waiting`, `2 running`: each state of which there is a task, and those that are `always` said."""
    return [f"{counts.get(state, 0):,} {state}" for state in STATES if counts.get(state) or state in always]


def legible(events: Iterable[TaskEvent]) -> list[TaskEvent]:
    """Return the events as a person reads them: words that were streamed in one piece, and no end that only says again
    what the error before it said."""
    shown: list[TaskEvent] = []
    for event in events:
        last = shown[-1] if shown else None
        if last and last.kind == "error" and event.kind == "finished" and last.text[:_SAME] in event.text:
            continue
        if last and event.kind == last.kind == "text" and event.attempt == last.attempt:
            shown[-1] = structs.replace(last, text=last.text + event.text)
        else:
            shown.append(event)
    return shown


def derive_status(
    *, exit_status: str, ran: bool, lock_held: bool, claimed: bool = False, parked: Status | None = None
) -> Status:
    """Return the status of a task from what is there: exit.json, run.json, the worker's lock, claim.json, parked.json.

    `parked` is what the last one says: ASKING or AWAITING.
    A finished exit wins over a lock that is still held: the worker is on its way out. What is claimed waits for the
    process that checks it.
    """
    if exit_status:
        return Status(exit_status) if exit_status in Status.__members__.values() else Status.FAILED
    if lock_held:
        return Status.RUNNING
    if not ran or claimed:
        return Status.QUEUED
    return parked or Status.LOST
