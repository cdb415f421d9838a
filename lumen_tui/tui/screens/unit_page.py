"""One work unit: its spec, acceptance and proof, tasks, checkpoints, decisions, signals; enter opens each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.unit_views import UnitDetail, unit_detail
from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.acceptance import Finding, Verdict
from lumen_tui.model.kinds import CHECKPOINT_MARK
from lumen_tui.model.snapshot import Revisions, Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import humanize, one_line
from lumen_tui.model.views import Blocker, NodeView, PageEntry
from lumen_tui.model.work import Tracked
from lumen_tui.storage.files import StoreError
from lumen_tui.tui import words
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.lines import Cell, line
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ReadingScreen, Rows, fill
from lumen_tui.tui.panes.workers import short_id
from lumen_tui.tui.screens.unit_verbs import UnitSheet

_TASKS = 400  # of the newest, among which those on the unit are looked for: each archived one is read from the disk
_BAD = frozenset({Status.FAILED.value, Status.LOST.value})


class UnitEntry(NamedTuple):
    """One line of the page, and what enter opens: a task, a node, a work unit, or the text itself."""

    group: str
    first: bool  # of its group
    text: str
    at: float = 0.0
    mark: str = ""  # a state: of a task, or of what a check found
    kind: str = ""  # task | node | unit; empty for a text
    target: str = ""
    full: str = ""  # what enter shows of a text

    @property
    def bad(self) -> bool:
        """Whether it went wrong."""
        return self.mark in _BAD


def unit_entries(detail: UnitDetail, tasks: Sequence[TaskView]) -> Iterator[UnitEntry]:
    """Yield the page of a unit line by line; `tasks` are those on it."""
    groups = (
        ("state", _state(detail)),
        ("spec", _spec(detail.row.unit)),
        (
            "waits for",
            map(_blocker, detail.page.blockers),
        ),
        ("does not hold", map(_line, detail.page.drifted)),
        ("accepted when", _acceptance(detail)),
        ("tasks", map(_task, tasks)),
        ("checkpoints", map(_checkpoint, detail.checkpoints)),
        ("hand-off", map(_entry, detail.page.handoffs)),
        ("asked", map(_entry, detail.page.pending_decisions)),
        ("decided", map(_decision, detail.decisions)),
        ("signals", map(_entry, detail.page.signals)),
        ("discoveries", map(_entry, detail.page.discoveries)),
        ("was noticed as", map(_node, [detail.origin] if detail.origin else [])),
        ("summary", map(_entry, [detail.page.summary] if detail.page.summary else [])),
    )
    for group, entries in groups:
        for place, entry in enumerate(entries):
            yield entry._replace(group=group, first=place == 0)


def _line(text: str, at: float = 0.0, mark: str = "", kind: str = "", target: str = "", full: str = "") -> UnitEntry:
    return UnitEntry("", False, one_line(humanize(text), 600), at, mark, kind, target, full or text)


def _blocker(blocker: Blocker) -> UnitEntry:
    kind = "unit" if blocker.id.startswith("WU-") else "node"
    return _line(f"{blocker.id} ({blocker.status}) {blocker.title}", times.epoch(blocker.at), "", kind, blocker.id)


def _state(detail: UnitDetail) -> Iterator[UnitEntry]:
    unit, page = detail.row.unit, detail.page
    where = f"lane {unit.lane}" if unit.lane else "no lane"
    yield _line(f"{detail.row.state}, {where}, {unit.type}, {unit.priority}", times.epoch(unit.created_at))
    if unit.status == "in_progress":
        yield _line(f"claimed by {unit.claimed_by or 'somebody'}", times.epoch(unit.claimed_at))
    if unit.status == "blocked":
        yield _line(f"blocked by {unit.blocked_by or 'somebody'}: {unit.blocked_reason}", times.epoch(unit.blocked_at))
    if unit.status == "done":
        yield _line(f"done by {unit.done_by or 'somebody'}", times.epoch(unit.done_at))
    if page.session is not None:
        yield _line(f"session {page.session.session_id} of {page.session.agent}", times.epoch(page.session.started_at))


def _spec(unit: Tracked) -> Iterator[UnitEntry]:
    lines = [text for text in unit.body.splitlines() if text.strip() and text.strip() != f"# {unit.title}"]
    yield _line(" ".join(lines) or "no description yet", full=unit.body or unit.title)


def _acceptance(detail: UnitDetail) -> Iterator[UnitEntry]:
    """Yield each condition with what was found of it, then the verdict."""
    marks = {Finding.HOLDS: Status.DONE, Finding.FAILS: Status.FAILED, Finding.UNKNOWN: Status.LOST}
    for text in detail.row.unit.acceptance:
        result = detail.result_of(text)
        evidence = "\n".join([result.text, *result.lines]) if result else f"{text}\n\nIt was not checked."
        yield _line(result.text if result else text, mark=marks[result.finding].value if result else "", full=evidence)
    if not detail.row.unit.acceptance:
        yield _line("none written: what must hold before it is done?")
    if checked := detail.checked:
        text = f"{checked.verdict} after {detail.checked_by}{f': {checked.reason}' if checked.reason else ''}"
        bad = Status.FAILED.value if checked.verdict is Verdict.DISPROVED else ""
        yield _line(text, times.epoch(checked.at), bad, "task", detail.checked_by)


def _task(view: TaskView) -> UnitEntry:
    said = f": {view.reason}" if view.reason else ""
    text = f"{short_id(view.id)} {view.state}, {view.spec.role}: {view.spec.objective}{said}"
    return _line(text, view.finished or view.started, view.status.value, "task", view.id)


def _checkpoint(node: NodeView) -> UnitEntry:
    parts = [node.title.removeprefix(CHECKPOINT_MARK)] + [
        f"{label}: {value}"
        for name, label in (("progress", "progress"), ("nextSteps", "next"))
        if isinstance(value := node.metadata.get(name), str) and value
    ]
    return _line(" · ".join([*parts, f"by {node.author}"]), times.epoch(node.created_at), "", "node", node.id)


def _decision(node: NodeView) -> UnitEntry:
    return _line(f"{node.title} · by {node.author}", times.epoch(node.created_at), "", "node", node.id)


def _node(node: NodeView) -> UnitEntry:
    return _line(f"{node.priority} {node.title}, by {node.author}", times.epoch(node.created_at), "", "node", node.id)


def _entry(entry: PageEntry) -> UnitEntry:
    text = f"{entry.extra.get('priority', '')} {entry.text} · by {entry.by}".strip()
    if entry.kind == "signal":
        return _line(text, times.epoch(entry.at), full=entry.text)
    return _line(text, times.epoch(entry.at), "", "node", entry.id)


_GROUP, _AROUND = 15, 27  # cells of the group's name, and of all that stands beside the text


class EntryRows(Rows[UnitEntry]):
    """The group, the mark, what, and how long ago; below the selected one what its line had no room for."""

    def key(self, row: UnitEntry) -> str:
        return f"{row.group} {row.target or row.text}"

    def line(self, row: UnitEntry, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        text = ink.bad if row.bad else ink.strong if selected else ink.text
        cells = (
            Cell(row.group if row.first else "", ink.accent, _GROUP),
            Cell(self._mark(row), self._style(row), self.look.shapes.size, gap=1),
            Cell(row.text, text, gap=1),
            Cell(words.age(self.now - row.at) if row.at else "", ink.muted, 6, right=True),
        )
        return line(width, cells)

    def more(self, row: UnitEntry, width: int) -> list[Segment]:
        shown = max(1, width - _AROUND)
        return line(width, [Cell("", self.look.ink.muted, _GROUP + 2), Cell(row.text[shown:], self.look.ink.muted)])

    def _mark(self, row: UnitEntry) -> str:
        return self.look.shapes.status[Status(row.mark)] if row.mark else " "

    def _style(self, row: UnitEntry) -> Style:
        ink = self.look.ink
        return ink.bad if row.bad else ink.good if row.mark == Status.RUNNING else ink.muted

    def words(self, row: UnitEntry) -> str:
        return f"{row.group} {row.text} {row.target}"

    def fields(self, row: UnitEntry) -> dict[str, str]:
        return {"group": row.group, "state": row.mark, "id": row.target}


def tasks_on(tasks: Sequence[TaskView], wu_id: str) -> list[TaskView]:
    """Return the tasks on a unit among those that live and the newest that have ended. Reads files."""
    near: Iterable[TaskView] = (tasks[place] for place in range(min(_TASKS, len(tasks))))
    return [view for view in near if view.spec.wu_id == wu_id]


Read = tuple[UnitDetail, Sequence[TaskView]]


class UnitScreen(UnitSheet[UnitEntry, Read]):
    """The page of one work unit."""

    EMPTY = "Nothing is recorded about it."
    TWO_LINES = True

    def __init__(self, port: Port, snapshot: Snapshot, wu_id: str, refusal: str = "") -> None:
        super().__init__(wu_id, port, snapshot, self._read, refusal)
        self._wu_id = wu_id
        self._detail: UnitDetail | None = None

    def _read(self) -> Read:
        return unit_detail(self._port.root, self._wu_id, self._now), tasks_on(self.snapshot.tasks, self._wu_id)

    def news(self, revisions: Revisions) -> object:
        return super().news(revisions), revisions.tasks

    def rows_view(self) -> EntryRows:
        return EntryRows(appearance_of(self.app), self._now)

    def keys(self) -> Keys:
        return (*super().keys()[:-1], *self.offer("undo", "back"))

    def _loaded(self, read: Read) -> None:
        self._detail, tasks = read
        self.disproved = self._detail.checked is not None and self._detail.checked.verdict is Verdict.DISPROVED
        row = self._detail.row
        percent = f" · {row.percent} %" if row.percent is not None else ""
        fill(self, list(unit_entries(self._detail, tasks)), f"{row.unit.id} {row.unit.title}", f"{row.state}{percent}")

    def unit(self) -> Tracked | None:
        return self._detail.row.unit if self._detail is not None else None

    def action_why(self) -> None:
        """Show what caused the row, or the unit where the row is about the unit itself."""
        from lumen_tui.tui.screens.lineage import WhyScreen

        chosen = self.rows.selected
        self.app.push_screen(WhyScreen(self._port, (chosen and chosen.target) or self._wu_id, self._now))

    def opened(self, row: UnitEntry) -> None:
        if row.kind == "task":
            from lumen_tui.tui.screens.task_detail import TaskDetailScreen

            standing = self.snapshot.standing
            self.app.push_screen(
                TaskDetailScreen(self._port, row.target, self._now, refusal=self._refusal, standing=standing)
            )
        elif row.kind == "unit":
            self.app.push_screen(UnitScreen(self._port, self.snapshot, row.target, self._refusal))
        elif row.kind == "node":
            self.run_worker(self._open_node(row), group="open", exclusive=True)
        else:
            self._read_on(row)

    async def _open_node(self, row: UnitEntry) -> None:
        from lumen_tui.tui.screens.memory import node_text

        try:
            node = await looked(self, self._port.node, row.target)
            chain = await looked(self, self._port.provenance, row.target)
        except (ActionError, StoreError):
            self._read_on(row)  # decisions of sessions are no nodes by themselves
            return
        self.app.push_screen(ReadingScreen(f"{self._wu_id} {row.group}", node_text(node, chain)))

    def _read_on(self, row: UnitEntry) -> None:
        self.app.push_screen(ReadingScreen(f"{self._wu_id} {row.group}", row.full))
