"""Changes of memory nodes that can be taken back: made under the journal's lock, recorded with both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import ids, times
from lumen_tui.model.records import Action, Change
from lumen_tui.model.text import one_line
from lumen_tui.store.memory import nodebulk, nodes
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.people import history
from lumen_tui.store.store import Store

Fields = dict[str, Any]  # dotted key -> value, None to take it out
Decide = Callable[[Raw], Fields]


def status_of(node: Raw) -> str:
    """`open`, or what became of the node."""
    value = nodes.get_field(node, "metadata.status")
    return value if isinstance(value, str) and value else "open"


def title_of(node: Raw) -> str:
    """The first line of the content."""
    return str(node.get("content", "")).partition("\n")[0]


def patch(node: Raw, fields: Fields, *, by: str, now: float) -> Change:
    """Set the fields and say who did; returns what changed."""
    before = {key: nodes.get_field(node, key) for key in fields}
    nodes.set_fields(node, {**fields, "updated_at": times.iso(now), "updated_by": by})
    return Change(kind="node", key=str(node["id"]), before=before, after=fields)


def new_action(verb: str, changes: Iterable[Change], *, summary: str, by: str, now: float, reason: str = "") -> Action:
    """The record of what was just done."""
    found = tuple(changes)
    target = found[0].key if found else ""
    return Action(
        id=ids.new_id("act"), at=times.iso(now), by=by, verb=verb, target=target, summary=summary,
        changes=found, reason=reason,
    )  # fmt: skip


def edit_nodes(
    store: Store, node_ids: list[str], decide: Decide, *, verb: str, said: str, by: str, now: float, reason: str = ""
) -> Done:
    """Give each node the fields that `decide` names for it; ActionError from there stops all of them.

    `said` becomes the summary, with `{}` for what was changed.
    """
    done = Done(summary="")

    def edit(found: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        nonlocal done
        chosen = [here(found, node_id) for node_id in node_ids]
        changes = [patch(node, decide(node), by=by, now=now) for node in chosen]
        summary = said.replace("{}", named(chosen))
        action = new_action(verb, changes, summary=summary, by=by, now=now, reason=reason)
        done = Done(summary=summary, target=node_ids[0], action_id=action.id)
        return chosen, history.action_lines(action)

    nodebulk.change(store.layout, node_ids, edit)
    return done


def here(found: dict[str, Raw], node_id: str) -> Raw:
    """The node, or the refusal that it is gone."""
    if node_id not in found:
        raise ActionError(f"there is no node {node_id!r}", missing=True)
    return found[node_id]


def named(chosen: list[Raw]) -> str:
    """What a summary calls these nodes: the title of one, the number of several."""
    if len(chosen) == 1:
        return quoted(chosen[0])
    return f"{len(chosen)} {'discoveries' if all(node.get('type') == 'discovery' for node in chosen) else 'nodes'}"


def quoted(node: Raw) -> str:
    """The title of a node, short and in quotes."""
    return f"“{one_line(title_of(node), 60)}”"


def must_be_open(node: Raw) -> None:
    """Refuse what was judged already, naming the judgement."""
    state = status_of(node)
    if state == "open":
        return
    became = nodes.get_field(node, f"metadata.{state}_to") or ""
    who = node.get("updated_by") or "somebody"
    when = node.get("updated_at") or "an unknown time"
    said = f"{state} {became}".strip()
    raise ActionError(f"{node['id']} is {said} already (by {who} at {when}): undo that first")


def must_be_discovery(node: Raw) -> None:
    """Refuse what triage does not judge."""
    if node.get("type") != "discovery":
        raise ActionError(f"{node['id']} is a {node.get('type')}, not a discovery: triage judges discoveries only")
    must_be_open(node)
