"""The page of `ready`, from which a fresh agent can continue, and what blocks a work unit. It only reads."""

from __future__ import annotations

from lumen_tui.actions import places
from lumen_tui.model import times
from lumen_tui.model.kinds import NODE_TYPES
from lumen_tui.model.text import one_line, safe, safe_all
from lumen_tui.model.views import Page, PageEntry
from lumen_tui.queries.trail import CHECKPOINT, DECISION, DISCOVERY, HANDOFF, NOTE, PENDING, SUMMARY, Trail, blockers
from lumen_tui.storage import files
from lumen_tui.store.work import open_sessions, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from lumen_tui.model.views import HolderView, NodeView, Plain, SessionView, SignalView, UnitView
    from lumen_tui.storage.layout import Folder

    Record = TypeVar("Record", bound=Plain)

TYPES = (*NODE_TYPES, PENDING, DECISION, HANDOFF)
_SIGNALS = 5
_DECISIONS = 5
_ITEMS = 20
_FILES = 40
_HANDOFFS = 5
_SUMMARY = 30  # lines of it
_TEXT = 2000  # characters of one entry


def page(store: Folder, *, by: str, now: float, wu_id: str = "", type: str = "") -> Page:
    """Return everything about a work unit; `type` selects which kind of open nodes `items` lists."""
    where = places.place(store, by=by, wu_id=wu_id)
    with Trail(store.layout) as trail:
        return _page(store, trail, where.wu_id, (type,) if type else (DISCOVERY, NOTE, PENDING), now)


def _page(store: Folder, trail: Trail, wu_id: str, kinds: tuple[str, ...], now: float) -> Page:
    unit = views.read_unit(store.root, wu_id)
    open_ones = [cleaned(item) for item in open_sessions.live(store.root) if item.active_wu == wu_id]
    session = max(open_ones, key=lambda item: item.started_at, default=None)
    last = next(iter(trail.newest(wu_id, (CHECKPOINT,), 1)), None)
    summary = next(iter(trail.newest(wu_id, (SUMMARY,), 1)), None)
    items = [item for item in trail.ready(wu_id, kinds, 2 * _ITEMS) if not blockers(store, trail, item.id, now=now)]
    return Page(
        wu_id=wu_id,
        taken_at=times.iso(now),
        unit=cleaned(unit) if unit else None,
        lane_holders=_holders(store, unit),
        session=session,
        session_age_seconds=_age(session.started_at, now) if session else 0.0,
        other_sessions=tuple([f"{item.session_id} ({item.agent})" for item in open_ones if item is not session]),
        handoffs=_entries(trail.newest(wu_id, (HANDOFF,), _HANDOFFS, any_state=True), now),
        last_checkpoint=entry(last, now) if last else None,
        files_touched=_files(session, last),
        summary=entry(summary, now) if summary else None,
        signals=tuple([signal_entry(item, now) for item in trail.signals(wu_id, _SIGNALS)]),
        pending_decisions=_entries(trail.ready(wu_id, (PENDING,), _ITEMS), now),
        decisions=_entries(trail.newest(wu_id, (DECISION,), _DECISIONS), now),
        discoveries=_entries(trail.ready(wu_id, (DISCOVERY,), _ITEMS), now),
        blockers=tuple(blockers(store, trail, wu_id, now=now)),
        items=_marked(store, items[:_ITEMS], now),
        drifted=against(store, wu_id, now),
        left_out=_left_out(trail, wu_id),
    )


def cleaned(record: Record) -> Record:
    """Return the same record with every text in it made safe for a terminal."""
    fields = {name: safe_all(getattr(record, name)) for name in type(record).__annotations__}
    return type(record)(**fields)


def _holders(store: Folder, unit: UnitView | None) -> tuple[HolderView, ...]:
    """Return who occupies the lane, as far as its lock knows."""
    entered = views.lane_holders(store.layout, unit.lane) if unit and unit.lane else []
    return tuple([cleaned(holder) for holder in entered if _in_progress(store, holder.wu_id)])


