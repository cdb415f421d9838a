"""The tree around one thing: what caused it, up to the signal or the person, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import cached_property

import msgspec

from lumen_tui.model import agent, ids
from lumen_tui.model.approvals import Approval, Decision
from lumen_tui.model.ids import Ambiguous, BadId
from lumen_tui.model.lineage import Hop, Trace
from lumen_tui.model.records import signal_of
from lumen_tui.model.text import one_line
from lumen_tui.queries.lineage import records
from lumen_tui.queries.lineage.links import CreatingCall, LineageLinks, TaskParts
from lumen_tui.queries.lineage.provenance import TITLE, Link, node_hop, record_hop, unit_hop
from lumen_tui.queries.trail import KINDS, Trail
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.kept import KeptIndex
from lumen_tui.storage.layout import Layout
from lumen_tui.store import approvals
from lumen_tui.store.memory import nodes
from lumen_tui.store.signals.signal_ids import SignalIds
from lumen_tui.store.tasks import task_files

_MOST = 30  # below one hop
_DEPTH = 10
_ALL = 400  # hops of one side


def trace(layout: Layout, text: str, now: float, tell: Callable[[KeptIndex], None] = lambda _: None) -> Trace:
    """Return the tree around the thing that `text` names; `tell` gets the kept index that was asked.

    LookupError where there is none, Ambiguous for several, BadId for what can be the name of nothing.
    """
    with LineageLinks(layout, now) as links, closing(_HopReader(links, tell)) as known:
        name = text.strip()
        if not (name.startswith("mem-") and links.trail.record(name)):  # a whole id needs no search
            name = resolve(layout, name, known)
        up, down = _TreeSide(known, upwards=True), _TreeSide(known, upwards=False)
        return Trace(node=known.hop(name), up=up.hops(name, 0), down=down.hops(name, 0))


def resolve(layout: Layout, text: str, known: _HopReader | None = None) -> str:
    """Return the id that is meant: itself, a unique beginning, `loop 124`, `L124` or a packet's for its loop."""
    lower = text.lower()
    digits = lower.removeprefix("loop" if lower.startswith("loop") else "l").strip(" -#")
    if digits.isdecimal() and digits.isascii() and len(digits) < 16:
        return _loop_or_task(layout, agent.task_id(int(digits)), lower)
    if text.upper().startswith("WU-"):
        return ids.check_wu(text.upper())
    ids.check_file_name(text, "id")
    if text.startswith("pkt-"):
        return _loop_of_packet(layout, nodes.resolve(layout.packets, text, "pkt"))
    if text.startswith("sig-"):
        return (known.signals if known else SignalIds(layout)).resolve(text)
    if text.startswith("apr-"):
        paths = [*layout.approvals.glob("apr-*.json"), *layout.done_approvals.glob("apr-*.json")]
        return _one(text, {path.stem for path in paths if "." not in path.stem})
    if text.startswith("mem-"):
        return nodes.resolve(layout.memory, text, "mem")
    if text.startswith(records.OBSERVATION):
        return records.resolve_observation(layout, text)
    if text.startswith(records.TEXTS):
        return records.resolve_text(layout, text)
    try:
        return _task_or_node(layout, text)
    except Ambiguous:
        raise
    except LookupError:
        return _role_or_short(layout, text)


def _loop_or_task(layout: Layout, loop: str, text: str) -> str:
    """Return the loop, but for a number that only a task is listed by: `5173` is short for tsk-5173n9..., too."""
    tasks = sorted(task for task in task_files.all_ids(layout) if task.startswith(f"tsk-{text}"))
    if not tasks:
        return loop
    if len(tasks) > 1 or task_files.folder_of(layout, loop):
        raise Ambiguous((loop, *tasks[:9]))
    return tasks[0]


def _role_or_short(layout: Layout, text: str) -> str:
    """Return a role, else the task that lists call so: without its kind."""
    try:
        return records.role_of(layout, text)
    except LookupError:
        return _one(f"tsk-{text}", set(task_files.all_ids(layout)))


