"""Roles as the roles screen draws them: a line in the list, the facts beside it, what a firing would stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.tui import words
from lumen_tui.tui.screens.base import Fact
from lumen_tui.tui.screens.moments import limit_words
from lumen_tui.tui.screens.rows import Rows
from lumen_tui.tui.widgets.cells import Cell, line

_SHELL = {"none": "none", "read": "commands that only read", "any": "any command"}
NEW = Role(
    name="", purpose="", prompt="You are a worker with one task. Say what you found, where, and how sure you are.",
    source="hired",
)  # fmt: skip


class RoleRow(NamedTuple):
    """A role in force, or only the name of a retired one."""

    name: str
    role: Role | None


def role_rows(snapshot: Snapshot) -> list[RoleRow]:
    """Those in force, then the retired."""
    return [*(RoleRow(role.name, role) for role in snapshot.roles), *(RoleRow(name, None) for name in snapshot.retired)]


class RoleRows(Rows[RoleRow]):
    """Name, tier, tools, shell, source, purpose; retired ones in grey."""

    def key(self, row: RoleRow) -> str:
        return row.name

    def line(self, row: RoleRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        if row.role is None:
            return line(width, (Cell(row.name, ink.muted, 14), Cell("retired", ink.muted)))
        role = row.role
        cells = (
            Cell(role.name, ink.strong if selected else ink.text, 14),
            Cell(role.tier, ink.muted, 6),
            Cell(f"{len(role.tools)} tools", ink.muted, 7, right=True),
            Cell(f"shell {role.shell}", ink.accent if role.shell == "any" else ink.muted, 10),
            Cell(role.source, ink.muted, 7),
        )
        return line(width, (*cells, Cell(role.purpose, ink.muted)))

    def words(self, row: RoleRow) -> str:
        return one_line(f"{row.name} {row.role.purpose}" if row.role else f"{row.name} retired")


def role_facts(row: RoleRow) -> list[Fact]:
    """What a role may do, in full."""
    role = row.role
    if role is None:
        return [("retired", f"{row.name} takes no tasks; R rehires it as it was.")]
    limits = role.limits
    return [
        ("purpose", role.purpose or "–"),
        ("tier", role.tier),
        ("tools", " ".join(role.tools) or "none"),
        ("shell", _SHELL.get(role.shell, role.shell)),
        ("may", ", ".join(_powers(role)) or "read; change nothing, stay off the network"),
        ("limits", f"{limit_words(limits.timeout_seconds)} a task · {limits.max_steps} steps"),
        ("silence", f"stalled after {limit_words(limits.stall_seconds)}"),
        ("at once", str(limits.at_once or "as many as the engine lets")),
        ("source", role.source),
    ]


def _powers(role: Role) -> Iterator[str]:
    if role.write:
        yield "write files"
    if role.network:
        yield "use the network"


def tasks_of(role: str, tasks: Sequence[TaskView]) -> tuple[list[TaskView], list[TaskView]]:
    """The live and the queued tasks of a role. Tasks stand live, queued, ended: the first done one ends the search."""
    live: list[TaskView] = []
    queued: list[TaskView] = []
    for task in tasks:
        if task.status in (Status.DONE, Status.CANCELLED):
            break
        if task.spec.role == role and task.status.alive:
            live.append(task)
        elif task.spec.role == role and task.status is Status.QUEUED:
            queued.append(task)
    return live, queued


def firing(role: str, tasks: Sequence[TaskView]) -> tuple[str, ...]:
    """What firing a role means for the tasks that are there, in plain lines."""
    live, queued = tasks_of(role, tasks)
    lines = ["No task of this role is running or queued."]
    if live or queued:
        lines = [f"{words.plural(len(live), 'task')} running: they go on to their end."] if live else []
        lines += (
            [f"{words.plural(len(queued), 'task')} queued: they will not start until it is rehired."] if queued else []
        )
        lines += [f"  {task.status.value}  {one_line(task.spec.objective, 70)}" for task in (*live, *queued)[:5]]
    return (*lines, "The role can be rehired as it was.")
