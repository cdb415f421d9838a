"""Sessions: started on a work unit, ended by id; their decisions, and the notes they hand over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.actions import changes, checks, edits, lanes, places, refusal
from lumen_tui.actions.edits import Fields, Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import fields, ids, times
from lumen_tui.model.records import Change
from lumen_tui.model.requests.sessions import (
    AnswerDecision,
    EndSession,
    GiveHandoff,
    NoteDecision,
    StartSession,
    TakeHandoff,
)
from lumen_tui.model.work import TIERS, SessionDecision, WorkSession, with_decision
from lumen_tui.queries.trail import HANDOFF, Trail
from lumen_tui.queries.trail_file import NODES
from lumen_tui.storage import directories, files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.signals.receipts import read_before
from lumen_tui.store.work import sessions as stored
from lumen_tui.store.work import views

_MOST = 20  # waiting for one work unit at once; the rest waits for the next taker


def give(store: Store, request: GiveHandoff, *, by: str, now: float) -> Done:
    """Append a note with the tag `handoff`; its id follows from the key."""
    where = places.place(store, by=by, wu_id=request.wu_id, session=request.session, writes=True)
    node = fields.node(request.note, by=by, now=now, type="note", tags=("handoff",), wu_id=where.wu_id)
    reader = fields.label(request.to, "reader")
    node["metadata"] = {"to": reader} if reader else {}
    if where.session:
        node["session_id"] = where.session_id
    unit_note = places.ensure_unit(store.root, where.wu_id, by=by, now=now)
    node = fields.keyed(node, request.key, "handoff")
    summary = f"handed over for {where.wu_id} to {reader or 'whoever goes on'}"
    action = edits.new_action("handoff.give", [edits.made_node(node)], summary=summary, by=by, now=now)
    if not edits.add_node(store, node, action, once=bool(request.key)):
        return Done(summary=f"the hand-off {fields.UNDER_KEY}", target=node["id"], aside=f"it {fields.UNDER_KEY}")
    return Done(summary=summary, target=node["id"], action_id=action.id, aside=unit_note)


def take(store: Store, *, by: str, now: float, wu_id: str, session_id: str = "") -> list[str]:
    """Take the notes that wait for this agent on a work unit; of two concurrent takers each note goes to one.

    Returns the ids of the notes taken. Undo gives them back.
    """
    return _take(store, by=by, now=now, wu_id=wu_id, session_id=session_id)[0]


def _take(store: Store, *, by: str, now: float, wu_id: str, session_id: str) -> tuple[list[str], str]:
    """Take the notes and return their ids with the id of the action."""
    with Trail(store.layout, (NODES,)) as trail:
        waiting = trail.newest(wu_id, (HANDOFF,), _MOST)
    offered = [node.id for node in waiting if node.metadata.get("to") in (None, "", by)]
    taken: list[str] = []
    action_id = ""
    marks = {"metadata.taken_by": by, "metadata.taken_at": times.iso(now), "metadata.taken_session": session_id or None}

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal taken, action_id
        chosen = [node for node in records.values() if _waits(node)]
        if not chosen:
            return [], b""
        taken = [str(node["id"]) for node in chosen]
        changes = [edits.patch(node, marks, by=by, now=now) for node in chosen]
        action = edits.new_action("handoff.take", changes, summary=_said(taken, wu_id), by=by, now=now)
        action_id = action.id
        return chosen, journal.begun_lines(action)

    if offered:
        nodes.change(store.layout, offered, edit)
    return taken, action_id


def _said(taken: list[str], wu_id: str) -> str:
    return f"{len(taken)} hand-off{'' if len(taken) == 1 else 's'} taken on {wu_id}"


def _waits(node: Raw) -> bool:
    return edits.status_of(node) == "open" and not nodes.get_field(node, "metadata.taken_at")


def accept(store: Store, request: TakeHandoff, *, by: str, now: float) -> Done:
    """Mark what waits for this reader as taken, and refuse where nothing does."""
    where = places.place(store, by=by, wu_id=request.wu_id, session=request.session)
    taken, action_id = _take(store, by=by, now=now, wu_id=where.wu_id, session_id=where.session_id)
    if not taken:
        raise ActionError(f"nothing waits for {by} on {where.wu_id}", missing=True)
    return Done(summary=_said(taken, where.wu_id), target=taken[0], action_id=action_id)


_OPEN = {"ended_at": "", "ended_by": ""}
SESSION_KIND = "session"  # of a change
CURRENT_KIND = "current session"
_LARGEST = 20_000  # bytes of a side that is kept for undo: both must fit into one line


def start(store: Store, request: StartSession, *, by: str, now: float) -> Done:
    """Start a session on a work unit, put that in progress, and take what was handed over for it.

    The same `key` starts one.
    """
    _check_tier(request.context_tier)
    kind = fields.label(request.agent_type, "agent type") or "unknown"
    unit_id = places.work_to_be(store.root, request.wu_id)
    name = fields.keyed_id("ses", request.key, "start") if request.key else ids.new_id("ses")
    if request.key and stored.read(store.layout, name):
        return Done(summary=f"session {name} {fields.UNDER_KEY}", target=name, aside=f"it {fields.UNDER_KEY}")
    node = _session_node(name, unit_id, kind, request.context_tier, by=by, now=now)
    unit_note = places.ensure_unit(store.root, unit_id, by=by, now=now)
    dirty = changes.detect(request.folder, base="", without=str(store.root))
    session = WorkSession(
        session_id=name,
        started_at=times.iso(now),
        active_wu=unit_id,
        lane=places.lane_of(store.root, unit_id),
        agent=by,
        agent_type=kind,
        context_tier=request.context_tier,
        node_id=node["id"],
        folder=request.folder,
        last_activity=times.iso(now),
        started_below=tuple(request.started_below),
        head_at_start=dirty.head,
        dirty_at_start=changes.change_times(dirty),
    )
    action_id = _begin(store, session, node, by=by, now=now)
    stays = _take_on(store, session, by=by, now=now)
    taken = take(store, by=by, now=now, wu_id=unit_id, session_id=name)
    summary = f"session {name} on {unit_id}" + (f", {len(taken)} hand-off taken" if taken else "")
    return Done(summary=summary, target=name, action_id=action_id, aside="; ".join(filter(None, (unit_note, stays))))


def _session_node(name: str, unit_id: str, kind: str, context_tier: str, *, by: str, now: float) -> Raw:
    text = f"Session started for {unit_id}. Agent: {kind}, Context: {context_tier}"
    node = fields.node(text, by=by, now=now, type="session", wu_id=unit_id)
    return node | {"session_id": name, "metadata": {"agentType": kind, "contextTier": context_tier}}


def _check_tier(context_tier: str) -> None:
    if context_tier not in TIERS:
        problem = f"context tier {context_tier!r} is unknown: one of {', '.join(TIERS)}"
        raise ActionError(problem, candidates=refusal.nearest(context_tier, TIERS))


def _begin(store: Store, session: WorkSession, node: Raw, *, by: str, now: float) -> str:
    """Write the session, its node and its read position as one action; return its id."""
    receipts = []
    if before := read_before(store.layout, by):
        receipts.append(fields.receipt(before, reader=session.session_id, now=now, upto=True))
    changes = [*_start_changes(store, session), edits.made_node(node), *edits.changes_of(edits.READ_KIND, receipts)]
    summary = f"session on {session.active_wu} started"
    action = edits.new_action("session.start", changes, summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        stored.start(store.layout, session)
        store.nodes.append(node)
        store.receipts.append_all(receipts)
    return action.id


def _take_on(store: Store, session: WorkSession, *, by: str, now: float) -> str:
    """Put the work unit in progress; return why it was not, or nothing."""
    summary = f"{session.active_wu} is in progress"
    try:
        lanes.take_on(
            store, session.active_wu, by=by, now=now, session=session.session_id, verb="session.start", summary=summary
        )
        return ""
    except (ActionError, BadFile) as error:
        held = views.read_unit(store.root, session.active_wu) if isinstance(error, ActionError) else None
        in_progress = held is not None and held.status == lanes.IN_PROGRESS
        return "" if in_progress else f"{session.active_wu} is not put in progress: {error}"


def end(store: Store, request: EndSession, *, by: str, now: float) -> Done:
    """Write the file of the session and its node in one action; on an error the file is put back."""
    open_session = places.named(store, request.session) if request.session else stored.newest(store.layout, by)
    if open_session is None:
        raise ActionError(f"{by} has no open session", missing=True)
    if open_session.ended_at:
        when = f"by {open_session.ended_by} ({times.stamp_of(open_session.ended_at)})"
        raise ActionError(f"session {ids.short(open_session.session_id)} was ended already, {when}", missing=True)
    change = _change(open_session.session_id, {"ended_at": times.iso(now), "ended_by": by}, before=_OPEN)
    summary = f"session {ids.short(open_session.session_id)} on {open_session.active_wu} ended"
    actions = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        changes = [change, *[edits.patch(node, _ended(change), by=by, now=now) for node in records.values()]]
        actions.append(edits.new_action("session.end", changes, summary=summary, by=by, now=now))
        transaction.announce(actions[0])
        put_session(store, change)
        return list(records.values()), b""

    with journal.Transaction(store.layout) as transaction:
        try:
            nodes.change(store.layout, [open_session.node_id] if open_session.node_id else [], edit)
        except files.StoreError:
            back = Change(kind=change.kind, key=change.key, before=change.after, after=change.before)
            put_session(store, back)
            raise
    return Done(summary=summary, target=open_session.session_id, action_id=actions[0].id)


def _change(session_id: str, after: dict[str, str], *, before: dict[str, str]) -> Change:
    return Change(kind="session", key=session_id, before=before, after=after)


def _ended(change: Change) -> Fields:
    """Return the fields of the session's node."""
    return {f"metadata.{name}": value for name, value in (change.after or {}).items()}


