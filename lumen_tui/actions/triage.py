"""Triage: promote, archive, postpone or merge discoveries. Promoting makes a work unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lumen_tui.actions import checks, edits, relations
from lumen_tui.actions.edits import Fields
from lumen_tui.actions.nodes import archived
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.work import made_change, unit_side
from lumen_tui.model import ids, times
from lumen_tui.model.kinds import DISCOVERY_ALIASES, discovery_kind
from lumen_tui.model.merging import merged
from lumen_tui.model.records import PRIORITIES, Action, Change, node_of
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    EditDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.model.work import WorkUnit
from lumen_tui.storage import files, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import edges, node_bulk, nodes
from lumen_tui.store.memory.edges import Edge
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.work import work_units


def promote(store: Store, request: PromoteDiscoveries, *, by: str, now: float) -> Done:
    """Write the units and close the discoveries behind them, all under the lock of work units.

    The action is begun before the first unit is written. If only the units were made, the next promote finishes it.
    """
    discovery_ids = checks.node_ids(store, request.node_ids)
    if len(discovery_ids) > 1 and (request.title or request.wu_id):
        raise ActionError("a title or a work unit id fits one discovery only: promote them one by one")
    unit_id = ids.check_wu(request.wu_id.upper()) if request.wu_id else ""
    lane = checks.lane(store.layout, request.lane)
    with journal.Transaction(store.layout) as transaction, locks.waiting_lock(store.layout.lock("work")):
        records = {name: node for name, (_, node) in nodes.find(store.layout.memory, discovery_ids).items()}
        chosen = _open_discoveries(records, discovery_ids)
        units = _made_before(store.layout, discovery_ids)
        missing = [node for node in chosen if node["id"] not in units]
        drafts = [_unit_of(node, lane, request.title, unit_id, by=by, now=now) for node in missing]
        fresh = _numbered(store.layout, drafts)
        units.update({unit.discovery: unit for unit in fresh})
        action = _promotion(store, chosen, units, {unit.id for unit in fresh}, lane, by=by, now=now)
        action = msgspec.structs.replace(action, reason=request.reason.strip())
        transaction.announce(action)
        work_units.write_units(store.layout, fresh)
        try:
            _close(store, discovery_ids, action, by=by, now=now)
        except (ActionError, files.StoreError):
            work_units.discard_units(store.layout, fresh)
            raise
    return Done(summary=action.summary, target=units[discovery_ids[0]].id, action_id=action.id)


def _open_discoveries(records: dict[str, Raw], discovery_ids: list[str]) -> list[Raw]:
    """Return the nodes in this order. ActionError where one of them is no open discovery."""
    chosen = [edits.node_of(records, node_id) for node_id in discovery_ids]
    for node in chosen:
        edits.must_be_discovery(node)
    return chosen


def _close(store: Store, discovery_ids: list[str], action: Action, *, by: str, now: float) -> None:
    """Change the nodes as the action says. ActionError where one of them is not what it was when that was announced."""
    announced = {change.key: change for change in action.changes if change.kind == "node"}

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        chosen = _open_discoveries(records, discovery_ids)
        for node in chosen:
            fields = announced[node["id"]].after or {}
            if edits.patch(node, fields, by=by, now=now) != announced[node["id"]]:
                raise ActionError(f"{edits.quoted(node)} was changed at this moment: promote it again")
        return chosen, b""

    nodes.change(store.layout, discovery_ids, edit)


def _promotion(
    store: Store, chosen: list[Raw], units: dict[str, WorkUnit], fresh: set[str], lane: str, *, by: str, now: float
) -> Action:
    """Return the action, and change the nodes as it says. Units not written yet are taken as they will be."""
    changes: list[Change] = []
    for node in chosen:
        unit = units[node["id"]]
        unit_change = Change(kind="work", key=unit.id, before=None, after=unit_side(store.layout, unit.id))
        changes.append(made_change(unit) if unit.id in fresh else unit_change)
        changes.append(edits.patch(node, _promoted(unit.id, now), by=by, now=now))
    summary = f"{edits.named(chosen)} promoted to {', '.join([units[source['id']].id for source in chosen])} in {lane}"
    return edits.new_action("triage.promote", changes, summary=summary, by=by, now=now)


def _promoted(unit_id: str, now: float) -> Fields:
    return {
        "metadata.status": "promoted",
        "metadata.promoted_to": unit_id,
        "metadata.promoted_at": times.iso(now),
        "metadata.snoozed_until": None,
    }


def _made_before(layout: Layout, node_ids: Iterable[str]) -> dict[str, WorkUnit]:
    """Return work units that name one of these open nodes: an earlier promote was interrupted after making them."""
    names = {node_id.encode() for node_id in node_ids}
    units = {}
    for path in layout.work.glob("WU-*.md"):
        data = files.read(path) or b""
        if not any(node_id in data for node_id in names):
            continue
        try:
            unit = work_units.parse_unit(path.stem, data.decode(errors="replace"))
        except BadFile:
            continue
        if unit.discovery.encode() in names:
            units[unit.discovery] = unit
    return units


def _unit_of(node: Raw, lane: str, title: str, wu_id: str, *, by: str, now: float) -> WorkUnit:
    tags = [tag for tag in node.get("tags") or () if isinstance(tag, str)]
    priority = nodes.get_field(node, "metadata.priority")
    kind = nodes.get_field(node, "metadata.type")
    return WorkUnit(
        id=wu_id,
        title=" ".join((title or edits.title_of(node)).split())[:200] or str(node["id"]),
        lane=lane,
        type=str(kind) if kind in DISCOVERY_ALIASES else discovery_kind(tags) or "task",
        priority=priority if priority in PRIORITIES else "P2",
        discovered_in=str(node.get("wu_id") or ""),
        discovery=str(node["id"]),
        created_at=times.iso(now),
        created_by=by,
        body=str(node.get("content", "")),
    )


def _numbered(layout: Layout, units: list[WorkUnit]) -> list[WorkUnit]:
    try:
        return work_units.numbered(layout, units)
    except FileExistsError as error:
        raise ActionError(f"{error}: leave the id out for the next free number") from error


def archive(store: Store, request: ArchiveDiscoveries, *, by: str, now: float) -> Done:
    """Set status, reason and who on all of them in one write."""
    clean_reason = checks.reason(request.reason)

    def decide(node: Raw) -> Fields:
        edits.must_be_discovery(node)
        return archived(clean_reason, by=by, now=now)

    full_ids = checks.node_ids(store, request.node_ids)
    return edits.edit_nodes(
        store, full_ids, decide, verb="triage.archive", template="{} archived", by=by, now=now, reason=clean_reason
    )


def keep(store: Store, request: PostponeDiscoveries, *, by: str, now: float) -> Done:
    """Set `metadata.snoozed_until` on all of them in one write."""
    if not 0 < request.days <= 3650:
        raise ActionError(f"{request.days:g} days cannot be kept: give a number above 0 and up to 3650")
    until = times.iso(now + request.days * times.DAY)

    def decide(node: Raw) -> Fields:
        edits.must_be_discovery(node)
        return {"metadata.snoozed_until": until}

    full_ids = checks.node_ids(store, request.node_ids)
    template = f"{{}} snoozed for {request.days:g} day{'' if request.days == 1 else 's'}"
    return edits.edit_nodes(store, full_ids, decide, verb="triage.keep", template=template, by=by, now=now)


def edit(store: Store, request: EditDiscoveries, *, by: str, now: float) -> Done:
    """Set priority, type and title in one write; the rest of the content stays."""
    full_ids = checks.node_ids(store, request.node_ids)
    title = " ".join(request.title.split())
    if title and len(full_ids) > 1:
        raise ActionError("a title fits one discovery only: edit them one by one")
    wanted = _wanted(request.priority.upper(), request.type)
    if not wanted and not title:
        raise ActionError("nothing to change: give a priority, a type or a title")
    named = {f"metadata.{name}": value for name, value in wanted.items()}

    def decide(node: Raw) -> Fields:
        edits.must_be_discovery(node)
        _, line_end, body = str(node.get("content", "")).partition("\n")
        return {**named, **({"content": f"{title}{line_end}{body}"} if title else {})}

    template = f"{{}}: {', '.join([*wanted.values(), *(['title changed'] if title else [])])}"
    return edits.edit_nodes(store, full_ids, decide, verb="triage.edit", template=template, by=by, now=now)


def _wanted(priority: str, kind: str) -> dict[str, str]:
    if priority and priority not in PRIORITIES:
        raise ActionError(f"priority {priority!r} is unknown: give one of {', '.join(PRIORITIES)}")
    if kind and kind not in DISCOVERY_ALIASES:
        raise ActionError(f"{kind!r} is no type of a discovery: give one of {', '.join(DISCOVERY_ALIASES)}")
    return {name: value for name, value in (("priority", priority), ("type", kind)) if value}


def merge(store: Store, request: MergeDiscoveries, *, by: str, now: float) -> Done:
    """Change all nodes in one write of the memory, then draw the edges; a kill between the two leaves it open."""
    target = checks.node_ids(store, request.into)[0]
    others = [node_id for node_id in checks.node_ids(store, request.node_ids) if node_id != target]
    if not others:
        raise ActionError("there is nothing to merge: name discoveries other than the one that stays")
    outcome, ties = Done(summary=""), list[Change]()

    def edit(records: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal outcome
        chosen = [edits.node_of(records, node_id) for node_id in (*others, target)]
        for node in chosen:
            edits.must_be_discovery(node)
        fields, units = _gains(chosen[-1], chosen[:-1], others)
        title = edits.quoted(chosen[-1])
        closed = [{**archived(f"merged into {title}", by=by, now=now), "metadata.merged_into": target}] * len(others)
        changes = [edits.patch(node, new, by=by, now=now) for node, new in zip(chosen, [*closed, fields], strict=True)]
        drawn = list(_taken_over(store, target, others, units))
        ties[:] = [relations.edge_change(edge, by=by, now=now) for edge in drawn]
        summary = f"{len(others)} merged into {title}"
        action = edits.new_action(
            "triage.merge",
            [*changes, *ties],
            summary=summary,
            by=by,
            now=now,
            reason=request.reason.strip(),
            again=outcome.action_id,
        )
        outcome = Done(summary=summary, target=others[0], action_id=action.id)
        transaction.announce(action)
        return chosen, b""

    with journal.Transaction(store.layout) as transaction:
        node_bulk.change(store.layout, [*others, target], edit)
        transaction.partly_done()  # the edges have a journal and a lock of their own
        for tie in ties:
            relations.put_edge(store, tie)
    return outcome


def _gains(target: Raw, closed: Sequence[Raw], others: list[str]) -> tuple[Fields, tuple[str, ...]]:
    """Return the changed fields of the target, and the further work units that it is linked to."""
    node, *other_nodes = (node_of(raw) for raw in (target, *closed))
    after = merged(node, other_nodes)
    earlier = nodes.get_field(target, "metadata.merged_from") or []
    fields: Fields = {"metadata.merged_from": [*earlier, *others], "tags": list(after.tags)}
    if after.priority != node.priority:
        fields["metadata.priority"] = after.priority
    if after.wu_id != node.wu_id:
        fields["wu_id"] = after.wu_id
    return fields, after.units


def _taken_over(store: Store, target: str, others: list[str], units: Sequence[str]) -> Iterator[Edge]:
    """Yield the edges that the target gets: those of the others, and one to each further work unit."""
    standing = list(edges.in_force(store.layout))
    closed = {*others}
    drawn = set(standing)

    def end(name: str) -> str:
        return target if name in closed else name

    touched = (edge for edge in standing if closed & {edge.start, edge.finish})
    moved = [Edge(end(edge.start), end(edge.finish), edge.type) for edge in touched]
    for edge in [*moved, *(Edge(target, unit, "related") for unit in units)]:
        if edge.start != edge.finish and edge not in drawn:
            drawn.add(edge)
            yield edge
