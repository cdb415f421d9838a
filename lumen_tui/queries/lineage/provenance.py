"""The links between memory nodes, work units and tasks, read from the journals, and the tree around one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from lumen_tui.model.ids import BadId
from lumen_tui.model.lineage import Hop, Trace
from lumen_tui.model.records import node_of
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.trail import Trail
from lumen_tui.queries.trail_file import NODES, SIGNALS
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import edges, nodes
from lumen_tui.store.tasks import task_files
from lumen_tui.store.work import work_units

_MOST = 50  # steps below one step
_DEPTH = 12
TITLE = 120  # characters
# a field -> (how the other is called when it is the origin, how this one is when seen from there)
_ORIGINS = {"promoted_from": ("copied from", "kept for the project as"), "discovered_from": ("noticed on", "led to")}
_RESULTS = {
    "promoted_to": ("promoted to", "promoted from"),
    "merged_into": ("merged into", "merged from"),
    "summarized_into": ("summarized into", "summarized from"),
}
_SOURCES = {
    "source_nodes": ("summarized from", "summarized into"),
    "merged_from": ("merged from", "merged into"),
    "task_id": ("noted by task", "noted"),
    "loop": ("noted by loop", "noted"),
}
_OF_SIGNALS = {"task_id": ("sent by", "sent"), "reply_to": ("answers", "answered by")}
_EDGES = {
    "discovered_from": ("noticed on", "led to"),
    "parent_child": ("part of", "has part"),
    "related": ("related to", "related to"),
}


class Link(NamedTuple):
    """`child` came from `parent`; `up` names the parent as the child sees it, `down` the child."""

    child: str
    parent: str
    up: str
    down: str


class LinkIndex:
    """Links by the id of the one that they start at: up from the child, down from the parent."""

    def __init__(self) -> None:
        self.up: dict[str, list[Link]] = {}
        self.down: dict[str, list[Link]] = {}

    def add(self, link: Link) -> None:
        self.up.setdefault(link.child, []).append(link)
        self.down.setdefault(link.parent, []).append(link)


class NodeLinks:
    """The links there are now between nodes, work units and tasks, by the id of either end."""

    def __init__(self, layout: Layout, trail: Trail) -> None:
        self._layout, self._trail = layout, trail
        self._others = LinkIndex()
        for link in dict.fromkeys((*_edges(layout), *_unit_links(layout))):
            self._others.add(link)

    def up(self, name: str) -> list[Link]:
        """Return the links to what `name` came from."""
        mentioned = [link for link in self._mentions(name) if link.child == name]
        return list(dict.fromkeys([*mentioned, *self._others.up.get(name, ())]))

    def down(self, name: str) -> list[Link]:
        """Return the links to what came of `name`."""
        mentioned = [link for link in self._mentions(name) if link.parent == name]
        return list(dict.fromkeys([*mentioned, *self._others.down.get(name, ())]))

    def _mentions(self, name: str) -> Iterator[Link]:
        for owner, how, other in self._trail.mentions(NODES, name):
            if how in _RESULTS:
                down, up = _RESULTS[how]
                yield Link(other, owner, up, down)
            else:
                up, down = _ORIGINS.get(how) or _SOURCES[how]
                yield Link(owner, other, up, down)

    def tree(self, node_id: str) -> Trace:
        """Return the chain up and down from one node."""
        known = _StepReader(self._layout)
        seen = {node_id}
        up = self._steps(node_id, self.up, known, seen, 0)
        return Trace(node=known.step(node_id), up=up, down=self._steps(node_id, self.down, known, {node_id}, 0))

    def _steps(
        self, identifier: str, side: Callable[[str], list[Link]], known: _StepReader, seen: set[str], depth: int
    ) -> tuple[Hop, ...]:
        steps = []
        upwards = side == self.up
        for link in side(identifier)[:_MOST]:
            other, how = (link.parent, link.up) if upwards else (link.child, link.down)
            again = other in seen
            seen.add(other)
            inner = () if again or depth >= _DEPTH else self._steps(other, side, known, seen, depth + 1)
            more = max(0, len(side(other)) - _MOST) if inner else 0
            steps.append(msgspec.structs.replace(known.step(other), link=how, steps=inner, again=again, more=more))
        return tuple(steps)


def signal_links(trail: Trail, name: str) -> Iterator[Link]:
    """Yield the links from signals to the tasks that sent them and the signals that they answer."""
    for owner, how, other in trail.mentions(SIGNALS, name):
        yield Link(safe(owner), safe(other), *_OF_SIGNALS[how])


def _unit_links(layout: Layout) -> Iterator[Link]:
    for unit in work_units.list_units(layout)[0]:
        if unit.discovery:
            yield Link(unit.id, unit.discovery, "promoted from", "promoted to")
        if unit.discovered_in:
            yield Link(unit.id, unit.discovered_in, "found during", "found on it")


def _edges(layout: Layout) -> Iterator[Link]:
    """Yield the edges in force."""
    for start, finish, kind in edges.in_force(layout):
        if kind == "blocks":
            continue
        up, down = _EDGES.get(kind, (safe(kind), safe(kind)))
        child, parent = (finish, start) if kind == "parent_child" else (start, finish)
        yield Link(child, parent, up, down)


class _StepReader:
    """The things behind ids, each read once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._steps_by_id: dict[str, Hop] = {}

    def step(self, identifier: str) -> Hop:
        if identifier not in self._steps_by_id:
            self._steps_by_id[identifier] = self._read(identifier)
        return self._steps_by_id[identifier]

    def _read(self, identifier: str) -> Hop:
        nothing = Hop(id=safe(identifier), kind="", title="")
        try:
            if identifier.startswith("WU-"):
                return unit_hop(self._layout, identifier) or nothing
            return node_hop(self._layout, identifier) or self._task(identifier) or nothing
        except (BadFile, BadId, StoreError, OSError):
            return nothing

    def _task(self, task_id: str) -> Hop | None:
        spec = task_files.read_spec(self._layout, task_id)
        return Hop(id=task_id, kind="task", title=one_line(spec.objective, TITLE)) if spec else None


def unit_hop(layout: Layout, wu_id: str) -> Hop | None:
    """Return a work unit without its links; None where it has no file."""
    unit = work_units.read_unit(layout, wu_id)
    if unit is None:
        return None
    title = one_line(unit.title, TITLE)
    return Hop(wu_id, "work", title, safe(unit.status), safe(unit.created_at), safe(unit.created_by))


def node_hop(layout: Layout, node_id: str) -> Hop | None:
    """Return a node without its links; None where there is none."""
    match = nodes.find(layout.memory, [node_id]).get(node_id)
    return record_hop(match[1]) if match else None


def record_hop(record: nodes.Raw | None) -> Hop | None:
    """Return the node of a record without its links; None for none."""
    if record is None:
        return None
    node = node_of(record)
    by = one_line(node.created_by, 60)
    return Hop(node.id, node.type, one_line(node.title, TITLE), node.status, node.created_at, by)


def provenance(store: Store, node_id: str) -> Trace:
    """Return the chain up and down from a node. LookupError for none; Ambiguous for several."""
    with Trail(store.layout) as trail:
        return NodeLinks(store.layout, trail).tree(nodes.resolve(store.layout.memory, node_id, "mem"))