def _in_progress(store: Folder, wu_id: str) -> bool:
    """Return whether the unit's own file says so; False where it cannot be read."""
    try:
        unit = views.read_unit(store.root, wu_id)
    except (ValueError, OSError, files.StoreError):
        return False
    return unit is not None and unit.status == "in_progress"


def _left_out(trail: Trail, wu_id: str) -> dict[str, int]:
    counts = {kind: trail.count(wu_id, (kind,)) - _ITEMS for kind in (DISCOVERY, PENDING)}
    return {kind: count for kind, count in counts.items() if count > 0}


def _age(at: str, now: float) -> float:
    """Return the age in seconds, never below zero: clocks move."""
    return max(0.0, now - times.epoch(at, now))


def _entries(nodes: Iterable[NodeView], now: float) -> tuple[PageEntry, ...]:
    return tuple([entry(node, now) for node in nodes])


def _marked(store: Folder, nodes: list[NodeView], now: float) -> tuple[PageEntry, ...]:
    """Return the nodes as entries; facts that are not fresh carry a mark."""
    entries = _entries(nodes, now)
    if not any("fact" in node.tags for node in nodes):
        return entries
    from lumen_tui.store.memory import facts  # only here, where it is worth its import

    marks = facts.marks(store.layout, now)
    for entry in entries:
        if words := marks.get(entry.id):
            entry.extra["mark"] = safe(words)
    return entries


def against(store: Folder, wu_id: str, now: float) -> tuple[str, ...]:
    """Return facts that the work unit relies on and that no longer hold, each with what holds now."""
    if wu_id.encode() not in (files.read(store.layout.confirmations) or b""):
        return ()
    from lumen_tui.store.memory import facts  # only here, where it is worth its import

    return facts.against(store.layout, wu_id, now)


_EXTRA = (
    "progress",
    "nextSteps",
    "trigger",
    "priority",
    "question",
    "answer",
    "answered_by",
    "to",
    "taken_by",
    "taken_at",
    "taken_session",
    "gitDiffStat",
)


def entry(node: NodeView, now: float) -> PageEntry:
    """Return a node as an entry of the page."""
    extra = {key: value[:_TEXT] for key in _EXTRA if isinstance(value := node.metadata.get(key), str) and value}
    if node.session_id:
        extra["session_id"] = node.session_id
    if node.tags:
        extra["tags"] = " ".join(node.tags)
    age = _age(node.created_at, now)
    return PageEntry(
        id=node.id,
        kind=node.type,
        text=node.content[:_TEXT],
        by=node.author,
        at=node.created_at,
        age_seconds=age,
        extra=extra,
    )


def signal_entry(signal: SignalView, now: float) -> PageEntry:
    """Return a signal as an entry of the page."""
    named = {"to": signal.target_agent, "priority": signal.priority, "lane": signal.lane, "type": signal.type}
    extra = {key: value for key, value in named.items() if value}
    age = _age(signal.created_at, now)
    return PageEntry(
        id=signal.id,
        kind="signal",
        text=signal.message[:_TEXT],
        by=signal.sender,
        at=signal.created_at,
        age_seconds=age,
        extra=extra,
    )


def _files(session: SessionView | None, last: NodeView | None) -> tuple[str, ...]:
    """Return the newest files of the session and of the last checkpoint, each once."""
    listed = last.metadata.get("files") if last else None
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, (list, tuple)) else []
    every = dict.fromkeys([*(session.files_touched if session else ()), *names])
    return tuple([one_line(name, 300) for name in list(every)[-_FILES:]])