def decide(store: Store, request: NoteDecision, *, by: str, now: float) -> Done:
    """Append a note with the tag `decision`, with a copy in the file of the session."""
    where = places.place(store, by=by, wu_id=request.wu_id, session=request.session, writes=True)
    clean_question = fields.prose(request.question, "question").strip()
    text = with_answer(clean_question, request.answer)
    node = fields.node(
        text, by=by, now=now, type="note", tags=("decision",), priority=request.priority, wu_id=where.wu_id
    )
    meta = {**node.get("metadata", {}), "question": clean_question, **_answer(request.answer, by, now)}
    node |= {"metadata": meta} | ({"session_id": where.session_id} if where.session else {})
    unit_note = places.ensure_unit(store.root, where.wu_id, by=by, now=now)
    node = fields.keyed(node, request.key, "decide")
    if request.key and edits.is_made(store, node):
        return Done(summary=f"the decision {fields.UNDER_KEY}", target=node["id"], aside=f"it {fields.UNDER_KEY}")
    summary = "decision noted" if request.answer.strip() else "question noted, to be decided"
    noted = _note_in_session(
        store, where.session_id, SessionDecision(clean_question, request.answer.strip(), times.iso(now)), now
    )
    changes = [edits.made_node(node), *noted]
    action = edits.new_action("decision.note", changes, summary=f"{summary}: {clean_question[:80]}", by=by, now=now)
    with journal.carrying_out(store.layout, action):
        store.nodes.append(node)
        put_copies(store, noted)
    return Done(summary=summary, target=node["id"], action_id=action.id, aside=unit_note)


