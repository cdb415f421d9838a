"""Checkpoints: saved points in the work. What changed is detected here rather than asked of the agent."""

from __future__ import annotations

from lumen_tui.actions import changes, places
from lumen_tui.actions.places import Place
from lumen_tui.model import fields, times
from lumen_tui.model.kinds import CHECKPOINT_MARK
from lumen_tui.model.text import one_line
from lumen_tui.model.views import Changes
from lumen_tui.queries.trail import CHECKPOINT, DECISION, PENDING, Trail
from lumen_tui.queries.trail_file import NODES
from lumen_tui.storage import files, raw_json
from lumen_tui.store.memory import nodes
from lumen_tui.store.sessions import hook_journal
from lumen_tui.store.work import open_sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lumen_tui.actions.outcome import Done
    from lumen_tui.model.config import MemoryConfig
    from lumen_tui.model.requests.sessions import SaveCheckpoint
    from lumen_tui.model.views import NodeView, SessionView
    from lumen_tui.storage.layout import Folder
    from lumen_tui.store.memory.nodes import Raw

INTERVAL = "interval"  # the trigger of a checkpoint that the engine makes
_DECISIONS = 5
MOST_TOUCHED = 500  # files of one session; the oldest leave first
_WHY = "an older checkpoint of this work unit"


def save(store: Folder, request: SaveCheckpoint, *, by: str, now: float) -> Done:
    """Append a checkpoint; changes are looked for in `folder`, else in the session's.

    The same `key` saves one.
    """
    from lumen_tui.actions import acting
    from lumen_tui.actions.outcome import Done

    texts = {
        "progress": request.progress,
        "nextSteps": request.next_steps,
        "trigger": fields.label(request.trigger, "trigger"),
    }
    where = places.of_note(store.root, by=by, wu_id=request.wu_id or None, session=request.session)
    saved = keep(
        store,
        where,
        texts,
        by=by,
        now=now,
        note=request.note,
        folder=request.folder,
        git_diff_stat=request.git_diff_stat,
        key=request.key,
        client=acting.caller().client,
    )
    return Done(summary=saved[1], target=saved[0], action_id=saved[2])


def keep(
    store: Folder,
    where: Place,
    texts: dict[str, str],
    *,
    by: str,
    now: float,
    note: str = "",
    folder: str = "",
    git_diff_stat: str = "",
    key: str = "",
    client: str = "",
) -> tuple[str, str, str]:
    """Save a checkpoint at a known place, without importing `Done`: return node id, summary and action id.

    It counts as saved once the append is durable; updating the session's files and archiving older checkpoints follow,
    and a failure there is only reported.
    """
    with Trail(store.layout, (NODES,)) as trail:
        last = next(iter(trail.newest(where.wu_id, (CHECKPOINT,), 1)), None)
        decisions = trail.newest(where.wu_id, (PENDING, DECISION), _DECISIONS)
    changed = _changes_of(store, where, folder, last)
    node = fields.keyed(_node(where, changed, note, by=by, now=now), key, "checkpoint")
    node["metadata"] = {
        **{name: value.strip() for name, value in texts.items() if value.strip()},
        **changes.checkpoint_fields(changed, git_diff_stat),
        **({"decisions": [_decision(decision) for decision in decisions]} if decisions else {}),
    }
    raw_json.line(node)  # too long for a journal: nothing is made then
    if key and nodes.find(store.layout.memory, [node["id"]]):
        return node["id"], f"checkpoint {fields.UNDER_KEY}", ""
    summary = _summary(where, changed)
    action = fields.noted("checkpoint.save", node["id"], summary, by=by, now=now, client=client)
    action["group"] = action["id"]  # older ones that are archived below come back with it
    after = _activity(where.session, changed, now)
    begun = raw_json.begin_line(action, [fields.made_node(node), *_session_change(where, after)])
    unit_note = places.ensure_unit(store.root, where.wu_id, by=by, now=now, client=client)
    files.append(store.layout.actions, begun)
    if not nodes.append_new(store.layout.memory, node, once=bool(key)):
        files.append(store.layout.actions, raw_json.end_line(begun, "dropped"), durable=False)
        return node["id"], f"checkpoint {fields.UNDER_KEY}", ""
    trouble = _follow_up(store, where, changed, action["id"], by=by, now=now, client=client)
    files.append(store.layout.actions, raw_json.end_line(begun, "done"), durable=False)
    notes = (f"; {unit_note}" if unit_note else "") + (f" ({trouble})" if trouble else "")
    return node["id"], summary + notes, action["id"]


def _summary(where: Place, changed: Changes) -> str:
    about = where.wu_id or "no work unit (`start --wu` begins one)"
    return f"checkpoint on {about}, {changed.count} changed file{'' if changed.count == 1 else 's'}"


