"""Merging discoveries: the doubles are closed, and nothing that they were tied to is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from lumen_tui.actions import checks, edits, relations
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.nodes import archived
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model.merging import merged
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import edges, node_bulk, nodes
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.memory.node_views import decode_node
from lumen_tui.store.memory.nodes import Raw

_RELATED = "related"


def merge(store: Store, *, by: str, now: float, node_ids: str | Sequence[str], into: str) -> Done:
    """Close duplicates in favour of one discovery, which gets the highest priority and all they were tied to.

    That is their tags, their work units and their relationships.
    """
    kept = checks.node_ids(store, into)[0]
    others = [node_id for node_id in checks.node_ids(store, node_ids) if node_id != kept]
    if not others:
        raise ActionError("there is nothing to merge: name discoveries other than the one that stays")
    done = Done(summary="")

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal done
        chosen = [edits.here(found, node_id) for node_id in (*others, kept)]
        for node in chosen:
            edits.must_be_discovery(node)
        fields, units = _gains(chosen[-1], chosen[:-1], others)
        title = edits.quoted(chosen[-1])
        closed = [{**archived(f"merged into {title}", by=by, now=now), "metadata.merged_into": kept}] * len(others)
        changes = [edits.patch(node, new, by=by, now=now) for node, new in zip(chosen, [*closed, fields], strict=True)]
        drawn = list(_taken_over(store, kept, others, units))
        ties = [relations.change_of(edge, by=by, now=now) for edge in drawn]
        said = f"{len(others)} merged into {title}"
        action = edits.new_action(
            "triage.merge", [*changes, *ties], summary=said, by=by, now=now, again=done.action_id
        )  # fmt: skip
        done = Done(summary=said, target=others[0], action_id=action.id)
        begun.tell(action)
        for tie in ties:
            relations.put_edge(store, tie)
        return chosen, b""

    with journal.Begun(store.layout) as begun:
        node_bulk.change(store.layout, [*others, kept], edit)
    return done


def _gains(kept: Raw, closed: Sequence[Raw], others: list[str]) -> tuple[Fields, tuple[str, ...]]:
    """The fields that change in the one that stays, and the further work units that it is tied to."""
    node, *rest = (decode_node(msgspec.json.encode(one)) for one in (kept, *closed))
    after = merged(node, rest)
    earlier = nodes.get_field(kept, "metadata.merged_from") or []
    fields: Fields = {"metadata.merged_from": [*earlier, *others], "tags": list(after.tags)}
    if after.priority != node.priority:
        fields["metadata.priority"] = after.priority
    if after.wu_id != node.wu_id:
        fields["wu_id"] = after.wu_id
    return fields, after.units


def _taken_over(store: Store, kept: str, others: list[str], units: Sequence[str]) -> Iterator[Edge]:
    """The edges that the one that stays gets: those of the others, and one to each further work unit."""
    standing, gone = list(edges.in_force(store.layout)), {*others}
    drawn = set(standing)

    def end(name: str) -> str:
        return kept if name in gone else name

    touched = (edge for edge in standing if gone & {edge.start, edge.finish})
    moved = [Edge(end(edge.start), end(edge.finish), edge.type) for edge in touched]
    for edge in [*moved, *(Edge(kept, unit, _RELATED) for unit in units)]:
        if edge.start != edge.finish and edge not in drawn:
            drawn.add(edge)
            yield edge