def with_answer(question: str, answer: str) -> str:
    """Return the text of a decision: the question, and below it the answer once there is one."""
    return f"{question}\nAnswer: {answer.strip()}" if answer.strip() else question


def _answer(answer: str, by: str, now: float) -> dict[str, str]:
    if not answer.strip():
        return {}
    return {"answer": answer.strip(), "answered_by": by, "answered_at": times.iso(now)}


def answer(store: Store, request: AnswerDecision, *, by: str, now: float) -> Done:
    """Answer the node under the lock of the memory, with a copy in the file of the session."""
    clean_answer = fields.prose(request.answer, "answer").strip()
    full_ids = checks.node_ids(store, request.node_id)
    answered: list[tuple[str, str]] = []
    if request.key and _answered_under(store, full_ids[0], fields.label(request.key, "key")):
        return Done(summary=f"the answer {fields.UNDER_KEY}", target=full_ids[0])

    def decide_node(node: Raw) -> Fields:
        if node.get("type") != "note" or "decision" not in (node.get("tags") or ()):
            raise ActionError(f"{edits.quoted(node)} is no decision: only a note with the tag `decision` is answered")
        edits.must_be_open(node)
        earlier = nodes.get_field(node, "metadata.answer")
        if earlier:
            who = nodes.get_field(node, "metadata.answered_by")
            raise ActionError(f"{edits.quoted(node)} was answered already, by {who or 'somebody'}: {earlier}")
        question = nodes.get_field(node, "metadata.question") or str(node.get("content", "")).strip()
        answered.append((str(question), str(node.get("session_id") or "")))
        facts = {**_answer(clean_answer, by, now), **({"answer_key": request.key} if request.key else {})}
        content = with_answer(str(node.get("content", "")), clean_answer)  # so that every list and every search has it
        return {"content": content, **{f"metadata.{name}": value for name, value in facts.items()}}

    outcome = edits.edit_nodes(
        store, full_ids, decide_node, verb="decision.answer", template="{} answered", by=by, now=now
    )
    noted = _note_in_session(store, answered[0][1], SessionDecision(answered[0][0], clean_answer, times.iso(now)), now)
    if noted:
        action = edits.new_action("decision.answer", noted, summary="kept with the session", by=by, now=now)
        with journal.carrying_out(store.layout, action):
            put_copies(store, noted)
    return outcome


