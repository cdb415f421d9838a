"""Hand-offs: notes for whoever continues a work unit, each taken exactly once."""

from __future__ import annotations

from lumen_tui.actions import edits, fields, places
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.requests.sessions import GiveHandoff, TakeHandoff
from lumen_tui.queries.trail import HANDOFF, NODES, Trail
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.nodes import Raw

_MOST = 20  # waiting for one work unit at once; the rest waits for the next taker


def give(store: Store, request: GiveHandoff, *, by: str, now: float) -> Done:
    """Leave a note for the next agent on a work unit, or for `to` alone. The same `key` leaves one."""
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
    """Take hand-offs as a verb of its own, for an agent that continues without a new session."""
    where = places.place(store, by=by, wu_id=request.wu_id, session=request.session)
    taken, action_id = _take(store, by=by, now=now, wu_id=where.wu_id, session_id=where.session_id)
    if not taken:
        raise ActionError(f"nothing waits for {by} on {where.wu_id}", missing=True)
    return Done(summary=_said(taken, where.wu_id), target=taken[0], action_id=action_id)
