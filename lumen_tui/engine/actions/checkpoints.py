"""Checkpoints: a saved point in the work, with what changed found out here and not asked of the agent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lumen_tui.engine.actions import fields, places
from lumen_tui.engine.actions.nodes import archived
from lumen_tui.engine.actions.places import Place
from lumen_tui.engine.outcome import Done
from lumen_tui.model import times
from lumen_tui.model.config import MemoryConfig
from lumen_tui.model.records import Node
from lumen_tui.model.session import WorkSession, with_files
from lumen_tui.model.text import one_line
from lumen_tui.store import files, nodes
from lumen_tui.store import sessions as stored
from lumen_tui.store.config import load_config
from lumen_tui.store.nodes import Raw
from lumen_tui.store.store import Store
from lumen_tui.store.trail import CHECKPOINT, DECISION, NODES, PENDING, Trail

if TYPE_CHECKING:
    from lumen_tui.tools.gitstat import GitStat

INTERVAL = "interval"  # the trigger of a checkpoint that the engine makes
_DECISIONS = 5
_WHY = "an older checkpoint of this work unit"


def save(
    store: Store, *, by: str, now: float, note: str = "", wu_id: str = "", session: str = "", progress: str = "",
    next_steps: str = "", trigger: str = "manual", folder: str = "", git_diff_stat: str = "",
) -> Done:  # fmt: skip
    """Append a checkpoint; `folder` is where changes are looked for, else the folder of the session.

    It counts as saved from the durable append on; the session's list of files and the archiving of older
    checkpoints follow, and a failure there is only told.
    """
    where = places.place(store, by=by, wu_id=wu_id, session=session)
    with Trail(store.layout, (NODES,)) as trail:
        last = next(iter(trail.newest(where.wu_id, (CHECKPOINT,), 1)), None)
        decisions = trail.newest(where.wu_id, (PENDING, DECISION), _DECISIONS)
    found = _look(store, where, folder, last)
    node = _node(where, found, note, by=by, now=now)
    texts = {"progress": progress, "nextSteps": next_steps, "trigger": fields.label(trigger, "trigger")}
    node["metadata"] = {
        **{key: value.strip() for key, value in texts.items() if value.strip()},
        **_changes(found, git_diff_stat),
        **({"decisions": [_decision(one) for one in decisions]} if decisions else {}),
    }
    store.nodes.append(node)
    trouble = _follow_up(store, where, found, by=by, now=now)
    count = len(found.files) + found.more_files
    said = f"checkpoint on {where.wu_id}, {count} changed file{'' if count == 1 else 's'}"
    return Done(summary=said + (f" ({trouble})" if trouble else ""), target=node["id"])


def _look(store: Store, where: Place, folder: str, last: Node | None) -> GitStat:
    """What changed since the last checkpoint, or since the last commit where there is none."""
    from lumen_tui.tools import gitstat  # here, so that the other verbs are not slower for it

    git = last.metadata.get("git") if last else None
    base = git.get("head", "") if isinstance(git, dict) else ""
    begun = where.session.folder if where.session else ""
    found = gitstat.GitStat(why="no folder")
    for place in dict.fromkeys([folder or begun, begun]):
        found = gitstat.look(place, base=str(base), without=str(store.root), environ=os.environ)
        if not found.why:
            break
    return found


def _node(where: Place, found: GitStat, note: str, *, by: str, now: float) -> dict[str, Any]:
    text = note.strip() or f"{len(found.files) + found.more_files} files changed"
    node = fields.node(f"Checkpoint: {text}", by=by, now=now, type="checkpoint", wu_id=where.wu_id)
    if where.session:
        node["session_id"] = where.session_id
    return node


def _changes(found: GitStat, said: str) -> dict[str, Any]:
    """What git said, or what the agent says that it said, or why nothing is known."""
    if found.why:
        return {"gitDiffStat": said.strip()} if said.strip() else {"git": {"why": found.why}}
    facts = {"root": found.root, "branch": found.branch, "head": found.head, "base": found.base}
    changes: dict[str, Any] = {"git": {key: value for key, value in facts.items() if value}}
    if found.files:
        changes["files"] = list(found.files)
    if found.more_files:
        changes["more_files"] = found.more_files
    if said.strip() or found.stat:
        changes["gitDiffStat"] = said.strip() or found.stat
    return changes


def _decision(node: Node) -> dict[str, str]:
    answer = node.metadata.get("answer")
    asked = node.metadata.get("question") or node.title
    return {"id": node.id, "question": one_line(str(asked), 200), "answer": one_line(str(answer or ""), 200)}


def _follow_up(store: Store, where: Place, found: GitStat, *, by: str, now: float) -> str:
    """What comes after the append; returns what went wrong with it, or nothing."""

    def edit(session: WorkSession) -> WorkSession:
        at = times.iso(now)
        touched = with_files(session, found.files)
        return msgspec.structs.replace(session, files_touched=touched, last_activity=at, last_checkpoint=at)

    try:
        if where.session:
            stored.change(store.layout, where.session_id, edit)
        _archive_old(store, where.wu_id, by=by, now=now)
    except files.StoreError as error:
        return str(error)
    return ""


def _archive_old(store: Store, wu_id: str, *, by: str, now: float) -> None:
    """Keep the newest `max_checkpoints` active; `node.unarchive` brings the others back."""
    most = max(1, load_config(store.layout)[0].memory.max_checkpoints)
    with Trail(store.layout, (NODES,)) as trail:
        old = trail.ids(wu_id, CHECKPOINT, after=most)

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        for node in records.values():
            nodes.set_fields(node, {**archived(_WHY, by=by, now=now), "updated_at": times.iso(now), "updated_by": by})
        return list(records.values()), b""

    if old:
        nodes.change(store.layout, old, edit)


def due(store: Store, config: MemoryConfig, *, now: float) -> Sequence[WorkSession]:
    """Open sessions whose last checkpoint (or beginning) is `checkpoint_interval` minutes ago or more."""
    if not config.auto_checkpoint or config.checkpoint_interval <= 0:
        return ()
    latest = now - config.checkpoint_interval * times.MINUTE
    return [
        one for one in stored.live(store.layout) if times.epoch(one.last_checkpoint or one.started_at, now) <= latest
    ]


def save_due(store: Store, config: MemoryConfig, *, now: float) -> list[Done]:
    """Make the checkpoints that are due, under the agent's name; a session whose files stand still gets none."""
    made = []
    for session in due(store, config, now=now):
        with Trail(store.layout, (NODES,)) as trail:
            last = next(iter(trail.newest(session.active_wu, (CHECKPOINT,), 1)), None)
        found = _look(store, Place(session.active_wu, session), "", last)
        before = last.metadata.get("gitDiffStat", "") if last else ""
        if found.why or not (found.stat or found.files) or found.stat == before:
            continue
        made.append(save(store, by=session.agent, now=now, session=session.session_id, trigger=INTERVAL))
    return made
