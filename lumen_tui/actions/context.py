"""Blocks of text for an agent's context: what a work unit is about, and what was going on before a break.

Each has a budget in characters that is never exceeded, and lists what it had no room for.
"""

from __future__ import annotations

from lumen_tui.actions import places, ready
from lumen_tui.actions.refusal import ActionError
from lumen_tui.model import times
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.views import ContextBlock, Cut
from lumen_tui.queries.trail import DISCOVERY, SUMMARY, Trail
from lumen_tui.store.work import views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lumen_tui.model.views import NodeView, Page
    from lumen_tui.storage.layout import Folder

CONTEXT_SIZE = 4096  # characters
RECOVERY_SIZE = 2048
SMALLEST = 200
_MOST_DISCOVERIES = 50
_ENTRY = 600  # characters of one entry; a summary may have twice that
_BODY_SHARE = 0.4  # of the budget, at most, for the description of the work unit


class _Builder:
    """Collects lines under headings until the budget is used up."""

    def __init__(self, max_size: int) -> None:
        if max_size < SMALLEST:
            raise ActionError(f"a block of {max_size} characters says nothing: give at least {SMALLEST}")
        self.max_size = max_size
        self.size = 0
        self.lines: list[str] = []
        self.cut: list[Cut] = []

    def add(self, line: str) -> bool:
        """Add a line if it fits; return whether it did."""
        if self.size + len(line) + 1 > self.max_size:
            return False
        self.lines.append(line)
        self.size += len(line) + 1
        return True

    def section(self, name: str, entries: Iterable[str], more: int = 0) -> None:
        """Add a heading with entries, the most important first; from the first that does not fit on, all are cut."""
        waiting = list(entries)
        heading = f"## {name}"
        if waiting and self.size + len(heading) + len(waiting[0]) + 2 <= self.max_size:
            self.add(heading)
            while waiting and self.add(waiting[0]):
                waiting.pop(0)
        if waiting:
            self._leave_out(name, len(waiting), "no room left")
        if more > 0:
            self._leave_out(name, more, "over the limit of entries")

    def text_block(self, name: str, text: str, room: int) -> None:
        """Add prose, cut at `room` characters."""
        whole = safe(text).strip()
        room = min(room, self.max_size - self.size - 1)
        if not whole or room < 1:
            return
        self.add(whole if len(whole) <= room else whole[: room - 1] + "…")
        if len(whole) > room:
            self._leave_out(name, len(whole) - room + 1, "characters of the text")

    def _leave_out(self, section: str, count: int, reason: str) -> None:
        self.cut.append(Cut(section=section, left_out=count, why=reason))

    def block(self, wu_id: str) -> ContextBlock:
        text = "\n".join(self.lines)
        return ContextBlock(wu_id=wu_id, text=text, size=len(text), max_size=self.max_size, cut=tuple(self.cut))


def context(
    store: Folder,
    *,
    by: str,
    now: float,
    wu_id: str = "",
    max_size: int = CONTEXT_SIZE,
    lane: str = "",
    max_recent_summaries: int = 5,
    max_project_nodes: int = 10,
) -> ContextBlock:
    """Build the block: the work unit, its summaries, its open discoveries, then project-wide knowledge.

    `lane` keeps only the project-wide nodes that name this lane or none.
    """
    if max_recent_summaries < 0 or max_project_nodes < 0:
        raise ActionError("a limit of entries is a number from 0 up")
    where = places.place(store, by=by, wu_id=wu_id)
    builder = _Builder(max_size)
    _head(store, builder, where.wu_id, now)
    builder.section("Not so any more", [f"- {text}" for text in ready.against(store, where.wu_id, now)])
    with Trail(store.layout) as trail:
        summaries = trail.newest(where.wu_id, (SUMMARY,), max_recent_summaries)
        discoveries = trail.ready(where.wu_id, (DISCOVERY,), _MOST_DISCOVERIES)
        project = [node for node in trail.project(4 * max_project_nodes) if _on_lane(node, lane)]
        more = [
            trail.count(where.wu_id, (SUMMARY,)) - len(summaries),
            trail.count(where.wu_id, (DISCOVERY,)) - len(discoveries),
            trail.project_count() - min(len(project), max_project_nodes),
        ]
    builder.section("Summaries", [_node_line(node, now, 2 * _ENTRY) for node in summaries], more[0])
    builder.section("Open discoveries", [_node_line(node, now) for node in discoveries], more[1])
    project = project[:max_project_nodes]
    marks = _marks(store, project, now)
    lines = [" ".join(filter(None, (_node_line(node, now), marks.get(node.id)))) for node in project]
    builder.section("Project", lines, more[2])
    return builder.block(where.wu_id)


