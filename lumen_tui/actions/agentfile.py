"""Import an agent file: its blocks, passages and messages. Everything is checked before anything is written.

Importing the same file twice changes nothing: a block with the same text stays as it is, passages have ids derived from
their text, and messages go to a file named after their content.
"""

from __future__ import annotations

import msgspec

from lumen_tui.actions import blocks as verbs
from lumen_tui.actions import edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import archive as notes
from lumen_tui.model import times
from lumen_tui.model.agentfile import AfBlock, AfPassage, AgentFile, BadAgentFile
from lumen_tui.model.blocks import LIMIT, MOST_LIMIT, STANDARD, BadEdit, Block, Fields, check_fields
from lumen_tui.model.digests import sha256
from lumen_tui.model.records import Change
from lumen_tui.model.requests.base import Request
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import agent_files, archive, blocks
from lumen_tui.store.memory.agent_files import Clean
from lumen_tui.store.memory.blocks import Write

KIND = "imported"  # passages, in the journal of actions
TAKEN = "replaced"
SAME = "the same already"
KEPT = "kept as it is"
NEW = "new"


class BlockPlan(msgspec.Struct, frozen=True):
    """What an import does with one block."""

    name: str
    label: str
    text: str
    fields: Fields
    outcome: str
    reason: str = ""


class Plan(msgspec.Struct, frozen=True):
    """What an import does, or would do in a dry run."""

    name: str
    shape: str
    blocks: tuple[BlockPlan, ...]
    passages: tuple[notes.Passage, ...]
    new_passages: int
    all_passages: int  # including those in the archive under an id of their own
    session: str  # the transcript; empty where there are no messages
    messages: int
    new_session: bool
    tools: tuple[str, ...]
    left_out: tuple[str, ...]
    transcript: bytes = b""

    @property
    def changes(self) -> bool:
        """Whether the import would change anything."""
        written = any(block.outcome in (NEW, TAKEN) for block in self.blocks)
        return written or bool(self.new_passages) or self.new_session


class ImportAgentFile(Request, tag="af.import", frozen=True, kw_only=True):
    """Import an agent file as `plan` shows."""

    plan: Plan


def plan(
    store: Store,
    agent: AgentFile,
    clean: Clean,
    *,
    by: str,
    now: float,
    replace: bool = False,
    raise_limits: bool = False,
    origin: str = "",
) -> Plan:
    """Return what an import of this file would do, writing nothing. ActionError where the file cannot be imported."""
    layout = store.layout
    block_plans = tuple(_block(store, item, clean, replace, raise_limits) for item in agent.blocks)
    if twice := {item.name for item in block_plans if [other.name for other in block_plans].count(item.name) > 1}:
        raise ActionError(f"two blocks of the file would both be called {sorted(twice)[0]} here")
    name = _import_name(agent)
    passages = {item.id: item for passage in agent.passages for item in _notes(passage, clean, by, now, origin, name)}
    count = len(passages)
    passages = _new_to_archive(store, passages)
    archived = archive.find(layout, list(passages))
    fresh = [name for name in passages if name not in archived or archived[name].status == notes.WITHDRAWN]
    session = agent_files.session_id(agent) if agent.messages else ""
    data = agent_files.transcript(agent, clean) if session else b""
    return Plan(
        name=one_line(clean(agent.name), 100),
        shape=agent.shape,
        blocks=block_plans,
        passages=tuple(passages.values()),
        new_passages=len(fresh),
        all_passages=count,
        session=session,
        messages=len(agent.messages),
        new_session=bool(session) and files.read(layout.transcript(session), len(data) + 1) != data,
        tools=tuple(one_line(tool, 80) for tool in agent.tools),
        left_out=tuple(one_line(line, 200) for line in agent.left_out),
        transcript=data,
    )


def _new_to_archive(store: Store, passages: dict[str, notes.Passage]) -> dict[str, notes.Passage]:
    """Return the passages that the archive does not hold already under an id of its own, as after an export."""
    standing = (
        {(passage.content, passage.tags): passage.id for passage in archive.passages(store.layout)} if passages else {}
    )
    return {
        name: passage
        for name, passage in passages.items()
        if standing.get((passage.content, passage.tags), name) == name
    }


def _block(store: Store, block: AfBlock, clean: Clean, replace: bool, raise_limits: bool) -> BlockPlan:
    given, text = clean(block.label), clean(block.value)
    name, label = agent_files.block_name(given), one_line(given, 100)
    limit = max(block.limit or LIMIT, len(text) if raise_limits else 0)
    fields = Fields(
        description=one_line(clean(block.description), 1000),
        limit=min(limit, MOST_LIMIT),
        read_only=block.read_only,
        label=label if label != name else "",
    )
    try:
        check_fields(name, text, fields)
    except BadEdit as error:
        hint = " (--raise-limits gives each block the limit that it needs)" if len(text) <= MOST_LIMIT else ""
        raise BadAgentFile(f"block {label}: {error}{hint}") from error
    outcome, reason = _outcome(blocks.read(store.layout, name), text, replace)
    return BlockPlan(name, label, text, fields, outcome, reason)


