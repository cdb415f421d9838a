"""What comes to its end with a work unit: its sessions and its checkpoints. What was found on it is named."""

from __future__ import annotations

from lumen_tui.actions import sessions, summaries
from lumen_tui.actions.outcome import ActionError
from lumen_tui.queries.trail.trail import DISCOVERY, NODES, Trail
from lumen_tui.storage.store import Store
from lumen_tui.store.work import sessions as stored

_NAMED = 5  # open discoveries that are named


def end_sessions(store: Store, wu_id: str, *, by: str, now: float) -> list[str]:
    """Close the sessions that are open on a work unit, whoever began them; what there is to say of each."""
    found = [one.session_id for one in stored.live(store.layout) if one.active_wu == wu_id]
    return [sessions.end(store, by=by, now=now, session=one).summary for one in found]


def conclude(store: Store, wu_id: str, *, status: str, by: str, now: float) -> list[str]:
    """Close the sessions and summarize what was saved and decided; what there is to say, a part each.

    `status` is what the unit is about to become. The summary keeps its sources; a unit without any has none.
    """
    said = end_sessions(store, wu_id, by=by, now=now)
    try:
        made = summaries.make(store, by=by, now=now, wu_id=wu_id, status=status)
        said.append(f"{made.summary} ({made.target})" if made.action_id else made.summary)
    except ActionError as error:
        said += [] if error.missing else [f"warning: no summary ({error})"]
    return said


def to_triage(store: Store, wu_id: str) -> str:
    """What was found on the unit and waits for a judgement, in words; they stay open until somebody judges them."""
    with Trail(store.layout, (NODES,)) as trail:
        count = trail.count(wu_id, (DISCOVERY,))
        found = trail.ready(wu_id, (DISCOVERY,), _NAMED)
    if not count:
        return ""
    names = ", ".join([node.id for node in found]) + (", …" if count > len(found) else "")
    many = "1 discovery" if count == 1 else f"{count} discoveries"
    return f"{many} to triage: {names} (`triage --wu {wu_id}`)"
