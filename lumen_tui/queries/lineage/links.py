"""What led to what, read from all journals: signals, loops, tasks, their calls, approvals, nodes, work units.

Each journal is read once for a trace, and a task's own files only where the trace comes to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from lumen_tui.model import agent, ids
from lumen_tui.model.decoding import UNDECODABLE, decode_safe
from lumen_tui.model.loop import Packet
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.tasks import Exit, Run, Spec, Usage
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import session_id
from lumen_tui.queries.lineage import records
from lumen_tui.queries.lineage.provenance import Link, LinkIndex, NodeLinks, signal_links
from lumen_tui.queries.trail import Trail
from lumen_tui.storage import backwards, files
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.line_access import split_lines
from lumen_tui.store.tasks import task_files
from lumen_tui.store.tasks.role_stats import RoleIndex
from lumen_tui.store.tasks.task_records import DamagedTask, read_json, read_spec

# tools whose result names an id
CREATING_TOOLS = ("discover", "remember", "signal", "create_task", "checkpoint", "propose", "relay_submit")
_CREATED_ID = lazy_re(r"\b(?:mem|sig|tsk|rly)-[0-9a-z]{13}\b")
_APPROVAL_ID = lazy_re(rb'"approval":\s*"(apr-[0-9a-z]+)"')
_T = TypeVar("_T")
_MOST_BYTES = 16 * 1024 * 1024  # of one transcript or event file


class CreatingCall(NamedTuple):
    """One call of a model that made something."""

    id: str
    tool: str
    title: str
    at: str
    tokens: int
    created_ids: tuple[str, ...]


class TaskParts(NamedTuple):
    """A task as far as a trace needs it."""

    spec: Spec
    run: Run | None
    exit: Exit | None
    folder: Path

    @property
    def usage(self) -> Usage:
        """What it spent, once it has ended."""
        return self.exit.usage if self.exit else Usage()


class LineageLinks:
    """Every link there is now, looked up from either end."""

    def __init__(self, layout: Layout, now: float) -> None:
        self.layout, self._now = layout, now
        self._tasks: dict[str, TaskParts | None] = {}
        self._calls: dict[str, tuple[CreatingCall, ...]] = {}

    def __enter__(self) -> LineageLinks:
        return self

    def __exit__(self, *_: object) -> None:
        if "_index" in self.__dict__:
            self._index.db.close()
        if "trail" in self.__dict__:
            self.trail.close()

    def up(self, name: str) -> Iterator[Link]:
        """Yield the links to what `name` came from."""
        if name.startswith(records.ROLE):
            yield from records.role_links(self.layout, name)
            return
        yield from self._node_links.up(name)
        yield from (link for link in signal_links(self.trail, name) if link.child == name)
        yield from self._loop_links.up.get(name, ())
        yield from self._work_links.up.get(name, ())
        if name.startswith("apr-") and (asker := self.asker(name)):
            yield Link(name, asker, "asked by", "asked")
        if (task := self.task(name)) is not None:
            yield from _causes(task.spec)

    def down(self, name: str) -> Iterator[Link]:
        """Yield the links to what came of `name`; a role has none here."""
        if name.startswith(records.ROLE):
            return
        yield from self._node_links.down(name)
        yield from (link for link in signal_links(self.trail, name) if link.parent == name)
        yield from self._loop_links.down.get(name, ())
        yield from self._work_links.down.get(name, ())
        if (task := self.task(name)) is None and not agent.loop_of(name):
            return
        for other in [*self._index.made_by(name), *self._live_by(name)]:
            yield Link(other, name, "given out by", "gave out")
        for other in self._retries(name):
            yield Link(other, name, "tries again", "tried again as")
        for approval in self._approvals(task) if task else ():
            yield Link(approval, name, "asked by", "asked")

    @cached_property
    def trail(self) -> Trail:
        """Which lines of the journals name what."""
        return Trail(self.layout)

    @cached_property
    def _node_links(self) -> NodeLinks:
        return NodeLinks(self.layout, self.trail)

    @cached_property
    def packets(self) -> dict[str, Packet]:
        """The packet of each loop, by the name of the loop's task."""
        packets = (_decoded(line, Packet) for line in Journal(self.layout.packets).lines())
        return {agent.task_id(packet.loop): packet for packet in packets if packet}

    @cached_property
    def _loop_links(self) -> LinkIndex:
        pairs = LinkIndex()
        for name, packet in self.packets.items():
            for other in dict.fromkeys([*packet.came_ids, *packet.read, packet.read_upto]):
                if other:
                    pairs.add(Link(name, other, "read", "read in"))
        return pairs

    @cached_property
    def _work_links(self) -> LinkIndex:
        """Tasks that belong to a work unit; notes of the archive, texts of relays, what was learnt."""
        pairs = LinkIndex()
        for link in (*records.text_links(self.layout), *records.observation_links(self.layout)):
            pairs.add(link)
        for name in self._live:
            task = self.task(name)
            if task is not None and task.spec.wu_id:
                pairs.add(Link(name, task.spec.wu_id, "for", "worked on in"))
        return pairs

    @cached_property
    def _live(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.layout.tasks.glob("*/") if path.name not in ("archive", "")))

    @cached_property
    def _index(self) -> RoleIndex:
        return RoleIndex(self.layout, self._now)

    def _live_by(self, name: str) -> list[str]:
        """Return tasks that `name` created and that have not ended: ended ones are in the index."""
        live = [task for task_id in self._live if (task := self.task(task_id)) is not None and task.exit is None]
        return [task.spec.id for task in live if task.spec.created_by == name]

    def _retries(self, name: str) -> list[str]:
        live = [task for task_id in self._live if (task := self.task(task_id)) is not None and task.exit is None]
        return [*self._index.retries_of(name), *(task.spec.id for task in live if task.spec.retry_of == name)]

    def _approvals(self, task: TaskParts) -> list[str]:
        data = backwards.read_tail(task.folder / "events.jsonl", _MOST_BYTES)
        return [approval_id.decode() for approval_id in dict.fromkeys(_APPROVAL_ID.findall(data))]

    def asker(self, approval_id: str) -> str:
        """Return the task that asked for an approval; empty where there is none."""
        from lumen_tui.store import approvals

        try:
            request = approvals.read(self.layout, approval_id)
        except ids.BadId:
            return ""
        return request.task_id if request else ""

    def task(self, name: str) -> TaskParts | None:
        """Return a task, live or archived; None where there is none of this name."""
        if name not in self._tasks:
            self._tasks[name] = self._read(name)
        return self._tasks[name]

    def _read(self, name: str) -> TaskParts | None:
        try:
            folder = task_files.folder_of(self.layout, name)
            if folder is None:
                return None
            run, ended = read_json(folder / "run.json", Run), read_json(folder / "exit.json", Exit)
            return TaskParts(read_spec(folder), run, ended, folder)
        except (ids.BadId, DamagedTask, files.StoreError, OSError):
            return None

    def calls(self, name: str) -> tuple[CreatingCall, ...]:
        """Return the calls of a task that made something, from its transcripts."""
        if name not in self._calls:
            task = self.task(name)
            self._calls[name] = tuple(_calls(self.layout, task)) if task else ()
        return self._calls[name]


