"""Hiring a role: a copy, a shipped one, a form or the editor, with what it means said before."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from lumen_tui.actions.role_preview import PreviewContext, changed, consequences, preview_context
from lumen_tui.model.analytics import Book
from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.store.settings.roles import parse_role, render_role
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.menu import Menu, Option
from lumen_tui.tui.kit.screen import DetailScreen
from lumen_tui.tui.screens.roles.draft import RoleDrafts, templates
from lumen_tui.tui.screens.roles.form import RoleForm
from lumen_tui.tui.screens.roles.view import NEW, role_rows


class Hiring:
    """The questions on the way to a new role. `submit` carries out a verb of the actions."""

    def __init__(
        self, screen: DetailScreen[Any], snapshot: Callable[[], Snapshot], book: Callable[[], Book | None],
        submit: Callable[..., Coroutine[Any, Any, None]],
    ) -> None:  # fmt: skip
        self._screen, self._snapshot, self._book, self._submit = screen, snapshot, book, submit
        self.drafts = RoleDrafts(screen, self._foresee)

    async def hire(self, model: Role | None) -> None:
        """Ask how, and hire; `model` is the role that may be copied."""
        answer = await self._screen.app.push_screen_wait(Menu("Hire a role", _ways(model)))
        if answer == "editor":
            await self._hire_in_editor()
        elif answer:
            await self._hire_from_form(await self._template() if answer == "template" else _begin(answer, model))

    async def _template(self) -> Role | None:
        """One of the roles that ship, as the operator chooses."""
        shipped = await looked(self._screen, templates)
        options = [Option(str(at), one.name, one.name, one.purpose) for at, one in enumerate(shipped, 1)]
        name = await self._screen.app.push_screen_wait(Menu("Begin with", options))
        return next((one for one in shipped if one.name == name), None)

    async def _hire_from_form(self, like: Role | None) -> None:
        if like is None:
            return
        base = msgspec.structs.replace(like, name="", source="hired", until="")
        names = [row.name for row in role_rows(self._snapshot())]
        role = await self._screen.app.push_screen_wait(RoleForm(base, names, self.around(like.name)))
        if role is not None:
            await self._submit("role.hire", name=role.name, text=render_role(role))

    async def _hire_in_editor(self) -> None:
        name = await self.drafts.ask_name([row.name for row in role_rows(self._snapshot())])
        text = await self.drafts.edit(name, render_role(NEW), new=True) if name else None
        if text is not None:
            await self._submit("role.hire", name=name, text=text)

    def around(self, name: str) -> PreviewContext:
        book = self._book()
        stats = book.role(name) if book and name else None
        return preview_context(self._snapshot(), stats, self._snapshot().taken)

    def _foresee(self, name: str, text: str) -> list[str]:
        """What the text of a role would change, in lines."""
        before = next((role for role in self._snapshot().roles if role.name == name), None)
        after = parse_role(name, text, "hired")
        found = changed(before, after, self.around(name)) if before else consequences(after, self.around(name))
        return [f"{label}: {words}" for label, words in found]


def _begin(answer: str, model: Role | None) -> Role | None:
    return model if answer == "copy" else NEW


def _ways(model: Role | None) -> list[Option]:
    copy = [Option("c", f"a copy of {model.name}", "copy", "the same tools and prompt, to be changed")] if model else []
    return [
        *copy,
        Option("t", "from a role that ships", "template", "researcher, builder, reviewer …, to be changed"),
        Option("n", "fill in a form", "form", "name, purpose, tools, limits, prompt"),
        Option("x", "write it in $EDITOR", "editor", "the whole file, from a blank one"),
    ]