def _task_or_node(layout: Layout, text: str) -> str:
    try:
        if task_files.folder_of(layout, text):
            return text
    except BadId:
        return nodes.resolve(layout.memory, text, "mem")  # imported nodes have freer names than tasks
    try:
        return _one(text, set(task_files.all_ids(layout)))
    except Ambiguous:
        raise
    except LookupError:
        return nodes.resolve(layout.memory, text, "mem")


def _one(text: str, names: set[str]) -> str:
    matches = sorted(name for name in names if name.startswith(text))
    if text in matches:
        return text
    if not matches:
        raise LookupError(text)
    if len(matches) > 1:
        raise nodes.Ambiguous(tuple(matches[:10]))
    return matches[0]


def _loop_of_packet(layout: Layout, packet_id: str) -> str:
    record = nodes.find(layout.packets, [packet_id])[packet_id][1]
    number = record.get("loop")
    if not isinstance(number, int):
        raise LookupError(packet_id)
    return agent.task_id(number)


class _TreeSide:
    """One direction of the tree, each thing shown in full once."""

    def __init__(self, known: _HopReader, *, upwards: bool) -> None:
        self._reader, self._upwards = known, upwards
        self._seen: set[str] = set()
        self._remaining = _ALL

    def hops(self, name: str, depth: int) -> tuple[Hop, ...]:
        """Return what is next to `name` on this side, with all that is behind it."""
        self._seen.add(name)
        links = list(self._reader.links.up(name) if self._upwards else self._reader.links.down(name))
        links = list(dict.fromkeys(links))
        hops = [self._hop(link, depth) for link in links[:_MOST] if self._remaining > 0]
        if self._upwards:
            return tuple(hops)
        return tuple(self._by_call(name, hops))

    def _hop(self, link: Link, depth: int) -> Hop:
        other, how = (link.parent, link.up) if self._upwards else (link.child, link.down)
        self._remaining -= 1
        again = other in self._seen
        inner = () if again or depth >= _DEPTH else self.hops(other, depth + 1)
        hop = msgspec.structs.replace(self._reader.hop(other), link=how, steps=inner, again=again)
        call = self._reader.call(link.child, other) if self._upwards else None
        if call is None:
            return hop
        return msgspec.structs.replace(call, link=f"{how}, in", steps=(msgspec.structs.replace(hop, link="call of"),))

    def _by_call(self, name: str, hops: list[Hop]) -> list[Hop]:
        """Group what calls made under those calls, in their order; everything else comes after that."""
        remaining = {hop.id: hop for hop in hops}
        calls = []
        for hop, names in self._reader.calls(name):
            steps = tuple(remaining.pop(created_id) for created_id in names if created_id in remaining)
            if steps:
                calls.append(msgspec.structs.replace(hop, link="called", steps=steps))
        return [*calls, *remaining.values()]