def _decoded(line: bytes, kind: type[_T]) -> _T | None:
    try:
        return decode_safe(line, kind)
    except UNDECODABLE:
        return None


def _causes(spec: Spec) -> Iterator[Link]:
    if agent.is_own(spec.created_by) or spec.created_by.startswith("tsk-"):
        yield Link(spec.id, spec.created_by, "given out by", "gave out")
    if spec.retry_of:
        yield Link(spec.id, spec.retry_of, "tries again", "tried again as")
    for other in spec.depends_on:
        yield Link(spec.id, other, "needed first", "was needed for")
    if spec.wu_id:
        yield Link(spec.id, spec.wu_id, "for", "worked on in")


def _calls(layout: Layout, task: TaskParts) -> Iterator[CreatingCall]:
    """Yield the creating calls of every attempt at the task."""
    attempts = max(task.run.attempt if task.run else 0, task.exit.attempt if task.exit else 0, 1)
    sessions = [session_id(task.spec, attempt) for attempt in range(1, min(attempts, 20) + 1)]
    if task.exit and task.exit.session:
        sessions.append(task.exit.session)
    for session in dict.fromkeys(sessions):
        try:
            data = backwards.read_tail(layout.transcript(session), _MOST_BYTES)
        except (files.StoreError, ids.BadId, OSError):
            continue
        yield from _calls_in(data)


class _TranscriptMessage(msgspec.Struct):
    type: str = ""
    timestamp: str = ""
    message: dict[str, object] = {}


def _calls_in(data: bytes) -> Iterator[CreatingCall]:
    """Yield the calls of CREATING_TOOLS with the ids that their results name."""
    pending: dict[str, tuple[dict[str, object], str, int]] = {}
    for _, raw in split_lines(data, 0):
        if b'"tool_use' not in raw and b'"tool_result"' not in raw:
            continue
        line = _decoded(raw, _TranscriptMessage)
        content = line.message.get("content") if line else None
        for block in content if isinstance(content, list) else ():
            if not line or not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and block.get("name") in CREATING_TOOLS:
                pending[str(block.get("id"))] = (block, line.timestamp, _tokens(line.message.get("usage")))
            elif use := pending.pop(str(block.get("tool_use_id")), None):
                yield _call(*use, tuple(dict.fromkeys(_CREATED_ID.findall(str(block.get("content"))[:4000]))))


def _call(block: dict[str, object], at: str, tokens: int, created: tuple[str, ...]) -> CreatingCall:
    arguments = block.get("input")
    words = (
        [str(value) for value in arguments.values() if isinstance(value, str)] if isinstance(arguments, dict) else []
    )
    title = one_line(words[0] if words else "", 100)
    return CreatingCall(str(block.get("id")), str(block.get("name")), title, at, tokens, created)


def _tokens(usage: object) -> int:
    if not isinstance(usage, dict):
        return 0
    return sum(value for name, value in usage.items() if name.endswith("_tokens") and isinstance(value, int))