def _marks(store: Folder, shown: Iterable[NodeView], now: float) -> dict[str, str]:
    """Return the freshness marks of facts among these nodes that are not fresh, by id."""
    if not any("fact" in node.tags for node in shown):
        return {}
    from lumen_tui.store.memory import facts  # only here, where it is worth its import

    return facts.marks(store.layout, now)


def _on_lane(node: NodeView, lane: str) -> bool:
    named = node.metadata.get("lane")
    return not lane or named in (None, "", lane)


def _head(store: Folder, builder: _Builder, wu_id: str, now: float) -> None:
    view = views.read_unit(store.root, wu_id)
    unit = ready.cleaned(view) if view else None
    if unit is None:
        builder.add(f"# {wu_id}")
        return
    room = max(20, builder.max_size // 2 - 100)
    builder.add(one_line(f"# {unit.id}: {unit.title}", room))
    age = times.ago(max(0.0, now - times.epoch(unit.created_at, now)))
    facts = [unit.status, unit.type, unit.priority, unit.lane, f"by {unit.created_by or 'unknown'}, {age}"]
    builder.add(one_line(" · ".join(fact for fact in facts if fact), 200))
    builder.section("Acceptance", [f"- {one_line(line, _ENTRY)}" for line in unit.acceptance])
    builder.text_block("Work unit", unit.body, int(builder.max_size * _BODY_SHARE))


def _node_line(node: NodeView, now: float, limit: int = _ENTRY) -> str:
    priority = f"[{node.priority}] " if node.priority else ""
    age = times.ago(max(0.0, now - times.epoch(node.created_at, now)))
    return f"- {priority}{one_line(node.content, limit)} ({node.author}, {age}, {node.id})"


def recover(store: Folder, *, by: str, now: float, wu_id: str = "", max_size: int = RECOVERY_SIZE) -> ContextBlock:
    """Build the block for after a compaction or crash: last checkpoint, last signals, decisions, files."""
    page = ready.page(store, by=by, now=now, wu_id=wu_id)
    builder = _Builder(max_size)
    title = f": {page.unit.title}" if page.unit else ""
    builder.add(one_line(f"# Recovery of {page.wu_id}{title}", max(20, max_size // 2 - 100)))
    _going_on(builder, page)
    waiting = [note for note in page.handoffs if "taken_by" not in note.extra]
    builder.section("Hand-off", [f"- {ready.entry_text(note)}" for note in waiting])
    builder.section("Last checkpoint", _checkpoint(page))
    builder.section("Last signals", [f"- {ready.entry_text(item)}" for item in page.signals])
    builder.section("Pending decisions", [f"- {ready.entry_text(item)}" for item in page.pending_decisions])
    builder.section("Files touched", [f"- {name}" for name in reversed(page.files_touched)])
    builder.section("Go on", [f"- lumen-tui ready --wu {page.wu_id}"])
    return builder.block(page.wu_id)


def _going_on(builder: _Builder, page: Page) -> None:
    facts = [page.unit.status, page.unit.lane] if page.unit else []
    if page.unit and page.unit.claimed_by:
        facts.append(f"claimed by {page.unit.claimed_by}")
    if page.session:
        facts.append(
            f"session {page.session.session_id} of {page.session.agent}, {times.ago(page.session_age_seconds)}"
        )
    builder.add(one_line(" · ".join(fact for fact in facts if fact) or "no session is open", 300))


def _checkpoint(page: Page) -> list[str]:
    last = page.last_checkpoint
    if last is None:
        return ["- none"]
    named = (("progress", "progress"), ("nextSteps", "next steps"), ("trigger", "trigger"))
    facts = [f"- {title}: {one_line(last.extra[key], _ENTRY)}" for key, title in named if key in last.extra]
    return [f"- {ready.entry_text(last)}", *facts]
