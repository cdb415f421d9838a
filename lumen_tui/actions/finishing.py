"""The verb `wu done`: it checks the gate, ends sessions, summarizes, broadcasts, and lets decay run.

A summary is written once for the same sources, linked both ways; `summarize` writes one at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import agents, checks, edits, lanes, refusal, sessions, signals
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import fields, ids, times
from lumen_tui.model.digests import text_digest
from lumen_tui.model.kinds import COMPLETION
from lumen_tui.model.loop import Heartbeat
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.memory import ApplyDecay, RewriteSummary, Summarize
from lumen_tui.model.requests.sessions import EndSession
from lumen_tui.model.requests.work import FinishWorkUnit
from lumen_tui.model.summary import MOST_BYTES, MOST_NAMED, MOST_OPEN, Draft, Subject, draft, own_words
from lumen_tui.model.work import Tracked
from lumen_tui.queries.trail import CHECKPOINT, DISCOVERY, Trail
from lumen_tui.queries.trail_file import NODES
from lumen_tui.storage import locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.tasks.task_records import read_json
from lumen_tui.store.work import sessions as stored_sessions
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.model.config import Config


def summary_draft(store: Store, wu_id: str, status: str = "") -> Draft:
    """Return what a summary of this work unit would say. ActionError where there is nothing to say.

    `status` is what the unit is about to become, if that is not yet so.
    """
    subject = _subject(store, wu_id)
    subject = subject._replace(status=status) if status else subject
    unit_nodes = [
        node for node in newest_nodes(store.layout, f'"{subject.wu_id}"') if node.get("wu_id") == subject.wu_id
    ]
    if not unit_nodes and not subject.status:
        near = refusal.nearest(subject.wu_id, checks.unit_names(store.layout))
        problem = f"there is no work unit {subject.wu_id}, and no node is about it"
        raise ActionError(problem, candidates=near, missing=True)
    summary = draft(subject, unit_nodes)
    if summary is None:
        raise ActionError(f"there is nothing to summarize on {subject.wu_id} yet", missing=True)
    return summary


def _subject(store: Store, wu_id: str) -> Subject:
    name = ids.check_wu(wu_id.upper())
    try:
        unit = work_units.read_unit(store.layout, name)
    except BadFile as error:
        raise ActionError(f"work/{name}.md:{error.line}: {error}") from error
    return Subject(name, unit.title, unit.status, unit.lane) if unit else Subject(name)


def summarize(store: Store, request: Summarize, *, by: str, now: float) -> Done:
    """Write the node of the summary and the marks of its sources in one write of the memory."""
    drafted = summary_draft(store, request.wu_id, request.status)
    name = ids.check_wu(request.wu_id.upper())
    actions: list[Action] = []

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        existing = records.get(drafted.node_id)
        if existing is not None and edits.status_of(existing) == "open":
            return [], b""
        record, change = _record(drafted, existing, name, by=by, now=now)
        marked = [records[node_id] for node_id in (*drafted.taken, *drafted.earlier) if node_id in records]
        fields = {"metadata.summarized_into": drafted.node_id, "metadata.summarized_at": times.iso(now)}
        changes = [change, *[edits.patch(node, fields, by=by, now=now) for node in marked if _may_be_taken(node)]]
        summary = f"{name} summarized from {len(drafted.sources)} nodes"
        actions.append(edits.new_action("summary.make", changes, summary=summary, by=by, now=now))
        return [record, *[node for node in marked if _may_be_taken(node)]], journal.begun_lines(actions[0])

    nodes.change(store.layout, [drafted.node_id, *drafted.taken, *drafted.earlier], edit)
    if not actions:
        return Done(summary=f"{name} is summarized already and nothing is new", target=drafted.node_id)
    return Done(summary=actions[0].summary, target=drafted.node_id, action_id=actions[0].id)


def _may_be_taken(node: Raw) -> bool:
    return edits.status_of(node) != "deleted"


def _record(draft: Draft, existing: Raw | None, wu_id: str, *, by: str, now: float) -> tuple[Raw, Change]:
    """Return the node of the summary and the change that makes it; its `before` is the status deleted."""
    at = times.iso(now)
    record: Raw = existing or {
        "id": draft.node_id,
        "type": "summary",
        "lifecycle": "project",
        "content": draft.content,
        "created_at": at,
        "created_by": by,
        "wu_id": wu_id,
        "tags": ["summary"],
        "schema": 1,
        "metadata": {
            "status": "deleted",
            "source_nodes": list(draft.sources[:MOST_NAMED]),
            "source_count": len(draft.sources),
            "summarized_at": at,
        },
    }
    fields: Fields = {"metadata.status": None, "metadata.summarized_into": None}
    if draft.still_open:
        fields["metadata.still_open"] = list(draft.still_open[:MOST_OPEN])
    return record, edits.patch(record, fields, by=by, now=now)


def rewrite(store: Store, request: RewriteSummary, *, by: str, now: float) -> Done:
    """Set the words of a summary, with those before in the journal; its sources and marks stay as they are."""
    node_id = checks.node_ids(store, request.node_id)[0]
    text = fields.prose(request.text, "summary")
    if (size := len(msgspec.json.encode(text))) > MOST_BYTES:
        raise ActionError(f"a summary has {MOST_BYTES:,} bytes at most, and this has {size:,}: say it in fewer words")

    def decide(node: Raw) -> Fields:
        _may_be_rewritten(node, request)
        if node.get("content") == text:
            raise ActionError(f"{edits.quoted(node)} says exactly that already", missing=True)
        author = None if request.proposed else by
        return {"content": text, "metadata.rewritten_at": times.iso(now), "metadata.own_words": author}

    return edits.edit_nodes(store, [node_id], decide, verb="summary.rewrite", template="{} rewritten", by=by, now=now)


def _may_be_rewritten(node: Raw, request: RewriteSummary) -> None:
    if node.get("type") != "summary":
        raise ActionError(f"{edits.quoted(node)} is a {node.get('type')}, and no summary: only those are rewritten")
    edits.must_be_open(node)
    if later := nodes.get_field(node, "metadata.summarized_into"):
        raise ActionError(f"{edits.quoted(node)} stands in {later}: rewrite that one")
    if request.base and request.base != text_digest(str(node.get("content", ""))):
        who, when = node.get("updated_by") or "somebody", times.stamp_of(node.get("updated_at"))
        raise ActionError(f"{edits.quoted(node)} was changed since by {who} ({when}): nothing was done")
    if request.proposed and (reason := own_words(node)):
        raise ActionError(f"the words of {edits.quoted(node)} are not the agent's to change: {reason}")


def draft_json(draft: Draft) -> dict[str, object]:
    """Return the draft as `--json` shows it."""
    fields: dict[str, object] = msgspec.to_builtins(draft)
    return fields


_DECAY = "decay"  # who archives then; undo of `wu done` brings it back
_NAMED = 5  # open discoveries that are named


def done(store: Store, request: FinishWorkUnit, *, by: str, now: float) -> Done:
    """Finish a work unit: end its sessions, summarize its checkpoints, free its lane, and tell everybody.

    Discoveries on it that are still open are named; decay runs where it is set to. What comes after the unit is done
    never makes the verb fail; it is reported in the summary.
    """
    config = lanes.config_of(store)
    noted = _accepted(store, request)
    concluded = _conclude(store, request.wu_id, config, request.no_checkpoint_check, by=by, now=now)
    with locks.waiting_lock(store.layout.lock("work")):
        unit = lanes.unit_of(store, request.wu_id)
        if unit.status == lanes.DONE:
            return _finish_again(store, unit, concluded, by=by, now=now)
        lanes.must_be_free(store, unit, by=by, now=now)
        silence = lanes.signal_due_before_done(store, unit)
        warning = _gate(store, unit, config, request.no_checkpoint_check)
        signal = _completion(unit, by=by, now=now)
        stamp = {"wu_id": unit.id, "done_at": times.iso(now), "done_by": by, "signal_id": str(signal["id"])}
        changes = {"status": lanes.DONE, "done_by": by, "done_at": times.iso(now)}
        changed = lanes.change_unit(
            store,
            unit.id,
            changes,
            verb="wu.done",
            summary=f"{unit.id} done: {unit.title}",
            by=by,
            now=now,
            reason=request.reason,
            stamp=stamp,
        )
    signals.announce(store, signal, "wu.done", by=by, now=now)
    more = [noted, warning, *concluded, to_triage(store, unit.id), _decay_on_done(store, config, now=now)]
    summary = "; ".join([changed.summary, *[part for part in more if part]])
    return Done(summary=summary, target=unit.id, action_id=changed.action_id, aside=silence)


def _accepted(store: Store, request: FinishWorkUnit) -> str:
    """Return what to note where a person closes a unit whose acceptance was disproved. ActionError for anybody else."""
    unit = lanes.unit_of(store, request.wu_id)
    return "" if unit.status == lanes.DONE else agents.may_close(store, unit, request.reason)


def _conclude(store: Store, wu_id: str, config: Config, skip: bool, *, by: str, now: float) -> list[str]:
    """End sessions and summarize before the unit is done; the lock `work` is not held while memory locks are."""
    unit = lanes.unit_of(store, wu_id)
    lanes.must_be_free(store, unit, by=by, now=now)
    if unit.status != lanes.DONE:
        _gate(store, unit, config, skip)
        return _conclude_unit(store, unit.id, status=lanes.DONE, by=by, now=now)
    return end_sessions(store, unit.id, by=by, now=now)


def _completion(unit: Tracked, *, by: str, now: float) -> Raw:
    text = f"{unit.id} done: {unit.title}"
    return fields.signal(text, by=by, now=now, wu_id=unit.id, lane=unit.lane, type=COMPLETION)


def _finish_again(store: Store, unit: Tracked, concluded: list[str], *, by: str, now: float) -> Done:
    """Refuse, unless an earlier `done` was interrupted before it told anybody, or a session was started since."""
    if concluded:
        return Done(summary="; ".join([f"{unit.id} was done already", *concluded]), target=unit.id)
    signal_id = work_units.read_stamp(store.layout, unit.id).get("signal_id", "")
    if not signal_id or nodes.find(store.layout.signals, [signal_id]):
        who = unit.done_by or "somebody"
        raise ActionError(f"{unit.id} is done already, by {who} ({times.stamp_of(unit.done_at)})", missing=True)
    signals.announce(
        store, _completion(unit, by=unit.done_by or by, now=now) | {"id": signal_id}, "wu.done", by=by, now=now
    )
    return Done(summary=f"{unit.id} was done already; now the others are told", target=unit.id)


def _gate(store: Store, unit: Tracked, config: Config, skip: bool) -> str:
    """Refuse what must not be finished now; return a warning where a missing checkpoint is tolerated."""
    if unit.status == lanes.BLOCKED:
        raise ActionError(f"{unit.id} is blocked ({unit.blocked_reason}): `wu unblock {unit.id}` first")
    rule = config.memory.enforcement.require_checkpoint_for_done
    if skip or rule == "off" or _has_checkpoint(store, unit):
        return ""
    since = f" since it was claimed ({times.stamp_of(unit.claimed_at)})" if unit.claimed_at else ""
    missing = f"{unit.id} has no checkpoint{since}"
    if rule == "block":
        raise ActionError(f'{missing}: `checkpoint "NOTE" --wu {unit.id}` first, or --no-checkpoint-check')
    return f"warning: {missing}"


def _has_checkpoint(store: Store, unit: Tracked) -> bool:
    """Return whether the newest checkpoint, archived or not, was made since the unit was claimed."""
    with Trail(store.layout, (NODES,)) as trail:
        newest = trail.newest(unit.id, (CHECKPOINT,), 1, any_state=True)
    return bool(newest) and newest[0].created >= times.epoch(unit.claimed_at)


def _decay_on_done(store: Store, config: Config, *, now: float) -> str:
    """Archive what has decayed, and return what to report of it. Never fails."""
    if not config.memory.decay.enabled or config.memory.decay.trigger != "on_done":
        return ""
    beat = read_json(store.layout.heartbeat, Heartbeat)
    if beat is not None and beat.jumped:
        return "warning: decay did not run (the clock was moved since the last beat; `lumen-tui decay` does it)"
    try:
        from lumen_tui.actions import decay

        outcome = decay.apply(store, ApplyDecay(), by=_DECAY, now=now)
    except ActionError as error:
        return "" if error.missing else f"warning: decay did not run ({error})"
    except Exception as error:  # noqa: BLE001 - an edge: decay on done is fail-open, whatever goes wrong inside it
        return f"warning: decay did not run ({error})"
    return str(getattr(outcome, "summary", ""))


def end_sessions(store: Store, wu_id: str, *, by: str, now: float) -> list[str]:
    """Close the open sessions on a work unit, whoever started them; return a sentence for each."""
    session_ids = [session.session_id for session in stored_sessions.live(store.layout) if session.active_wu == wu_id]
    ended = [sessions.end(store, EndSession(session=name), by=by, now=now) for name in session_ids]
    return [outcome.summary for outcome in ended]


def _conclude_unit(store: Store, wu_id: str, *, status: str, by: str, now: float) -> list[str]:
    """Close the sessions and summarize what was saved and decided; return a sentence for each.

    `status` is what the unit is about to become. The summary keeps its sources; a unit without any gets none.
    """
    notes = end_sessions(store, wu_id, by=by, now=now)
    try:
        outcome = summarize(store, Summarize(wu_id=wu_id, status=status), by=by, now=now)
        notes.append(f"{outcome.summary} ({outcome.target})" if outcome.action_id else outcome.summary)
    except ActionError as error:
        notes += [] if error.missing else [f"warning: no summary ({error})"]
    return notes


def to_triage(store: Store, wu_id: str) -> str:
    """Name in a sentence the open discoveries on the unit; they stay open until somebody judges them."""
    with Trail(store.layout, (NODES,)) as trail:
        count = trail.count(wu_id, (DISCOVERY,))
        discoveries = trail.ready(wu_id, (DISCOVERY,), _NAMED)
    if not count:
        return ""
    names = ", ".join([node.id for node in discoveries]) + (", …" if count > len(discoveries) else "")
    many = "1 discovery" if count == 1 else f"{count} discoveries"
    return f"{many} to triage: {names} (`triage --wu {wu_id}`)"
