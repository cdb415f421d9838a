"""A role as a text in $EDITOR: read back, checked, and kept while it is not in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from textual.widget import Widget

from lumen_tui.model import agent, ids
from lumen_tui.model.roles import Role
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.shipped import shipped
from lumen_tui.store.settings import role_files
from lumen_tui.store.settings.roles import parse_role, read_role_file, render_role
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.fields import Line
from lumen_tui.tui.kit.menu import Menu, Option
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, row
from lumen_tui.tui.screens.roles.diff import DiffScreen

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


def check_new_name(name: str, taken: Sequence[str]) -> None:
    """Raise Invalid (field `name`) where a new role cannot have this name."""
    try:
        ids.check_name(name, "role")
    except ids.BadId as error:
        raise Invalid(f"The {error}.", "name") from error
    if name in taken:
        raise Invalid(f"{name} exists already: adjust or rehire it, or take another name.", "name")


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
