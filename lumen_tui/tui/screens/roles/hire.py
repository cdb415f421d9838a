"""Hiring and editing a role: a copy, a shipped one, a form or the editor, with what it means shown before."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.actions.role_preview import PreviewContext, changed, consequences, preview_context
from lumen_tui.model import agent
from lumen_tui.model.analytics import Book
from lumen_tui.model.roles import Role
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings import role_files
from lumen_tui.store.settings.roles import parse_role, read_role_file, render_role
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.diffs import coloured
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.menu import Menu, Option
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Keys, row
from lumen_tui.tui.screens.roles.form import RoleForm, check_new_name
from lumen_tui.tui.screens.roles.view import NEW, role_rows


class DiffScreen(DetailScreen[bool]):
    """Answers True when it is to be saved, None when left. `lines` say what the change means."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "save", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
    ]

    HOLDS = True

    def __init__(self, heading: str, before: str, after: str, lines: Sequence[str] = ()) -> None:
        super().__init__(heading)
        self._diff = difference(before, after)
        self._lines = tuple(one_line(line, 300) for line in lines)

    def body(self) -> ComposeResult:
        new = sum(line.startswith("+") for line in self._diff)
        gone = sum(line.startswith("-") for line in self._diff)
        head = [*self._lines, f"{new} lines new, {gone} lines gone"]
        yield Static(Content(safe("\n".join(head))), classes="consequences")
        with VerticalScroll(classes="pages"):
            yield Static(coloured("\n".join(self._diff)))

    def keys(self) -> Keys:
        return (("s", "save"), ("j k", "move"), ("esc", "not yet"))

    def action_save(self) -> None:
        self.dismiss(True)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def difference(before: str, after: str) -> list[str]:
    """The lines that differ, with two around each, as a unified diff without its head."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(lines)[2:]


_AGAIN = (
    Option("e", "edit it again", "again", "with the text as it is now"),
    Option("d", "drop the text", "drop"),
)


class NamePrompt(FormScreen[str]):
    """Answers with a name for a new role that is not in use."""

    SEND = "next"

    def __init__(self, taken: Sequence[str]) -> None:
        super().__init__("Hire a role")
        self._taken = taken

    def rows(self) -> Iterable[Widget]:
        yield row("name", Line(placeholder="a-z, 0-9 and -", id="name"))

    def read(self) -> str:
        name = self.query_one("#name", Line).text
        check_new_name(name, self._taken)
        return name


class RoleDrafts:
    """Texts that came back from the editor, by role; a broken one waits here for the next try."""

    def __init__(self, screen: DetailScreen[Any], foresee: Callable[[str, str], Sequence[str]]) -> None:
        """`foresee` says, in lines, what the text of a role would change."""
        self._screen = screen
        self._foresee = foresee
        self._kept: dict[str, str] = {}

    async def ask_name(self, taken: Sequence[str]) -> str:
        """A name for a new role; empty where none was given."""
        return await self._screen.app.push_screen_wait(NamePrompt(taken)) or ""

    async def edit(self, name: str, before: str, *, new: bool = False) -> str | None:
        """The role's text as the operator left it, in order; None where nothing is to be done."""
        text = self._kept.get(name, before)
        while True:
            try:
                text = editor.edit(self._screen.app, text) or text
            except editor.NoEditor as error:
                self._screen.say(str(error), bad=True)
                return None
            wrong = fault(name, text)
            if not wrong:
                self._kept.pop(name, None)
                return await self._agreed(name, text, before, new)
            if not await self._try_again(name, text, wrong):
                return None

    async def _try_again(self, name: str, text: str, wrong: str) -> bool:
        self._kept[name] = text
        answer = await self._screen.app.push_screen_wait(Menu(f"{name} is not in order", _AGAIN, (wrong,)))
        if answer == "again":
            return True
        if answer == "drop":
            del self._kept[name]
            self._screen.say("The text was dropped; the role is as it was.")
        else:
            self._screen.say("The text is kept: edit the role again to go on with it.")
        return False

    async def _agreed(self, name: str, text: str, before: str, new: bool) -> str | None:
        """The text, once the operator has seen what is other in it than before."""
        if text == before and not new:
            self._screen.say("Nothing was changed.")
            return None
        if new:
            return text
        ask = DiffScreen(f"Save {name}?", before, text, self._foresee(name, text))
        if await self._screen.app.push_screen_wait(ask):
            return text
        self._kept[name] = text
        self._screen.say("Nothing was saved; the text is kept: edit the role again to go on with it.")
        return None


def fault(name: str, text: str) -> str:
    """What is wrong with the text of a role, with its line; empty where it is in order."""
    try:
        parse_role(name, text, "hired")
    except BadFile as error:
        return f"Line {error.line}: {error}" if error.line else str(error)
    return ""


def file_of(root: Path, role: Role) -> str:
    """The role's own file with its comments, else the role written anew. Reads the disk: call it from a thread."""
    try:
        hired = role_files.texts(Layout(root), role.name)["hired"]
        return hired or role_files.shipped_text(role.name) or render_role(role)
    except (files.StoreError, OSError):
        return render_role(role)


def templates() -> list[Role]:
    """The roles that ship, those that were retired or changed here too. Reads the disk: call it from a thread."""
    found = []
    for path in sorted(shipped("roles").glob("*.md")):
        try:
            role = read_role_file(path, "shipped")
        except (BadFile, files.StoreError, OSError):
            continue
        if role.name != agent.ROLE:
            found.append(role)
    return found


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
