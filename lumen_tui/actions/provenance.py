"""Knowledge kept for the whole project: a copy under a tag, linked to the node that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.actions import checks, edits, fields
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.ids import short_hash
from lumen_tui.model.records import Action, Change
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_scan import newest_nodes
from lumen_tui.store.memory.nodes import Raw

TAGS = ("decision", "convention", "pattern", "pitfall", "interface", "invariant", "faq")


def check_tag(tag: str) -> str:
    """One of TAGS, or the refusal with the nearest."""
    if tag not in TAGS:
        said = f"tag {tag!r} is unknown: one of {', '.join(TAGS)}"
        raise ActionError(said, candidates=checks.nearest(tag, TAGS))
    return tag


def sources(store: Store, node_ids: str | Sequence[str] = (), wu_id: str = "") -> list[str]:
    """The nodes that a promote would copy: those named, or the summaries of a work unit."""
    if bool(node_ids) == bool(wu_id):
        raise ActionError("name nodes or a work unit, one of both")
    if node_ids:
        return checks.node_ids(store, node_ids)
    name = ids.check_wu(wu_id.upper())
    found = [
        str(node["id"])
        for node in newest_nodes(store.layout, f'"{name}"')
        if node.get("wu_id") == name and node.get("type") == "summary" and _is_open(node)
        and not nodes.get_field(node, "metadata.summarized_into")
    ]  # fmt: skip
    if not found:
        near = checks.nearest(name, [one for one in checks.unit_names(store.layout) if one != name])
        hint = f"make one with `summarize --wu {name}`"
        raise ActionError(f"{name} has no summary: {hint}", missing=True, candidates=near)
    return found


def promote(
    store: Store, *, by: str, now: float, tag: str, node_ids: str | Sequence[str] = (), wu_id: str = ""
) -> Done:
    """Copy nodes to the project's lasting knowledge; what was copied under this tag before is found, not repeated."""
    check_tag(tag)
    chosen = sources(store, node_ids, wu_id)
    copies = {one: f"mem-{short_hash(f'promote {one} {tag}')}" for one in chosen}
    actions: list[Action] = []

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        missing = [one for one in chosen if not _is_open(found.get(copies[one]))]
        if not missing:
            return [], b""
        made = [_copy(edits.here(found, one), found.get(copies[one]), copies[one], tag, by, now) for one in missing]
        originals = [found[one] for one in missing]
        said = f"{edits.named(originals)} kept for the project as {tag}"
        actions.append(edits.new_action("node.promote", [change for _, change in made], summary=said, by=by, now=now))
        return [record for record, _ in made], journal.begun_lines(actions[0])

    nodes.change(store.layout, [*chosen, *copies.values()], edit)
    target = copies[chosen[0]]
    if not actions:
        return Done(summary=f"kept as {tag} already", target=target)
    return Done(summary=actions[0].summary, target=target, action_id=actions[0].id)


def _is_open(node: Raw | None) -> bool:
    return node is not None and edits.status_of(node) == "open"


def _copy(node: Raw, there: Raw | None, copy_id: str, tag: str, by: str, now: float) -> tuple[Raw, Change]:
    """The copy, and the change that undo turns: before, it counted as deleted."""
    if edits.status_of(node) == "deleted":
        raise ActionError(f"{edits.quoted(node)} is deleted: undo that first")
    at = times.iso(now)
    tags = [tag, *[one for one in node.get("tags") or () if isinstance(one, str) and one != tag]]
    meta = {"status": "deleted", "promoted_from": node["id"], "promoted_at": at, **_answered(node, tag)}
    record: Raw = there or {
        "id": copy_id, "type": "note", "lifecycle": "project",
        "content": fields.prose(str(node.get("content", "")), "content"), "created_at": at, "created_by": by,
        "tags": tags, "metadata": meta, "schema": 1,
    }  # fmt: skip
    if node.get("wu_id"):
        record["wu_id"] = node["wu_id"]
    return record, edits.patch(record, {"metadata.status": None}, by=by, now=now)


def _answered(node: Raw, tag: str) -> dict[str, str]:
    """Question and answer of a decision; what is kept as a decision is one, and must not look like a question."""
    known = {key: nodes.get_field(node, f"metadata.{key}") for key in ("question", "answer", "answered_at")}
    said = {key: value for key, value in known.items() if isinstance(value, str) and value}
    return {"answer": edits.title_of(node), **said} if tag == "decision" else said
