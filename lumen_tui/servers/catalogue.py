"""The one table of what other programs may ask for, whatever protocol carries it.

An operation has a name, a scope, a struct of arguments that is its JSON Schema, and one function. A `Counter` is the
only way to call one: it checks the scope, the rate and the arguments, and makes every text in the answer safe.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.access import READS, Principal, Scope
from lumen_tui.model.ids import BadId
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import CreateNode, InsertPassage
from lumen_tui.model.requests.signals import ReadSignals, SendSignal
from lumen_tui.model.requests.tasks import CancelTask, NewTask, RetryTask
from lumen_tui.model.requests.work import (
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    NewWorkUnit,
    ReleaseWorkUnit,
    UnblockWorkUnit,
)
from lumen_tui.queries import documents
from lumen_tui.queries.documents import Document
from lumen_tui.servers import acts, reads
from lumen_tui.servers.access import RateLimit
from lumen_tui.servers.desk import Desk
from lumen_tui.storage.files import StoreError

Schema = dict[str, object]
T = TypeVar("T")


class Fault(StrEnum):
    """Why an operation was not carried out."""

    UNKNOWN = "unknown"  # there is no such operation
    DENIED = "denied"  # a scope is lacking
    INVALID = "invalid"  # the arguments do not fit
    MISSING = "missing"  # what it is about is not there
    REFUSED = "refused"  # by the rules of the verb
    BUSY = "busy"  # too many requests
    FAILED = "failed"  # the disk, or a file that cannot be used


class OperationError(Exception):
    """An operation that was not carried out; the text says why and what to do next."""

    def __init__(self, fault: Fault, text: str, candidates: tuple[str, ...] = (), retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.fault = fault
        self.candidates = candidates
        self.retry_after = retry_after  # seconds, of a BUSY one


class Operation(Struct, frozen=True):
    """One thing that can be asked for."""

    name: str
    title: str
    text: str  # what it is for and what one gets, as a model reads it
    scope: Scope
    arguments: type[Struct]
    call: Callable[..., Document]  # desk, who, arguments
    destructive: bool = False  # whether it ends something that goes on
    repeatable: bool = True  # whether doing it twice is the same as once


def _read(name: str, title: str, text: str, arguments: type[Struct], call: Callable[..., Document]) -> Operation:
    return Operation(name, title, text, Scope.READ, arguments, call)


def _act(
    name: str,
    title: str,
    text: str,
    kind: type[Request],
    *fields: str,
    call: Callable[..., Document] | None = None,
    destructive: bool = False,
    repeatable: bool = False,
) -> Operation:
    def submit(desk: Desk, who: Principal, arguments: Struct) -> Document:
        return acts.submit(desk, who, kind, arguments, {})

    made = acts.arguments_of(kind, *fields)
    return Operation(name, title, text, Scope.ACT, made, call or submit, destructive, repeatable)


_READS = (
    _read(
        "status",
        "Status",
        "How the agent is: its state, the open tasks, what holds work back, what was spent today "
        "and what needs a person.",
        reads.NoArguments,
        reads.status,
    ),
    _read(
        "briefing",
        "Briefing",
        "What matters for a piece of work before you begin it: its own notes, how such "
        "things are done here, and what is known elsewhere about the same, each with its age and whose word it is.",
        reads.BriefingArguments,
        reads.briefing,
    ),
    _read(
        "search",
        "Search",
        "Search memory, archive, signals, loops and tasks; the best first, each with the words "
        "around the match. recall reads one whole.",
        reads.SearchRequest,
        reads.search,
    ),
    _read(
        "recall",
        "Recall",
        "Read one entry of memory or of the archive whole, by the id that search gave.",
        reads.RecallRequest,
        reads.recall,
    ),
    _read(
        "inbox",
        "Inbox",
        "Signals that you have not marked as read (mark_read), the newest first.",
        reads.InboxRequest,
        reads.inbox,
    ),
    _read("list_signals", "Signals", "All signals, the newest first.", reads.PageRequest, reads.list_signals),
    _read(
        "list_tasks",
        "Tasks",
        "Tasks: what needs a person first, then those at work, queued and ended.",
        reads.TasksRequest,
        reads.list_tasks,
    ),
    _read(
        "read_task",
        "Task",
        "One task: what was asked, how it stands, its last events, what it waits for, and its result.",
        reads.TaskRequest,
        reads.read_task,
    ),
    _read(
        "list_discoveries",
        "Discoveries",
        "What was noticed on the way and not judged yet, the most urgent first.",
        reads.DiscoveriesRequest,
        reads.list_discoveries,
    ),
    _read(
        "list_units",
        "Work units",
        "Work units: the backlog, with state, lane and who holds each.",
        reads.UnitsRequest,
        reads.list_units,
    ),
    _read(
        "read_unit",
        "Work unit",
        "All that is known of one work unit: description, acceptance, checkpoints, decisions, signals.",
        reads.UnitRequest,
        reads.read_unit,
    ),
    _read(
        "list_approvals",
        "Approvals",
        "Calls and questions of workers that wait for a person, whole, each with the hash that an answer needs.",
        reads.NoArguments,
        reads.list_approvals,
    ),
    _read(
        "read_approval",
        "Approval",
        "One call or question with all that is known of it, and what became of it.",
        reads.ApprovalRequest,
        reads.read_approval,
    ),
    _read("list_roles", "Roles", "Who can be given a task.", reads.NoArguments, reads.roles),
    _read(
        "budget",
        "Budget",
        "What was spent today, by role, model and task, against the caps.",
        reads.NoArguments,
        reads.budget,
    ),
    _read("attention", "Attention", "The list of what needs a person.", reads.NoArguments, reads.attention),
)
_ACTS = (
    _act(
        "create_task",
        "New task",
        "Give a worker a task and get its id at once; read_task has the result later. The "
        "worker knows nothing but what you write.",
        NewTask,
        "objective",
        "role",
        "model",
        "constraints",
        "accept",
        "context",
        "folder",
        "isolate",
        "wu_id",
        "lane",
        "priority",
        "timeout_seconds",
        "steps",
        "depends_on",
        "key",
        call=acts.create_task,
    ),
    _act(
        "cancel_task",
        "Cancel a task",
        "Stop a task, or keep it from beginning. The operator's own stay.",
        CancelTask,
        "task_id",
        "reason",
        destructive=True,
        repeatable=True,
    ),
    _act(
        "retry_task", "Try a task again", "Queue an ended task again; you get the new id.", RetryTask, "task_id", "key"
    ),
    _act(
        "send_signal",
        "Send a signal",
        "Leave a short note for the agent, a role or everybody. P0 calls a person at once.",
        SendSignal,
        "message",
        "to",
        "wu_id",
        "lane",
        "priority",
        "type",
        "reply_to",
        "key",
    ),
    _act(
        "mark_read",
        "Mark as read",
        "Mark signals as read by you; nobody else's inbox changes.",
        ReadSignals,
        "signal_ids",
        repeatable=True,
    ),
    _act(
        "remember",
        "Remember",
        "Keep a note for good, for later tasks and sessions. It is marked as yours and as not "
        "to be trusted; a person decides what becomes of it.",
        InsertPassage,
        "text",
        "tags",
        "importance",
        "kind",
        "wu_id",
        "lane",
        "key",
        call=acts.remember,
    ),
    _act(
        "discover",
        "Report a discovery",
        "Note something that you noticed on the way and that somebody should judge: a bug, an idea, a risk.",
        CreateNode,
        "content",
        "tags",
        "priority",
        "wu_id",
        "discovered_from",
        "key",
    ),
    _act(
        "create_unit",
        "New work unit",
        "Add a work unit to the backlog.",
        NewWorkUnit,
        "title",
        "lane",
        "type",
        "priority",
        "body",
        "acceptance",
        "depends_on",
        "key",
    ),
    _act(
        "claim_unit",
        "Claim a work unit",
        "Take a work unit, within the limit of its lane.",
        ClaimWorkUnit,
        "wu_id",
        "lane",
    ),
    _act(
        "release_unit",
        "Release a work unit",
        "Give a work unit back that you hold.",
        ReleaseWorkUnit,
        "wu_id",
        "reason",
    ),
    _act(
        "block_unit",
        "Block a work unit",
        "Say that a work unit cannot go on, and why.",
        BlockWorkUnit,
        "wu_id",
        "reason",
    ),
    _act("unblock_unit", "Unblock a work unit", "Make a blocked work unit ready again.", UnblockWorkUnit, "wu_id"),
    _act(
        "finish_unit",
        "Finish a work unit",
        "Close a work unit as done.",
        FinishWorkUnit,
        "wu_id",
        "no_checkpoint_check",
        destructive=True,
    ),
)
_ANSWERS = (
    Operation(
        "answer_approval",
        "Answer a call",
        "Allow or refuse a call that waits for a person. Only this very "
        "call, once; refused where it has changed or has its answer.",
        Scope.APPROVE,
        acts.AnswerApproval,
        acts.answer_approval,
        destructive=True,
        repeatable=False,
    ),
    Operation(
        "answer_question",
        "Answer a question",
        "Answer a question of a worker. Only this very question, once. "
        "It reaches the worker as your word, not as the operator's.",
        Scope.APPROVE,
        acts.AnswerWords,
        acts.answer_question,
        repeatable=False,
    ),
)
OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in (*_READS, *_ACTS, *_ANSWERS)}


def offered(who: Principal) -> list[Operation]:
    """Return what a program may ask for, always in the same order."""
    return [operation for operation in OPERATIONS.values() if who.may(operation.scope)]


@functools.cache
def schema_of(arguments: type[Struct]) -> Schema:
    """Return the JSON Schema (2020-12) of the arguments, whole in itself."""
    (_,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    own = dict(components.pop(arguments.__name__))
    own.pop("title", None)
    return {**own, **({"$defs": components} if components else {})}


class AdmittedCall(NamedTuple):
    """A call of an operation whose scope, rate and arguments were looked at. A `Counter` alone makes one."""

    who: Principal
    operation: Operation
    arguments: Struct


class Counter:
    """Where programs are served: one desk, and how often each may ask."""

    def __init__(self, desk: Desk, reads: float = READS) -> None:
        """`reads` is how many a second one program may make in the long run."""
        self.desk = desk
        self._rate = RateLimit(desk.clock.awake, reads)

    def invoke(self, who: Principal, name: str, arguments: object) -> Document:
        """Carry out an operation and return its document. OperationError where it was not carried out."""
        return self.carry_out(self.admitted(who, name, arguments), documents.plain)

    def admitted(self, who: Principal, name: str, arguments: object) -> AdmittedCall:
        """Count a call of an operation, and let it through. OperationError where it may not be carried out."""
        operation = OPERATIONS.get(name)
        if operation is None:
            raise OperationError(Fault.UNKNOWN, f"there is no operation {name[:80]!r}")
        if not who.may(operation.scope):
            raise OperationError(Fault.DENIED, f"{name} needs the scope {operation.scope}, which {who.by} lacks")
        self.count(who, operation.scope)
        return AdmittedCall(who, operation, _decoded(operation, arguments))

    def carry_out(self, call: AdmittedCall, form: Callable[[Document], T]) -> T:
        """Carry out what was let through and return its document in a form. OperationError where that failed."""
        with failing():
            return form(call.operation.call(self.desk, call.who, call.arguments))

    def count(self, who: Principal, scope: Scope) -> None:
        """Count a request of a program. OperationError where it is one too many."""
        if seconds := self._rate.wait(who, scope):
            text = f"too many requests: try again in {seconds:.1f} s"
            raise OperationError(Fault.BUSY, text, retry_after=seconds)


@contextlib.contextmanager
def failing() -> Iterator[None]:
    """Raise what goes wrong in the block as an OperationError."""
    try:
        yield
    except ActionError as error:
        fault = Fault.MISSING if error.missing else Fault.REFUSED
        raise OperationError(fault, str(error), error.candidates) from error
    except (BadId, ValueError) as error:
        raise OperationError(Fault.INVALID, str(error)) from error
    except (StoreError, OSError) as error:
        raise OperationError(Fault.FAILED, str(error)) from error


def _decoded(operation: Operation, arguments: object) -> Struct:
    try:
        return msgspec.convert(arguments, operation.arguments)
    except msgspec.ValidationError as error:
        raise OperationError(Fault.INVALID, f"{operation.name}: {error}") from error