def _answered_under(store: Store, node_id: str, key: str) -> bool:
    node = nodes.find(store.layout.memory, [node_id]).get(node_id)
    return node is not None and nodes.get_field(node[1], "metadata.answer_key") == key


def _note_in_session(store: Store, session_id: str, decision: SessionDecision, now: float) -> list[Change]:
    """Return the change of the session's own list of decisions; nothing where the session cannot be read."""

    def edit(session: WorkSession) -> WorkSession:
        decisions = with_decision(session, decision)
        return msgspec.structs.replace(session, decisions=decisions, last_activity=times.iso(now))

    return _edit_changes(store, session_id, edit)


def _start_changes(store: Store, session: WorkSession) -> list[Change]:
    """Return the changes that start a session: its own file, and the copy that names the current one."""
    before = stored.current(store.layout)
    side = _as_json(session)
    if len(msgspec.json.encode(side)) > _LARGEST:
        del side["dirty_at_start"]  # the rest has room, and redo begins with a clean tree
    return [
        Change(SESSION_KIND, session.session_id, None, side),
        Change(CURRENT_KIND, "current.json", before, {"session_id": session.session_id}),
    ]


def _edit_changes(store: Store, session_id: str, edit: Callable[[WorkSession], WorkSession]) -> list[Change]:
    """Return what an edit would change in a session; nothing where it is missing or the change is too large."""
    try:
        session = stored.read(store.layout, session_id) if session_id else None
    except (ids.BadId, files.StoreError, OSError):
        return []
    if session is None:
        return []
    before, after = _as_json(session), _as_json(edit(session))
    names = [name for name in after if after[name] != before[name]]
    sides = {name: before[name] for name in names}, {name: after[name] for name in names}
    if max(len(msgspec.json.encode(side)) for side in sides) > _LARGEST:
        return []
    return [Change(SESSION_KIND, session_id, *sides)]


def _as_json(session: WorkSession) -> dict[str, Any]:
    """Return the session as plain JSON values, as it comes back from the journal."""
    table: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(session))
    return table


def put_copies(store: Store, changes: list[Change]) -> None:
    """Carry out these changes as far as possible: sessions only copy what is recorded elsewhere."""
    for change in changes:
        with contextlib.suppress(files.StoreError, ids.BadId, OSError, ActionError):
            put_session(store, change)


def session_now(store: Store, change: Change) -> Side | None:
    """For undo: those fields of a session that the change is about; None where there is none."""
    session = stored.read(store.layout, change.key)
    table = _as_json(session) if session else {}
    return {name: table.get(name) for name in change.before or change.after or {}} if session else None


def put_session(store: Store, change: Change) -> None:
    """For undo: bring a session to the change's `after`, which removes or restores a whole one."""
    if change.after is None:
        directories.remove(stored.path(store.layout, change.key))
    elif change.before is None:
        stored.write(store.layout, msgspec.convert(change.after, WorkSession))
    else:
        fields = change.after
        if stored.set_fields(store.layout, change.key, fields) is None:
            raise ActionError(f"session {change.key} is no longer there")


def current_now(store: Store, _: Change) -> Side | None:
    """For undo: which session is the current one."""
    return stored.current(store.layout)


def put_current(store: Store, change: Change) -> None:
    """For undo: make another session the current one, or none."""
    stored.put_current(store.layout, change.after)
