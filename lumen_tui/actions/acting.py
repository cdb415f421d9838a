"""Who is acting, from which client, and which actions belong together: a context variable that every verb reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from lumen_tui.actions.refusal import ActionError
from lumen_tui.model.records import Action
from lumen_tui.storage import process
from lumen_tui.storage.rewriting import Watch, unwatched

CLI = "cli"  # all command lines of one operator, but those of an agent in a session, which are that session's
ENGINE = "engine"  # what the engine does in an agent's name, or in its own
LEARNING = "evolution"  # in whose name the engine learns by itself
RESERVED = frozenset({
    "approval.allow", "approval.allow_always", "changes.accept", "changes.commit", "changes.push", "changes.write",
    "constitution.approve", "evolution.accept", "evolution.mark", "evolution.promote", "evolution.rollback",
    "evolution.split", "evolution.take", "budget.raise", "unkill",
    "question.answer", "summary.rewrite", "task.tell", "task.limit", "tool.accept",
})  # fmt: skip
OUTSIDE = ("ntfy", "mail")  # clients by which an operator answers without a room or a shell
AGENT_PROGRAM = "system"  # who asks where an agent's own program started the command
AGENT = "agent:"  # before the task whose model did it, by a tool
PROGRAM = "program:"  # before the name of another program that is connected, such as mcp:claude-code
_ROOM = "room-"


class Caller(NamedTuple):
    """The operator on whose behalf something is done, from which client and when, with the actions made so far."""

    by: str = "undo"
    client: str = ""
    now: float = 0.0  # seconds since 1970
    actions: list[str] | None = None  # ids; None outside `acting_for`: each action is undone by itself
    watch: Watch = unwatched  # gets the share that is done of what takes long
    order: bool = False  # whether it comes from a process that is seen to be the operator's: `storage.origin`

    @property
    def via(self) -> str:
        """The way by which an answer came from elsewhere; empty for rooms and command lines."""
        return self.client if self.client in OUTSIDE else ""

    @property
    def task(self) -> str:
        """The task whose model asks for it by a tool; empty for everybody else."""
        return self.client.removeprefix(AGENT) if self.client.startswith(AGENT) else ""

    @property
    def bounded(self) -> bool:
        """Whether a model or another program asks, which may not undo what a person holds or has ordered."""
        return self.client.startswith((AGENT, PROGRAM)) and not self.order


_NOBODY = Caller()
_caller: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)


@contextmanager
def acting_for(by: str, client: str, now: float, watch: Watch = unwatched, *, order: bool = False) -> Iterator[None]:
    """Attribute the actions made in the block to this operator in this client; undo takes them back as one."""
    token = _caller.set(Caller(by, client, now, [], watch, order))
    try:
        yield
    finally:
        _caller.reset(token)


def must_not_be_agent(verb: str, evidence: str) -> None:
    """Refuse one of RESERVED to a process that an agent started; `evidence` shows that it did."""
    if verb in RESERVED and evidence:
        raise ActionError(f"only the operator may do this, and an agent asks ({evidence}): do it in the room")


def caller() -> Caller:
    """Return the operator on whose behalf the current code runs."""
    return _caller.get()


def group_of(action_id: str) -> str:
    """Return the group of a new action: the id of the first one for the same caller, empty outside `acting_for`."""
    ids = _caller.get().actions
    if ids is None:
        return ""
    ids.append(action_id)
    return ids[0]


def undo_filter(by: str, client: str) -> Callable[[Action], bool]:
    """Return a test for the actions that undo without an id may take back: by this operator in this client.

    A room also takes over the actions of rooms that have ended; records without a client belong to every client.
    """

    def test(action: Action) -> bool:
        return action.by == by and (action.client in ("", client) or not client or _left_behind(action.client, client))

    return test


def may_undo_by_id(who: str, client: str, by: str) -> bool:
    """Return whether an operator may undo, by its id, what `who` did.

    Their own actions, what the engine learnt, and what the agent did by its tools, or another program.
    """
    return who == by or (who == LEARNING and client == ENGINE) or client.startswith((AGENT, PROGRAM))


def _left_behind(origin: str, client: str) -> bool:
    return client.startswith(_ROOM) and origin.startswith(_ROOM) and not process.lives(origin.removeprefix(_ROOM))


def origin_text(origin: str, client: str) -> str:
    """Say for people in which client something was done."""
    if origin == client:
        return "here"
    if origin.startswith(_ROOM):
        name = origin.removeprefix(_ROOM)
        pid = name.partition("-")[0]
        return f"in another room (process {pid})" if process.lives(name) else "in a room that has ended"
    if origin.startswith(AGENT):
        return f"by a tool in {origin.removeprefix(AGENT)}"
    if origin.startswith(PROGRAM):
        return f"by another program ({origin.removeprefix(PROGRAM)})"
    return "on the command line" if origin in ("", CLI) else f"in {origin}"
