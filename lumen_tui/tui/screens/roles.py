"""The list of roles, what each did and may do, and the keys that hire, fire, rehire and adjust."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from lumen_tui.actions.role_preview import firing, model_words, unended, until_words
from lumen_tui.engine.port import Port
from lumen_tui.model import agent, analytics, times
from lumen_tui.model.analytics import Retirement, Stats, Tally, TaskStatistics
from lumen_tui.model.approvals import rule_words
from lumen_tui.model.budget import dollars
from lumen_tui.model.config import Config
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.requests.roles import AdjustRole, FireRole, RehireRole
from lumen_tui.model.roles import REQUEST_HOST, Role, fetches_nothing
from lumen_tui.model.skills import ALL
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.role_texts import file_of, text_of
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION, shown_key
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Cell, edge_title, line
from lumen_tui.tui.kit.parts import Fact, Facts
from lumen_tui.tui.kit.questions import ReasonPrompt
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ListSheet, Rows, beside, fill
from lumen_tui.tui.screens.hire import Hiring, RoleForm
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance
from lumen_tui.tui.words import number

# Cells, and whether to the right: name, mark, tier, tasks, done, weeks, last use.
_COLUMNS = ((12, False), (1, False), (6, False), (6, True), (5, True), (analytics.WEEKS, False), (6, True))
_SHELL = {"none": "none", "read": "commands that only read", "any": "any command"}


class RoleRow(NamedTuple):
    """A role in force, or only the name of a retired one; with its figures, once they are known."""

    name: str
    role: Role | None
    stats: Stats | None = None
    retirement: Retirement | None = None


def role_rows(snapshot: Snapshot, book: TaskStatistics | None = None) -> list[RoleRow]:
    """Return those in force, then the retired."""
    stats = {stats.name: stats for stats in book.roles} if book else {}
    retirements = {retirement.role: retirement for retirement in book.retirements} if book else {}
    rows = [RoleRow(role.name, role, stats.get(role.name), retirements.get(role.name)) for role in snapshot.roles]
    return [*rows, *(RoleRow(name, None, stats.get(name)) for name in snapshot.retired)]


def heads() -> str:
    """Return what stands over the columns of `RoleRows`."""
    names = ("role", "", "tier", "tasks", "done", f"{analytics.WEEKS} weeks", "used")
    cells = [
        Cell(name, NO_APPEARANCE.ink.muted, width, right=right, gap=1)
        for name, (width, right) in zip(names, _COLUMNS, strict=True)
    ]
    segments = line(120, (*cells, Cell("what for", NO_APPEARANCE.ink.muted)))
    return " " + "".join(segment.text for segment in segments).rstrip()


class RoleRows(Rows[RoleRow]):
    """Name, tier, tasks, how many of them were done, the trend by week, last use, purpose; retired ones in grey."""

    def key(self, row: RoleRow) -> str:
        return row.name

    def line(self, row: RoleRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        if row.role is None:
            return line(width, (Cell(row.name, ink.muted, 14), Cell("retired", ink.muted)))
        role, stats = row.role, row.stats or Stats(row.name)
        mark = self.look.shapes.alert if row.retirement else ""
        style = (
            (role.name, ink.strong if selected else ink.text),
            (mark, ink.loud),
            (role.tier, ink.muted),
            (words.number(stats.tasks) if stats.tasks else "new", ink.muted),
            (_rate(stats), ink.loud if row.retirement else ink.text),
            (analytics.spark(stats.weeks, self.look.shapes.levels), ink.accent),
            (words.age(self.now - stats.last_used) if stats.last_used else "", ink.muted),
        )
        cells = [
            Cell(text, style, max(size, len(mark)) if text == mark else size, right=right, gap=1)
            for (text, style), (size, right) in zip(style, _COLUMNS, strict=True)
        ]
        return line(width, (*cells, Cell(role.purpose, ink.muted)))

    def words(self, row: RoleRow) -> str:
        return one_line(f"{row.name} {row.role.purpose}" if row.role else f"{row.name} retired")


def _rate(stats: Stats) -> str:
    return "" if stats.rate is None else f"{analytics.percent(stats.rate)} %"


def role_facts(row: RoleRow, snapshot: Snapshot, look: Appearance) -> list[Fact]:
    """Return how a role did and what it may do, in full."""
    role = row.role
    keys = snapshot.config.keys
    if role is None:
        rehire = shown_key(BY_ACTION["roles_rehire"], keys)
        return [("retired", f"{row.name} takes no tasks; {rehire} rehires it as it was."), *_figures(row.stats, look)]
    fire = shown_key(BY_ACTION["roles_fire"], keys)
    return [
        ("purpose", role.purpose or "–"),
        ("source", f"{role.source}, tier {role.tier}"),
        *([("retire it?", f"{row.retirement.text} {fire} shows what that means.")] if row.retirement else []),
        *([("in force", until)] if (until := until_words(role, snapshot.taken)) else []),
        *_figures(row.stats, look),
        ("model", model_words(role, snapshot.config, beat.brain if (beat := snapshot.engine.heartbeat) else "")),
        *_permissions(role, snapshot.config),
        *_example(role, shown_key(BY_ACTION["new_task"], keys)),
        *(("asks not", rule_words(rule)) for rule in snapshot.config.allow if rule.role == role.name),
    ]


def _figures(stats: Stats | None, look: Appearance) -> Iterator[Fact]:
    """Yield what the ended tasks say of a role."""
    if stats is None or not stats.tasks:
        yield "tasks", "no history yet"
        return
    counts = f"{number(stats.done)} done, {number(stats.failed)} failed, {number(stats.cancelled)} cancelled"
    yield "tasks", f"{number(stats.tasks)}: {counts}, {number(stats.retries)} retries"
    yield "success", analytics.shares(Tally(stats.done, stats.done + stats.failed))
    if proofs := analytics.proofs(stats):
        yield "checks", proofs
    weeks, dots = analytics.spark(stats.weeks, look.shapes.levels), look.shapes.status
    if look.spoken:
        rates = ("none" if week.rate is None else words.percent(week.rate) for week in stats.weeks)
        yield "by week", f"share done, to now: {', '.join(rates)}"
    else:
        yield "by week", f"{weeks.strip()}  share done, of {analytics.WEEKS} weeks to now"
    between = " " if look.spoken else ""
    latest = analytics.recent(stats.latest, dots[Status.DONE] + between, dots[Status.FAILED] + between)
    yield "latest", f"{latest.strip()}  the newest at the end"
    yield "duration", f"median {times.span(stats.median)}, p95 {times.span(stats.p95)}"
    yield "cost", f"{dollars(stats.usd)}; a task: median {dollars(stats.usd_median)}, p95 {dollars(stats.usd_p95)}"
    yield "tokens", number(stats.tokens)


def _example(role: Role, key: str) -> Iterator[Fact]:
    if role.example:
        yield "example", f"{one_line(role.example.objective, 400)} ({key} fills it in)"


def _permissions(role: Role, config: Config) -> list[Fact]:
    limits = role.limits
    return [
        ("tools", " ".join(role.tools) or "none"),
        *([("pages", _pages(role, config))] if "web_fetch" in role.tools else []),
        ("skills", _skills(role)),
        ("shell", _SHELL.get(role.shell, role.shell)),
        ("may", ", ".join(_powers(role)) or "read; change nothing, no command on the network"),
        ("limits", f"{times.limit(limits.timeout_seconds)} a task · {limits.max_steps} steps"),
        ("stall timeout", times.limit(limits.stall_seconds)),
        ("concurrency", str(limits.at_once or "engine default")),
    ]


def _pages(role: Role, config: Config) -> str:
    if fetches_nothing(role, config.web):
        return "none: it is given no task before you name hosts"
    return " ".join([*config.web.with_those_of(role.hosts), *(["what you allow when it asks"] if _asks(role) else [])])


def _asks(role: Role) -> bool:
    return REQUEST_HOST in role.tools


def _skills(role: Role) -> str:
    return "all where it works" if ALL in role.skills else " ".join(role.skills) or "none"


def _powers(role: Role) -> Iterator[str]:
    if role.write:
        yield "write files in their tasks' folders only" if role.own_files_only else "write files"
    if role.network:
        yield "use the network"
    elif role.command_hosts:
        yield f"run commands that reach {one_line(', '.join(role.command_hosts), 120)} (bubblewrap only)"


_TITLE = "active · retired"


class RolesScreen(ListSheet[None, RoleRow]):
    """The list, the detail of the selected role, and one line on what the last action did."""

    SCOPE = "roles"
    WHY = True
    EMPTY = "No active roles. h hires one."

    def __init__(self, port: Port, snapshot: Snapshot, at: str = "") -> None:
        super().__init__("Roles")
        self._port = port
        self.snapshot = snapshot
        self._at = at  # the role on which the cursor begins
        self.reasons: tuple[str, ...] = ()
        self._book: TaskStatistics | None = None
        self.hiring = Hiring(self, lambda: self.snapshot, lambda: self._book, self.submit)
        self.drafts = self.hiring.drafts
        self._loader: jobs.Loader[TaskStatistics] = jobs.Loader(self, port.role_book, self._figures)

    def rows_view(self) -> RoleRows:
        return RoleRows(appearance_of(self.app), self.snapshot.taken)

    def body(self) -> ComposeResult:
        filter_line, roles, message = super().body()
        yield from beside([filter_line, Static(heads(), markup=False, classes="heads"), roles, message], _TITLE)

    def keys(self) -> Keys:
        acts = self.offer("roles_hire", "roles_fire", "roles_rehire", "roles_adjust", "roles_edit", "new_task", "undo")
        return (*(() if self.snapshot.read_only else acts), *self.offer("why", "back"))

    def on_mount(self) -> None:
        super().on_mount()
        self.show(self.snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot."""
        if snapshot.revisions.tasks != self.snapshot.revisions.tasks or self._book is None:
            self._loader.load()
        self.snapshot = snapshot
        self._fill()

    def _figures(self, book: TaskStatistics) -> None:
        if book != self._book:
            self._book = book
            self._fill()

    def _fill(self) -> None:
        snapshot = self.snapshot
        aside = f"{len(snapshot.roles)} active · {len(snapshot.retired)} retired"
        fill(self, role_rows(snapshot, self._book), "Roles", aside)
        if self._at:
            self.rows.select_key(self._at)
            self._at = "" if self._book else self._at
        self._show_detail()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_detail()

    def _show_detail(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(role_facts(row, self.snapshot, appearance_of(self.app)) if row else ())
        self.query_one(".detail").border_title = edge_title(one_line(row.name, 64) if row else "")
        prompt = self.query_one(".prompt", Static)
        text = row.role.prompt if row and row.role else ""
        prompt.update(Content(safe(text)))
        prompt.display = bool(text)

    def opened(self, row: RoleRow) -> None:
        self.query_one(".detail").focus()

    def action_do(self, name: str) -> None:
        if self.snapshot.read_only:
            self.say(f"This room is read-only: {self.snapshot.read_only}", bad=True)
            return
        self.say("")
        self.run_worker(_JOBS[name](self), group="ask", exclusive=True)

    async def submit(self, request: Request) -> None:
        if await jobs.submit(self, self._port, request):
            newest = await jobs.newest_snapshot(self, self._port)
            if newest is not None:
                self.show(newest)


async def _hire(screen: RolesScreen) -> None:
    chosen = screen.rows.selected
    await screen.hiring.hire(chosen.role if chosen else None)


async def _fire(screen: RolesScreen) -> None:
    row = _in_force(screen)
    if row is None:
        return
    snapshot = screen.snapshot
    tasks = await jobs.looked(screen, unended, snapshot.tasks)
    lines = firing(row.name, tasks, snapshot.config, row.stats)
    if row.retirement:
        lines = (row.retirement.text, *lines)
    reason = await screen.app.push_screen_wait(ReasonPrompt(f"Fire {row.name}", screen.reasons, lines))
    if reason is not None:
        screen.reasons = tuple(dict.fromkeys((reason, *screen.reasons)))
        await screen.submit(FireRole(name=row.name, reason=reason))


async def _rehire(screen: RolesScreen) -> None:
    row = screen.rows.selected
    if row is None or row.role is not None:
        screen.say("Only a retired role can be rehired: go to one first.", bad=True)
        return
    await screen.submit(RehireRole(name=row.name))


async def _adjust(screen: RolesScreen) -> None:
    row = _in_force(screen)
    if row is None or row.role is None:
        return
    role = await screen.app.push_screen_wait(RoleForm(row.role, context=screen.hiring.around(row.name)))
    if role is not None and role != row.role:
        await screen.submit(AdjustRole(name=row.name, text=text_of(role)))


async def _edit(screen: RolesScreen) -> None:
    row = _in_force(screen)
    if row is None or row.role is None:
        return
    before = await jobs.looked(screen, file_of, Path(screen.snapshot.root), row.role)
    text = await screen.drafts.edit(row.name, before)
    if text is not None:
        await screen.submit(AdjustRole(name=row.name, text=text))


def _in_force(screen: RolesScreen) -> RoleRow | None:
    row = screen.rows.selected
    if row is None or row.role is None:
        screen.say("This one is retired: R rehires it.", bad=True)
        return None
    return row


async def _try(screen: RolesScreen) -> None:
    """Fill in a task with the role's example, or with the role alone."""
    from lumen_tui.tui.screens.task_form import TaskForm, here

    row = _in_force(screen)
    if row is None or row.role is None:
        return
    if row.name == agent.ROLE:
        screen.say(f"{row.name} is the agent itself and is given no tasks.", bad=True)
        return
    example = msgspec.to_builtins(row.role.example) if row.role.example else {}
    workers = [role for role in screen.snapshot.roles if role.name != agent.ROLE]
    request = await screen.app.push_screen_wait(TaskForm(workers, {"folder": here(), "role": row.name, **example}))
    if request is not None:
        await screen.submit(msgspec.structs.replace(request, context=example.get("context", "")))


async def _undo(screen: RolesScreen) -> None:
    await screen.submit(Undo())


# What the keys do. Each is a job of its own, because each asks something first.
_JOBS: dict[str, Callable[[RolesScreen], Awaitable[None]]] = {
    "hire": _hire,
    "fire": _fire,
    "rehire": _rehire,
    "adjust": _adjust,
    "edit": _edit,
    "try": _try,
    "undo": _undo,
}
