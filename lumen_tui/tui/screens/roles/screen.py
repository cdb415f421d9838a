"""Who can be given work: hire, fire, rehire and adjust, with what each role may do beside the list."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from lumen_tui.actions.role_preview import firing, unended
from lumen_tui.engine.port import Port
from lumen_tui.model.analytics import Book
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line, safe
from lumen_tui.store.settings.roles import render_role
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.parts import Facts
from lumen_tui.tui.kit.reason_prompt import ReasonPrompt
from lumen_tui.tui.kit.rows_sheet import ListSheet, appearance_of, beside
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.screens.roles.form import RoleForm
from lumen_tui.tui.screens.roles.hire import Hiring, file_of
from lumen_tui.tui.screens.roles.view import RoleRow, RoleRows, heads, role_facts, role_rows

_TITLE = "in force, and retired"


class RolesScreen(ListSheet[None, RoleRow]):
    """The list, the detail of the selected role, and one line on what the last action did."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "do('hire')", show=False),
        Binding("f", "do('fire')", show=False),
        Binding("R", "do('rehire')", show=False),
        Binding("a", "do('adjust')", show=False),
        Binding("e", "do('edit')", show=False),
        Binding("u", "do('undo')", show=False),
    ]
    WHY = True
    EMPTY = "No role is in force. h hires one."

    def __init__(self, port: Port, snapshot: Snapshot, at: str = "") -> None:
        super().__init__("Roles")
        self._port = port
        self._snapshot = snapshot
        self._at = at  # the role on which the cursor begins
        self._reasons: tuple[str, ...] = ()
        self._book: Book | None = None
        self._hiring = Hiring(self, lambda: self._snapshot, lambda: self._book, self._submit)
        self._drafts = self._hiring.drafts
        self._loader: jobs.Loader[Book] = jobs.Loader(self, port.role_book, self._figures)

    def rows_view(self) -> RoleRows:
        return RoleRows(appearance_of(self.app), self._snapshot.taken)

    def body(self) -> ComposeResult:
        filter_line, roles, said = super().body()
        yield from beside([filter_line, Static(heads(), markup=False, classes="heads"), roles, said], _TITLE)

    def keys(self) -> Keys:
        verbs = (("h", "hire"), ("f", "fire"), ("R", "rehire"), ("a", "adjust"), ("e", "edit"), ("u", "undo"))
        return (*(() if self._snapshot.read_only else verbs), ("w", "why"), ("esc", "back"))

    def on_mount(self) -> None:
        super().on_mount()
        self.show(self._snapshot)

    def show(self, snapshot: Snapshot) -> None:
        """Take a newer picture."""
        if snapshot.revisions.tasks != self._snapshot.revisions.tasks or self._book is None:
            self._loader.load()
        self._snapshot = snapshot
        self._fill()

    def _figures(self, book: Book) -> None:
        if book != self._book:
            self._book = book
            self._fill()

    def _fill(self) -> None:
        snapshot = self._snapshot
        aside = f"{len(snapshot.roles)} in force · {len(snapshot.retired)} retired"
        self.fill(role_rows(snapshot, self._book), "Roles", aside)
        if self._at:
            self.rows.select_key(self._at)
            self._at = "" if self._book else self._at
        self._show_detail()

    def on_line_list_highlighted(self, _event: LineList.Highlighted) -> None:
        self._show_detail()

    def _show_detail(self) -> None:
        row = self.rows.selected
        self.query_one(Facts).show(role_facts(row, self._snapshot, appearance_of(self.app)) if row else ())
        self.query_one(".detail").border_title = Content(one_line(row.name, 64) if row else " ")
        prompt = self.query_one(".prompt", Static)
        text = row.role.prompt if row and row.role else ""
        prompt.update(Content(safe(text)))
        prompt.display = bool(text)

    def opened(self, row: RoleRow) -> None:
        self.query_one(".detail").focus()

    # What the keys do. Each is a job of its own, because each asks something first.

    def action_do(self, name: str) -> None:
        if self._snapshot.read_only:
            self.say(f"This room only reads: {self._snapshot.read_only}", bad=True)
            return
        jobs_: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "hire": self._hire, "fire": self._fire, "rehire": self._rehire, "adjust": self._adjust, "edit": self._edit,
            "undo": lambda: self._submit("undo"),
        }  # fmt: skip
        self.say("")
        self.run_worker(jobs_[name](), group="ask", exclusive=True)

    async def _hire(self) -> None:
        chosen = self.rows.selected
        await self._hiring.hire(chosen.role if chosen else None)

    async def _fire(self) -> None:
        row = self._in_force()
        if row is None:
            return
        snapshot = self._snapshot
        tasks = await jobs.looked(self, unended, snapshot.tasks)
        lines = firing(row.name, tasks, snapshot.config, row.stats)
        if row.retirement:
            lines = (row.retirement.text, *lines)
        reason = await self.app.push_screen_wait(ReasonPrompt(f"Fire {row.name}", self._reasons, lines))
        if reason is not None:
            self._reasons = tuple(dict.fromkeys((reason, *self._reasons)))
            await self._submit("role.fire", name=row.name, reason=reason)

    async def _rehire(self) -> None:
        row = self.rows.selected
        if row is None or row.role is not None:
            self.say("Only a retired role can be rehired: go to one first.", bad=True)
            return
        await self._submit("role.rehire", name=row.name)

    async def _adjust(self) -> None:
        row = self._in_force()
        if row is None or row.role is None:
            return
        role = await self.app.push_screen_wait(RoleForm(row.role, around=self._hiring.around(row.name)))
        if role is not None and role != row.role:
            await self._submit("role.adjust", name=row.name, text=render_role(role))

    async def _edit(self) -> None:
        row = self._in_force()
        if row is None or row.role is None:
            return
        before = await jobs.looked(self, file_of, Path(self._snapshot.root), row.role)
        text = await self._drafts.edit(row.name, before)
        if text is not None:
            await self._submit("role.adjust", name=row.name, text=text)

    def _in_force(self) -> RoleRow | None:
        row = self.rows.selected
        if row is None or row.role is None:
            self.say("This one is retired: R rehires it.", bad=True)
            return None
        return row

    async def _submit(self, verb: str, **arguments: str) -> None:
        if await jobs.submit(self, self._port, verb, **arguments):
            newest = await jobs.picture(self, self._port)
            if newest is not None:
                self.show(newest)