def _changes_of(store: Folder, where: Place, folder: str, last: NodeView | None) -> Changes:
    """Return what changed since the last checkpoint, or since the last commit where there is none."""
    session = where.session
    git = last.metadata.get("git") if last else None
    base = git.get("head", "") if isinstance(git, dict) else ""
    if session and session.head_at_start and last and last.session_id != session.session_id:
        base = session.head_at_start  # what came between is another session's
    begun = session.folder if session else ""
    changed = Changes(why="no folder")
    for place in dict.fromkeys([folder or begun, begun]):
        changed = changes.detect(place, base=str(base), without=str(store.root))
        if not changed.why:
            break
    return changes.changed_since(changed, session.dirty_at_start) if session else changed


def _node(where: Place, changed: Changes, note: str, *, by: str, now: float) -> Raw:
    text = note.strip() or f"{changed.count} files changed"
    node = fields.node(f"{CHECKPOINT_MARK}{text}", by=by, now=now, type="checkpoint", wu_id=where.wu_id)
    if where.session:
        node["session_id"] = where.session_id
    return node


def _decision(node: NodeView) -> dict[str, str]:
    answer = node.metadata.get("answer")
    question = node.metadata.get("question") or node.title
    return {"id": node.id, "question": one_line(str(question), 200), "answer": one_line(str(answer or ""), 200)}


def with_files(touched: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return a session's files with `names` added, each once, the newest last."""
    new = dict.fromkeys(names)
    return [*(name for name in touched if name not in new), *new][-MOST_TOUCHED:]


def _activity(session: SessionView | None, changed: Changes, now: float) -> Raw:
    """Return the fields of the session that the checkpoint changes."""
    if session is None:
        return {}
    at = times.iso(now)
    touched = with_files(session.files_touched, changed.files)
    return {"files_touched": touched, "last_activity": at, "last_checkpoint": at}


def _session_change(where: Place, after: Raw) -> list[Raw]:
    if where.session is None:
        return []
    before = {name: getattr(where.session, name) for name in after}
    return [fields.made("session", where.session_id, before, after)]


def _follow_up(
    store: Folder, where: Place, changed: Changes, action_id: str, *, by: str, now: float, client: str
) -> str:
    """Update the session and archive older checkpoints; return what went wrong, or an empty text."""
    try:
        if where.session:
            open_sessions.change(store.root, where.session_id, lambda session: _activity(session, changed, now))
        _archive_old(store, where.wu_id, action_id, by=by, now=now, client=client)
    except (files.StoreError, ValueError, OSError) as error:
        return str(error)
    return ""


def _archive_old(store: Folder, wu_id: str, action_id: str, *, by: str, now: float, client: str) -> None:
    """Archive all but the newest `max_checkpoints`; `node.unarchive` brings them back."""
    with Trail(store.layout, (NODES,)) as trail:
        old = trail.ids(wu_id, CHECKPOINT, after=max(1, hook_journal.rule(str(store.root))["max_checkpoints"]))
    marks = fields.archived(_WHY, by=by, now=now)

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        changes = []
        for node in records.values():
            before = {key: nodes.get_field(node, key) for key in marks}
            changes.append(fields.made("node", node["id"], before, marks))
            nodes.set_fields(node, {**marks, "updated_at": times.iso(now), "updated_by": by})
        of = wu_id or "no work unit"
        summary = f"{len(records)} older checkpoint{'' if len(records) == 1 else 's'} of {of} archived"
        action = fields.noted("checkpoint.retire", wu_id, summary, by=by, now=now, client=client, group=action_id)
        return list(records.values()), raw_json.begin_line(action, changes)

    if old:
        nodes.change(store.layout, old, edit)


def due(store: Folder, config: MemoryConfig, *, now: float) -> Sequence[SessionView]:
    """Return open sessions whose last checkpoint (or start) is at least `checkpoint_interval` minutes ago."""
    if not config.auto_checkpoint or config.checkpoint_interval <= 0:
        return ()
    latest = now - config.checkpoint_interval * times.MINUTE
    return [
        session
        for session in open_sessions.live(store.root)
        if times.epoch(session.last_checkpoint or session.started_at, now) <= latest
    ]


def save_due(store: Folder, config: MemoryConfig, *, now: float) -> list[Done]:
    """Save the checkpoints that are due, in the agent's name; none for a session without changed files."""
    from lumen_tui.actions import acting
    from lumen_tui.model.requests.sessions import SaveCheckpoint

    saved = []
    for session in due(store, config, now=now):
        with Trail(store.layout, (NODES,)) as trail:
            last = next(iter(trail.newest(session.active_wu, (CHECKPOINT,), 1)), None)
        changed = _changes_of(store, Place(wu_id=session.active_wu, session=session), "", last)
        before = last.metadata.get("gitDiffStat", "") if last else ""
        if changed.why or not (changed.stat or changed.files) or changed.stat == before:
            continue
        with acting.acting_for(session.agent, acting.ENGINE, now):
            request = SaveCheckpoint(session=session.session_id, trigger=INTERVAL)
            saved.append(save(store, request, by=session.agent, now=now))
    return saved