def lines(page: Page) -> list[str]:
    """Return the page as lines of text, with author and age beside everything."""
    parts = [*_unit_lines(page), *_session_lines(page)]
    for note in page.handoffs:
        by = note.extra.get("taken_by", "")
        taken = f", taken by {by} ({times.stamp_of(note.extra.get('taken_at'))})" if by else ""
        to = f" to {note.extra['to']}" if "to" in note.extra else ""
        parts.append(f"hand-off{to}{taken}: {entry_text(note)}")
    parts += _checkpoint_lines(page)
    if page.files_touched:
        parts.append(f"files touched: {', '.join(page.files_touched)}")
    for title, entries in (
        ("last signals", page.signals),
        ("pending decisions", page.pending_decisions),
        ("decided", page.decisions),
        ("open discoveries", page.discoveries),
    ):
        parts += [f"{title}:", *[f"  {_prefix(item)}{entry_text(item)}" for item in entries]] if entries else []
    parts += _summary_lines(page)
    parts += [f"({count} more {kind} not shown)" for kind, count in page.left_out.items()]
    return parts


def _summary_lines(page: Page) -> list[str]:
    """Return the summary in full: its decisions are closed, and nothing else on the page mentions them."""
    summary = page.summary
    if summary is None:
        return []
    text = safe(summary.text).splitlines()
    body = [line for line in text if line.strip() and not line.startswith("# ")]  # the title names the work unit again
    first = f"summarized by {summary.by} {times.ago(summary.age_seconds)} ({summary.id}):"
    return [first, *[f"  {one_line(line, 600)}" for line in body[:_SUMMARY]]]


def _prefix(item: PageEntry) -> str:
    return f"[{item.extra['priority']}] " if "priority" in item.extra else ""


def entry_text(item: PageEntry) -> str:
    """Return an entry on one line, with its author and age."""
    to = f" to {item.extra['to']}" if item.kind == "signal" and "to" in item.extra else ""
    mark = f" {item.extra['mark']}" if "mark" in item.extra else ""
    return f"{one_line(item.text, 600)}{mark}  — {item.by}{to}, {times.ago(item.age_seconds)} ({item.id})"


def _unit_lines(page: Page) -> list[str]:
    if page.unit is None:
        return [f"{page.wu_id}  (no work unit file, only records about it)"]
    unit = page.unit
    first = f"{unit.id}  {one_line(unit.title, 200)}"
    facts = [unit.status, f"lane {unit.lane}" if unit.lane else "no lane", unit.type, unit.priority]
    if unit.claimed_by and unit.status == "in_progress":
        facts.append(f"claimed by {unit.claimed_by} {times.ago(_age(unit.claimed_at, times.epoch(page.taken_at)))}")
    parts = [first, "status: " + ", ".join(facts)]
    if unit.status == "blocked":
        when = times.ago(_age(unit.blocked_at, times.epoch(page.taken_at)))
        parts.append(f"blocked by {unit.blocked_by or 'somebody'} {when}: {one_line(unit.blocked_reason)}")
    for blocker in page.blockers:
        by = f"{blocker.by or 'unknown'}, {times.ago(blocker.age_seconds)}"
        parts.append(f"waits for {blocker.id} ({blocker.status}): {blocker.title}  — {by}")
    return [*parts, *(f"does not hold: {text}" for text in page.drifted)]


def _session_lines(page: Page) -> list[str]:
    if page.session is None:
        return ["session: none open"]
    session = page.session
    kind = f" ({session.agent_type})" if session.agent_type != "unknown" else ""
    parts = [f"session: {session.session_id} of {session.agent}{kind}, started {times.ago(page.session_age_seconds)}"]
    if page.other_sessions:
        parts.append(f"also open: {', '.join(page.other_sessions)}")
    return parts


def _checkpoint_lines(page: Page) -> list[str]:
    last = page.last_checkpoint
    if last is None:
        return ["last checkpoint: none"]
    parts = [f"last checkpoint: {entry_text(last)}"]
    for key, title in (("progress", "progress"), ("nextSteps", "next steps")):
        if key in last.extra:
            parts.append(f"  {title}: {one_line(last.extra[key], 1000)}")
    if "gitDiffStat" in last.extra:
        parts += ["  changes:", *[f"    {line}" for line in safe(last.extra["gitDiffStat"]).splitlines()[-12:]]]
    return parts