class _HopReader:
    """The things behind ids, each read once."""

    def __init__(self, links: LineageLinks, tell: Callable[[KeptIndex], None]) -> None:
        self.links = links
        self._layout = links.layout
        self._tell = tell
        self._hops: dict[str, Hop] = {}

    def close(self) -> None:
        """Close what was opened to look things up."""
        if "signals" in self.__dict__:
            self.signals.close()

    @cached_property
    def signals(self) -> SignalIds:
        """The ids of all signals."""
        known = SignalIds(self._layout)
        self._tell(known.kept)
        return known

    def hop(self, name: str) -> Hop:
        """Return the thing itself, without its links."""
        if name not in self._hops:
            try:
                self._hops[name] = self._read(name) or Hop(one_line(name, 80), "")
            except (BadFile, BadId, StoreError, OSError, KeyError):
                self._hops[name] = Hop(one_line(name, 80), "")
        return self._hops[name]

    def calls(self, task_id: str) -> list[tuple[Hop, tuple[str, ...]]]:
        """Return the calls of a task that made something, and what."""
        task = self.links.task(task_id)
        if task is None:
            return []
        return [(_call_hop(call, task), call.created_ids) for call in self.links.calls(task_id)]

    def call(self, child: str, task_id: str) -> Hop | None:
        """Return the call of the task that made `child`."""
        return next((hop for hop, created in self.calls(task_id) if child in created), None)

    def _read(self, name: str) -> Hop | None:
        if name.startswith(records.ROLE):
            return records.role_hop(self._layout, name)
        if name.startswith("WU-"):
            return unit_hop(self._layout, name) or self._mentioned(name)
        if name.startswith("sig-"):
            return self._signal(name)
        if name.startswith("apr-"):
            return self._approval(name)
        if agent.loop_of(name):
            return self._loop(name)
        if name.startswith("mem-"):
            return record_hop(self.links.trail.record(name))
        if name.startswith((records.OBSERVATION, records.SESSION)):
            return records.observation_hop(self._layout, name)
        if name.startswith(records.TEXTS):
            return records.text_hop(self._layout, name)
        task = self.links.task(name)
        return _task_hop(task) if task else node_hop(self._layout, name)

    def _mentioned(self, name: str) -> Hop | None:
        """Describe a work unit without a file that records mention: an import brings such."""
        with Trail(self._layout) as trail:
            if not trail.knows(name):
                return None
            node, signal = trail.newest(name, KINDS, 1, any_state=True)[:1], trail.signals(name, 1)[:1]
        newest = node[0].id if node else signal[0].id if signal else ""
        return Hop(name, "work", f"only records about it, such as {newest}", "no file")

    def _signal(self, name: str) -> Hop | None:
        record = self.signals.record(name)
        if record is None:
            return None
        signal = signal_of(record)
        sender = one_line(signal.sender, 60)
        return Hop(name, "signal", one_line(signal.message, TITLE), signal.priority, signal.created_at, sender)

    def _approval(self, name: str) -> Hop | None:
        request = approvals.read(self._layout, name)
        if request is None:
            return None
        answer = approvals.decision(self._layout, name)
        kind = "question" if request.question else "approval"
        status = "waits" if answer is None else _ending(request, answer)
        by = one_line(answer.who, 60) if answer else ""
        return Hop(name, kind, one_line(request.summary, TITLE), status, request.asked_at, by)

    def _loop(self, name: str) -> Hop | None:
        packet, task = self.links.packets.get(name), self.links.task(name)
        if packet is None:
            return msgspec.structs.replace(_task_hop(task), kind="loop") if task else None
        summary = packet.failed or "; ".join(packet.next) or "; ".join(packet.done) or "nothing left to do"
        spent = task.usage if task else None  # a packet's usage counts the tasks it read of too
        return Hop(
            name,
            "loop",
            one_line(summary, TITLE),
            "failed" if packet.failed else "done",
            packet.completed_at,
            one_line(packet.brain, 60),
            tokens=spent.tokens if spent else 0,
            usd=spent.usd if spent else 0.0,
        )


def _ending(request: Approval, answer: Decision) -> str:
    if request.question:
        return answer.ended or "answered"
    return "allowed" if answer.allowed else "denied"


def _task_hop(task: TaskParts) -> Hop:
    spec, ended = task.spec, task.exit
    status = ended.status if ended else "running" if task.run else "queued"
    person = spec.created_by and not (agent.is_own(spec.created_by) or spec.created_by.startswith("tsk-"))
    by = one_line(spec.role, 60) + (f", asked by {one_line(spec.created_by, 60)}" if person else "")
    return Hop(
        spec.id,
        "task",
        one_line(spec.objective, TITLE),
        status,
        spec.created_at,
        by,
        tokens=task.usage.tokens,
        usd=task.usage.usd,
    )


def _call_hop(call: CreatingCall, task: TaskParts) -> Hop:
    usage = task.usage
    share = min(1.0, call.tokens / usage.tokens) if usage.tokens else 0.0
    return Hop(
        call.id,
        "call",
        one_line(f"{call.tool}: {call.title}", TITLE),
        at=call.at,
        tokens=call.tokens,
        usd=usage.usd * share,
    )