def _outcome(block: Block, text: str, replace: bool) -> tuple[str, str]:
    if block.text == text and (block.at or block.name in STANDARD):
        return SAME, ""
    if block.problem or block.fields.locked or block.fields.read_only:
        return KEPT, block.problem or f"it is {'locked' if block.fields.locked else 'read-only'}"
    if block.text.strip() and not replace:
        return KEPT, "yours says something else: --replace takes the file's"
    return (TAKEN if block.text.strip() else NEW), ""


def _import_name(agent: AgentFile) -> str:
    """Return the session id that all passages of one file share, by which undo finds them."""
    return f"af-{sha256(msgspec.json.encode(agent.passages))[:16]}"


def _notes(passage: AfPassage, clean: Clean, by: str, now: float, origin: str, name: str) -> list[notes.Passage]:
    """Split one passage into archive notes: several where it is long."""
    tags = [one_line(clean(tag), 100).strip() for tag in passage.tags][: notes.MOST_TAGS]
    good = tuple(dict.fromkeys(tag for tag in tags if tag and tag.isprintable()))
    written_at = _time_or_now(passage.at, now)
    source = one_line(" ".join(filter(None, (origin, clean(passage.source)))), 300)
    return [
        notes.passage(
            text,
            by=by,
            now=written_at,
            tags=good,
            source=source,
            trust="imported",
            session_id=name,
            kind=passage.kind or "semantic",
            importance=passage.importance if passage.importance >= 0 else notes.USUAL,
            key="af:" + sha256("\0".join((text, *good)).encode("utf-8", "replace")),
        )
        for text in notes.parts(clean(passage.text))
    ]


def _time_or_now(text: str, now: float) -> float:
    seconds = times.epoch(text)
    return seconds if 0 < seconds <= now else now


def take_in(store: Store, request: ImportAgentFile, *, by: str, now: float) -> Done:
    """Carry out an import in idempotent parts: a second run after a crash does what is missing."""
    plan = request.plan
    if not plan.changes:
        raise ActionError(f"all of {plan.name or 'the agent'} is here already: nothing was changed", missing=True)
    new = [block for block in plan.blocks if block.outcome in (NEW, TAKEN)]
    summary = f"{plan.name or 'an agent'} imported: {_many(len(new), 'block')}, {_many(plan.new_passages, 'passage')}"
    final = "" if new or plan.new_passages else "only its messages came: the transcript stays"
    action = edits.new_action("af.import", [], summary=summary, by=by, now=now, target=plan.session, final=final)
    journal.record(store.layout, action)  # what follows belongs to it
    for block in new:
        _write(store, block, by, now, plan.name)
    if plan.new_session:
        files.replace(store.layout.transcript(plan.session), plan.transcript)
    if plan.new_passages:
        change = Change(KIND, plan.passages[0].session_id, {"status": notes.WITHDRAWN}, {"status": ""})
        passages = edits.new_action("af.import", [change], summary="its passages", by=by, now=now)
        archive.append(store.layout, plan.passages, journal.begun_lines(passages))
    return Done(summary=summary, target=plan.session, action_id=action.id)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _write(store: Store, block: BlockPlan, by: str, now: float, origin: str) -> None:
    def decide(before: Block) -> Write:
        limit = max(before.fields.limit, block.fields.limit) if before.at else block.fields.limit
        fields = msgspec.structs.replace(block.fields, limit=limit)
        source = one_line(f"agent file of {origin}", 200)
        return Write(block.text, fields, by, "import", "imported", source=source, person=False)

    verbs.write_as_action(store, block.name, decide, verb="af.import", summary=f"block {block.name}", by=by, now=now)


def _of_import(store: Store, name: str) -> list[notes.Passage]:
    """Return the newest line of each passage that an import added."""
    newest = {}
    for line in Journal(store.layout.archival).lines():
        if passage := archive.read(line):
            newest[passage.id] = passage
    return [passage for passage in newest.values() if passage.session_id == name]


def passages_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the passages of an import are present or withdrawn; None where they differ."""
    standing = {passage.status for passage in _of_import(store, change.key)}
    return {"status": standing.pop()} if len(standing) == 1 else None


def put_passages(store: Store, change: Change) -> None:
    """For undo: withdraw the passages of an import, or bring them back."""
    status = str((change.after or {}).get("status", ""))
    turned = [msgspec.structs.replace(passage, status=status) for passage in _of_import(store, change.key)]
    Journal(store.layout.archival).append_all(turned)
