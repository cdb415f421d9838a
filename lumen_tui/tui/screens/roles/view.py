"""Roles as the roles screen draws them: a line in the list, and the facts and figures beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.actions.role_preview import model_words, until_words
from lumen_tui.model import analytics, times
from lumen_tui.model.analytics import Book, Retirement, Stats, Tally
from lumen_tui.model.approvals import rule_words
from lumen_tui.model.budget import dollars
from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.rows_sheet import Rows
from lumen_tui.tui.kit.timestamps import limit_words
from lumen_tui.tui.theme import NO_APPEARANCE, Appearance
from lumen_tui.tui.words import number

# Cells, and whether to the right: name, mark, tier, tasks, done, weeks, last use.
_COLUMNS = ((12, False), (1, False), (6, False), (6, True), (5, True), (analytics.WEEKS, False), (6, True))
_SHELL = {"none": "none", "read": "commands that only read", "any": "any command"}
NEW = Role(
    name="", purpose="", prompt="You are a worker with one task. Say what you found, where, and how sure you are.",
    source="hired",
)  # fmt: skip


class RoleRow(NamedTuple):
    """A role in force, or only the name of a retired one; with its figures, once they are known."""

    name: str
    role: Role | None
    stats: Stats | None = None
    retirement: Retirement | None = None


def role_rows(snapshot: Snapshot, book: Book | None = None) -> list[RoleRow]:
    """Those in force, then the retired."""
    stats = {one.name: one for one in book.roles} if book else {}
    worse = {one.role: one for one in book.retirements} if book else {}
    there = [RoleRow(one.name, one, stats.get(one.name), worse.get(one.name)) for one in snapshot.roles]
    return [*there, *(RoleRow(name, None, stats.get(name)) for name in snapshot.retired)]


def heads() -> str:
    """What stands over the columns of `RoleRows`."""
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
        mark = self.look.shapes.need if row.retirement else ""
        said = (
            (role.name, ink.strong if selected else ink.text),
            (mark, ink.loud),
            (role.tier, ink.muted),
            (words.number(stats.tasks) if stats.tasks else "new", ink.muted),
            (_rate(stats), ink.loud if row.retirement else ink.text),
            (analytics.spark(stats.weeks, self.look.shapes.levels), ink.accent),
            (words.age(self.now - stats.last_used) if stats.last_used else "", ink.muted),
        )
        cells = [
            Cell(text, style, size, right=right, gap=1)
            for (text, style), (size, right) in zip(said, _COLUMNS, strict=True)
        ]
        return line(width, (*cells, Cell(role.purpose, ink.muted)))

    def words(self, row: RoleRow) -> str:
        return one_line(f"{row.name} {row.role.purpose}" if row.role else f"{row.name} retired")


def _rate(stats: Stats) -> str:
    return "" if stats.rate is None else f"{analytics.percent(stats.rate)} %"


def role_facts(row: RoleRow, snapshot: Snapshot, look: Appearance) -> list[Fact]:
    """How a role did and what it may do, in full."""
    role = row.role
    if role is None:
        return [("retired", f"{row.name} takes no tasks; R rehires it as it was."), *_figures(row.stats, look)]
    return [
        ("purpose", role.purpose or "–"),
        ("source", f"{role.source}, tier {role.tier}"),
        *([("retire it?", f"{row.retirement.text} f shows what that means.")] if row.retirement else []),
        *([("in force", until)] if (until := until_words(role, snapshot.taken)) else []),
        *_figures(row.stats, look),
        ("model", model_words(role, snapshot.config, beat.brain if (beat := snapshot.engine.heartbeat) else "")),
        *_permissions(role),
        *(("asks not", rule_words(rule)) for rule in snapshot.config.allow if rule.role == role.name),
    ]


def _figures(stats: Stats | None, look: Appearance) -> Iterator[Fact]:
    """What the ended tasks say of a role."""
    if stats is None or not stats.tasks:
        yield "tasks", "no history yet"
        return
    counts = f"{number(stats.done)} done, {number(stats.failed)} failed, {number(stats.cancelled)} cancelled"
    yield "tasks", f"{number(stats.tasks)}: {counts}, {number(stats.retries)} retries"
    yield "done", f"{analytics.shares(Tally(stats.done, stats.done + stats.failed))}, with 95 % certainty"
    weeks, dots = analytics.spark(stats.weeks, look.shapes.levels), look.shapes.status
    yield "by week", f"{weeks.strip()}  share done, of {analytics.WEEKS} weeks to now"
    latest = analytics.recent(stats.latest, dots[Status.DONE], dots[Status.FAILED])
    yield "latest", f"{latest}  the newest at the end"
    yield "duration", f"median {times.span(stats.median)}, p95 {times.span(stats.p95)}"
    yield "cost", f"{dollars(stats.usd)}; a task: median {dollars(stats.usd_median)}, p95 {dollars(stats.usd_p95)}"
    yield "tokens", number(stats.tokens)


def _permissions(role: Role) -> list[Fact]:
    limits = role.limits
    return [
        ("tools", " ".join(role.tools) or "none"),
        ("shell", _SHELL.get(role.shell, role.shell)),
        ("may", ", ".join(_powers(role)) or "read; change nothing, stay off the network"),
        ("limits", f"{limit_words(limits.timeout_seconds)} a task · {limits.max_steps} steps"),
        ("silence", f"stalled after {limit_words(limits.stall_seconds)}"),
        ("at once", str(limits.at_once or "as many as the engine lets")),
    ]


def _powers(role: Role) -> Iterator[str]:
    if role.write:
        yield "write files"
    if role.network:
        yield "use the network"
