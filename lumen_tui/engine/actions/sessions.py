"""Sessions: started on a work unit, closed by id. Decisions are noted beside them."""

from __future__ import annotations

from typing import Any

import msgspec

from lumen_tui.engine.actions import checks, edits, fields, handoff, places, undo
from lumen_tui.engine.actions.edits import Fields
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.records import Change
from lumen_tui.model.session import TIERS, Decision, WorkSession, with_decision
from lumen_tui.store import files
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.people import history
from lumen_tui.store.store import Store
from lumen_tui.store.units import lanes
from lumen_tui.store.units import sessions as stored


def start(
    store: Store, *, by: str, now: float, wu_id: str, agent_type: str = "unknown", context_tier: str = "full",
    folder: str = "",
) -> Done:  # fmt: skip
    """Begin a session on a work unit and take what was handed over for it."""
    if context_tier not in TIERS:
        raise ActionError(
            f"context tier {context_tier!r} is unknown: one of {', '.join(TIERS)}",
            candidates=checks.nearest(context_tier, TIERS),
        )
    kind = fields.label(agent_type, "agent type") or "unknown"
    wanted = places.known_work(store, wu_id)
    unit = lanes.read_unit(store.layout, wanted)
    text = f"Session started for {wanted}. Agent: {kind}, Context: {context_tier}"
    node = fields.node(text, by=by, now=now, type="session", wu_id=wanted)
    session = WorkSession(
        session_id=ids.new_id("ses"), started_at=times.iso(now), active_wu=wanted, lane=unit.lane if unit else "",
        agent=by, agent_type=kind, context_tier=context_tier, node_id=node["id"], folder=folder,
        last_activity=times.iso(now),
    )  # fmt: skip
    node |= {"session_id": session.session_id, "metadata": {"agentType": kind, "contextTier": context_tier}}
    stored.start(store.layout, session)
    store.nodes.append(node)
    taken = handoff.take(store, by=by, now=now, wu_id=wanted, session_id=session.session_id)
    started = fields.noted("session.start", session.session_id, f"session on {wanted} started", by=by, now=now)
    store.actions.append(started)
    said = f"session {session.session_id} on {wanted}" + (f", {len(taken)} hand-off taken" if taken else "")
    return Done(summary=said, target=session.session_id)


def end(store: Store, *, by: str, now: float, session: str = "") -> Done:
    """Close a session: the named one, else the one this agent started last."""
    found = places.named(store, session) if session else stored.newest(store.layout, by)
    if found is None:
        raise ActionError(f"{by} has no open session", missing=True)
    if found.ended_at:
        raise ActionError(
            f"session {found.session_id} was ended already, by {found.ended_by} at {found.ended_at}", missing=True
        )
    at = times.iso(now)
    change = Change(
        kind="session", key=found.session_id, before={"ended_at": "", "ended_by": ""},
        after={"ended_at": at, "ended_by": by},
    )  # fmt: skip
    said = f"session {found.session_id} on {found.active_wu} ended"
    actions = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        changes = [change, *[edits.patch(node, _ended(at, by), by=by, now=now) for node in records.values()]]
        actions.append(edits.new_action("session.end", changes, summary=said, by=by, now=now))
        _put(store, change)
        return list(records.values()), history.action_lines(actions[0])

    try:
        nodes.change(store.layout, [found.node_id] if found.node_id else [], edit)
    except files.StoreError:
        _put(store, Change(kind="session", key=change.key, before=change.after, after=change.before))
        raise
    return Done(summary=said, target=found.session_id, action_id=actions[0].id)


def _ended(at: str, by: str) -> Fields:
    return {"metadata.ended_at": at, "metadata.ended_by": by}


def _now(store: Store, change: Change) -> dict[str, Any] | None:
    session = stored.read(store.layout, change.key)
    return {name: getattr(session, name, None) for name in change.before or {}} if session else None


def _put(store: Store, change: Change) -> None:
    def edit(session: WorkSession) -> WorkSession:
        return msgspec.structs.replace(session, **(change.after or {}))

    if stored.change(store.layout, change.key, edit) is None:
        raise ActionError(f"session {change.key} is no longer there")


undo.KINDS["session"] = (_now, _put)  # what undo needs of a session stands beside its verbs


def decide(
    store: Store, *, by: str, now: float, question: str, answer: str = "", wu_id: str = "", session: str = "",
    priority: str = "",
) -> Done:  # fmt: skip
    """Note a question with its answer, or as pending: `ready` lists it until it is answered."""
    where = places.place(store, by=by, wu_id=wu_id, session=session)
    asked = fields.prose(question, "question").strip()
    text = f"{asked}\nAnswer: {answer.strip()}" if answer.strip() else asked
    node = fields.node(text, by=by, now=now, type="note", tags=("decision",), priority=priority, wu_id=where.wu_id)
    meta = {**node.get("metadata", {}), "question": asked, **_answer(answer, by, now)}
    node |= {"metadata": meta} | ({"session_id": where.session_id} if where.session else {})
    store.nodes.append(node)
    _note_in_session(store, where.session_id, Decision(asked, answer.strip(), times.iso(now)), now)
    return Done(summary="decision noted" if answer.strip() else "question noted, to be decided", target=node["id"])


def _answer(answer: str, by: str, now: float) -> dict[str, str]:
    if not answer.strip():
        return {}
    return {"answer": answer.strip(), "answered_by": by, "answered_at": times.iso(now)}


def answer(store: Store, *, by: str, now: float, node_id: str, answer: str) -> Done:
    """Answer a pending decision."""
    said = fields.prose(answer, "answer").strip()
    found = checks.node_ids(store, node_id)
    asked: list[tuple[str, str]] = []

    def decide_node(node: Raw) -> Fields:
        if node.get("type") != "note" or "decision" not in (node.get("tags") or ()):
            raise ActionError(f"{node['id']} is no decision: only a note with the tag `decision` is answered")
        edits.must_be_open(node)
        earlier = nodes.get_field(node, "metadata.answer")
        if earlier:
            who = nodes.get_field(node, "metadata.answered_by")
            raise ActionError(f"{node['id']} was answered already, by {who or 'somebody'}: {earlier}")
        question = nodes.get_field(node, "metadata.question") or str(node.get("content", "")).strip()
        asked.append((str(question), str(node.get("session_id") or "")))
        return {f"metadata.{key}": value for key, value in _answer(said, by, now).items()}

    done = edits.edit_nodes(store, found, decide_node, verb="decision.answer", said="{} answered", by=by, now=now)
    _note_in_session(store, asked[0][1], Decision(asked[0][0], said, times.iso(now)), now)
    return done


def _note_in_session(store: Store, session_id: str, decision: Decision, now: float) -> None:
    """The session's own list is a copy: where it cannot be written, the node stands all the same."""

    def edit(session: WorkSession) -> WorkSession:
        decisions = with_decision(session, decision)
        return msgspec.structs.replace(session, decisions=decisions, last_activity=times.iso(now))

    try:
        if session_id:
            stored.change(store.layout, session_id, edit)
    except (files.StoreError, ids.BadId, OSError):
        return
