"""What the main agent notes down and says: signals, memory, discoveries, checkpoints, proposals. Each once a loop.

Another attempt at the same loop does none of them twice. The id of an act derives from the loop and the call; the act
is carried out first and recorded then, and after a kill between the two the next attempt gets the same id and finds
the record that already has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model import ids, times
from lumen_tui.model.agent import ACTS_FILE, ROLE, Act
from lumen_tui.model.archive import KINDS, USUAL
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.ids import short_hash
from lumen_tui.model.kinds import CHECKPOINT_MARK
from lumen_tui.model.records import Node, Signal
from lumen_tui.model.requests.memory import CreateNode, InsertPassage
from lumen_tui.model.requests.sessions import SaveCheckpoint
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.text import one_line
from lumen_tui.storage import backwards, files
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.agent.memory import label, trust_in
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult


def acts_so_far(context: Context) -> list[Act]:
    """Return all acts of this loop so far, in any attempt."""
    acts = []
    for line in (files.read(context.folder / ACTS_FILE) or b"").splitlines():
        try:
            acts.append(msgspec.json.decode(line, type=Act))
        except UNDECODABLE:
            continue  # torn by a kill: its id is found again
    return acts


def agent_name(context: Context) -> str:
    """Return the name with which the main agent signs."""
    return load_config(context.store.layout)[0].agent.name


def call_key(context: Context, kind: str, arguments: Struct) -> str:
    """Return the key of a call: the same for the same call in the same loop, in any attempt."""
    return f"{context.spec.id}:{short_hash(kind + msgspec.json.encode(arguments).decode())}"


def once(
    context: Context,
    kind: str,
    arguments: Struct,
    summary: str,
    perform: Callable[[str, list[Act]], str],
    *,
    about: str = "",
    count: int = 1,
) -> ToolResult:
    """Carry out `perform(key, acts so far)`, which returns the id of what it made, unless that was done before.

    Where the call changes the state of a thing, which `about` names, it counts as done only if nothing was done to that
    since. `count` is how many things of the kind it makes.
    """
    key = call_key(context, kind, arguments)
    acts = acts_so_far(context)
    looked_at = [act for act in acts if act.id == about][-1:] if about else acts
    if earlier_act := next((earlier for earlier in looked_at if earlier.key == key), None):
        where = "loop" if context.role.name == ROLE else "task"
        return ToolResult(
            f"done before in this {where}: {earlier_act.kind} {earlier_act.id}",
            data={"id": earlier_act.id},
            summary="before",
        )
    with context.guard():
        made_id = perform(key, acts)
        Journal(context.folder / ACTS_FILE).append(Act(key, kind, made_id, summary[:200], count))
    return ToolResult(f"{kind} {made_id} recorded", data={"id": made_id}, summary=made_id)


_LOOKED_THROUGH = 1024 * 1024  # bytes of the signals' end in which an attempt that was killed may have left one
_Wu = Annotated[str, Meta(max_length=20, description="such as WU-042")]
_Tags = Annotated[tuple[str, ...], Meta(max_length=10)]


class AgentSignalArguments(Struct, frozen=True, forbid_unknown_fields=True):
    message: Annotated[str, Meta(min_length=1, max_length=4000)]
    to: Annotated[str, Meta(max_length=100)] = ""
    wu_id: _Wu = ""
    priority: Literal["", "P0", "P1", "P2", "P3"] = ""
    reply_to: Annotated[str, Meta(max_length=64)] = ""


class AgentRememberArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=8000, description="the first line is its title")]
    kind: Annotated[
        Literal["note", "decision", "episodic", "semantic", "procedural"],
        Meta(description="a decision holds until another one replaces it; procedural: how something is done"),
    ] = "note"
    importance: Annotated[float, Meta(ge=0, le=1)] = USUAL
    wu_id: _Wu = ""
    tags: _Tags = ()
    source: Annotated[str, Meta(max_length=400)] = ""


class AgentDiscoverArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="what was noticed, on one line")]
    details: Annotated[str, Meta(max_length=8000, description="evidence: where, what, how to see it again")] = ""
    priority: Literal["P0", "P1", "P2", "P3"] = "P2"
    wu_id: _Wu = ""
    tags: _Tags = ()


class CheckpointArguments(Struct, frozen=True, forbid_unknown_fields=True):
    wu_id: _Wu
    note: Annotated[str, Meta(min_length=1, max_length=2000, description="where the work on it stands")]
    next_steps: Annotated[str, Meta(max_length=2000)] = ""


class ProposeArguments(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="the change, on one line")]
    why: Annotated[str, Meta(min_length=1, max_length=8000, description="the evidence")]
    about: Annotated[
        Literal["role", "prompt", "strategy", "knowledge", "setting", "tool", "other"],
        Meta(description="what would change"),
    ] = "other"
    target: Annotated[str, Meta(max_length=100, description="its name, such as the role's")] = ""


def _checked(wu_id: str) -> str:
    try:
        return ids.check_wu(wu_id) if wu_id else ""
    except ids.BadId as error:
        raise ToolError(str(error)) from error


def signal(context: Context, arguments: AgentSignalArguments) -> ToolResult:
    def send(key: str, before: list[Act]) -> str:
        record = Signal(
            id=f"sig-{short_hash(key)}",
            message=context.clean(arguments.message).strip(),
            created_at=times.iso(context.now()),
            sender=agent_name(context),
            wu_id=_checked(arguments.wu_id),
            target_agent=one_line(arguments.to, 100),
            priority=arguments.priority,
            reply_to=one_line(arguments.reply_to, 64),
            task_id=context.spec.id,
        )
        journal = context.store.layout.signals
        if record.id.encode() not in backwards.read_tail(journal, _LOOKED_THROUGH):
            context.store.signals.append(record)
        return record.id

    return once(context, "signal", arguments, one_line(arguments.message, 200), send)


def _note(
    context: Context,
    arguments: Struct,
    kind: str,
    node_type: str,
    content: str,
    *,
    tags: tuple[str, ...] = (),
    wu_id: str = "",
    lifecycle: str = "wu",
    memory: dict[str, object] | None = None,
    **metadata: str,
) -> ToolResult:
    """Append a node. The last line of an id counts, so that the same one twice is one node."""
    labels, unit = [label(tag) for tag in tags], _checked(wu_id)

    def append(key: str, before: list[Act]) -> str:
        facts = {**metadata, "loop": context.spec.id}
        told = {name: context.clean(text).strip() for name, text in facts.items() if text}
        node = Node(
            id=f"mem-{short_hash(key)}",
            type=node_type,
            content=context.clean(content).strip(),
            wu_id=unit,
            created_at=times.iso(context.now()),
            lifecycle=lifecycle,
            tags=tuple(dict.fromkeys(labels)),
            metadata=told | trust_in(context, "agent") | (memory or {}),
            created_by=agent_name(context),
        )
        context.store.nodes.append(node)
        return node.id

    return once(context, kind, arguments, one_line(content, 200), append)


def remember(context: Context, arguments: AgentRememberArguments) -> ToolResult:
    tags = (*arguments.tags, "decision") if arguments.kind == "decision" else arguments.tags
    memory: dict[str, object] = {"kind": arguments.kind} if arguments.kind in KINDS else {}
    memory |= {"importance": arguments.importance} if arguments.importance != USUAL else {}
    return _note(
        context,
        arguments,
        "note",
        "note",
        arguments.text,
        tags=tags,
        wu_id=arguments.wu_id,
        lifecycle="project",
        source=arguments.source,
        memory=memory,
    )


def discover(context: Context, arguments: AgentDiscoverArguments) -> ToolResult:
    content = f"{' '.join(arguments.title.split())}\n\n{arguments.details}".strip()
    return _note(
        context,
        arguments,
        "discovery",
        "discovery",
        content,
        tags=arguments.tags,
        wu_id=arguments.wu_id,
        status="open",
        priority=arguments.priority,
    )


def checkpoint(context: Context, arguments: CheckpointArguments) -> ToolResult:
    return _note(
        context,
        arguments,
        "checkpoint",
        "checkpoint",
        f"{CHECKPOINT_MARK}{arguments.note}",
        wu_id=arguments.wu_id,
        lifecycle="session",
        nextSteps=arguments.next_steps,
        trigger="loop",
    )


def propose(context: Context, arguments: ProposeArguments) -> ToolResult:
    """Note a discovery with the tag `proposal`: a person judges it beside all that was noticed."""
    content = f"Proposal: {' '.join(arguments.title.split())}\n\n{arguments.why}"
    return _note(
        context,
        arguments,
        "proposal",
        "discovery",
        content,
        tags=("proposal", arguments.about),
        status="open",
        priority="P2",
        about=arguments.about,
        target=one_line(arguments.target, 100),
    )


SIGNAL = Tool(
    "signal",
    "Send a short note to a person, an agent or a role by name, or to all of them. Use it to answer a person "
    "(reply_to names the signal), or to tell somebody what concerns them; to give out work use create_task. Expect no "
    "answer in this loop.",
    AgentSignalArguments,
    signal,
    lambda a: f"signal {a.message}",
    request=SendSignal,
    effect=Effect.NONE,
)
REMEMBER = Tool(
    "remember",
    "Keep something that must outlive this loop: a fact, a decision with its reason, a way of doing something. Use "
    "it for what single tasks and loops will look up with memory_search. What every loop needs goes into a memory "
    "block.",
    AgentRememberArguments,
    remember,
    lambda a: f"remember {a.kind}: {a.text}",
    request=InsertPassage,
    effect=Effect.NONE,
)
DISCOVER = Tool(
    "discover",
    "Record a defect, an idea or a question for a person to judge, with its evidence and priority. Use it where you "
    "would not decide alone. Work that is plainly wanted is a task.",
    AgentDiscoverArguments,
    discover,
    lambda a: f"discover {a.title}",
    request=CreateNode,
    effect=Effect.NONE,
)
CHECKPOINT = Tool(
    "checkpoint",
    "Save where the work on a work unit stands and what comes next. Use it when a task on the unit has ended or you "
    "change its course. Its workers find the last one in their prompt.",
    CheckpointArguments,
    checkpoint,
    lambda a: f"checkpoint {a.wu_id}: {a.note}",
    request=SaveCheckpoint,
    effect=Effect.NONE,
)
PROPOSE = Tool(
    "propose",
    "Propose a change of a role, prompt, strategy or setting, with its evidence: tasks, figures, quotations. Use it "
    "where the same thing went wrong or was asked for more than once. A person decides.",
    ProposeArguments,
    propose,
    lambda a: f"propose {a.about}: {a.title}",
    effect=Effect.NONE,
)
