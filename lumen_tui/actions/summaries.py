"""Summaries of work units: written once for the same sources, linked both ways, undoable."""

from __future__ import annotations

import msgspec

from lumen_tui.actions import checks, edits, refusal
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.memory import Summarize
from lumen_tui.model.summary import MOST_NAMED, MOST_OPEN, Draft, Subject, draft
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.work import work_units


def plan(store: Store, wu_id: str, status: str = "") -> Draft:
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


def make(store: Store, request: Summarize, *, by: str, now: float) -> Done:
    """Write the summary and mark its sources. If the same summary exists, that one is returned."""
    drafted = plan(store, request.wu_id, request.status)
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


def to_json(draft: Draft) -> dict[str, object]:
    """Return the draft as `--json` shows it."""
    fields: dict[str, object] = msgspec.to_builtins(draft)
    return fields
