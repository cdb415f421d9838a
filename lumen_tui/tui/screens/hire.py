"""Create or edit a role: as a copy, from a template, in a form or in the editor, with what the change means."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.actions.role_preview import PreviewContext, changed, consequences, preview_context
from lumen_tui.model import ids, times
from lumen_tui.model.analytics import TaskStatistics
from lumen_tui.model.config import Config
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.roles import HireRole
from lumen_tui.model.roles import ALL_TOOLS, PLANNING_TOOLS, Limits, Role, fetches_nothing, unusable
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.role_texts import fault, hired_role, templates, text_of
from lumen_tui.tui.host import appearance_of
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.fields import Choice, TextField, Toggles
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.keys import pair_of
from lumen_tui.tui.kit.parts import coloured
from lumen_tui.tui.kit.questions import Menu, Option
from lumen_tui.tui.kit.screen import DetailScreen, FormScreen, Invalid, Keys, form_keys, row
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.screens.task_form import will_run

_HIGH = 46  # lines of a window from which all consequences are shown
_BOX = 92  # columns of a form at most
_WEIGHTY = ("asks for", "orders", "may change", "a task costs", "in force", "meets", "wrong")
_SHELLS = (("none", "none"), ("read", "commands that only read"), ("any", "any command"))
_POWERS = (("write", "write files"), ("network", "use the network"))
_PLANNING = "planning"  # stands for the tools with which units, discoveries and others' tasks are planned
_PLANNED = frozenset(PLANNING_TOOLS) - {"create_task"}
_TOOLS = tuple(
    (name, name)
    for tool in ALL_TOOLS
    if tool != "shell" and tool not in _PLANNED
    for name in ((tool, _PLANNING) if tool == "create_task" else (tool,))
)
_EMPTY_ROLE = Role(
    name="",
    purpose="",
    prompt="You are a worker with one task. Say what you found, where, and how sure you are.",
    source="hired",
)


class RoleForm(FormScreen[Role]):
    """Answers with the role as it should be. With `taken` (names in use) it is a new one, and asks for a name too."""

    DEFAULT_CLASSES = "long tall"

    def __init__(
        self, role: Role, names_in_use: Sequence[str] | None = None, context: PreviewContext | None = None
    ) -> None:
        super().__init__("Hire a role" if names_in_use is not None else f"Adjust {one_line(role.name, 64)}")
        self._role = role
        self._names_in_use = names_in_use
        self._preview_context = context  # what the consequences follow from
        self.SEND = "hire" if names_in_use is not None else "adjust"

    def keys(self) -> Keys:
        choose = pair_of(self, "choice_previous", "choice_next", "choose")
        return form_keys(self, *self.offer("form_next", form_next="next"), choose, *self.offer("toggle"))

    def rows(self) -> Iterable[Widget]:
        role = self._role
        if self._names_in_use is not None:
            yield row("name", TextField(role.name, placeholder="a-z, 0-9 and -", id="name"))
            yield row("purpose", TextField(role.purpose, placeholder="one sentence: what it is for", id="purpose"))
        yield row("tier", Choice([(tier, tier) for tier in TIERS], role.tier, id="tier"))
        yield row("tools", Toggles(_TOOLS, _toggles(role), id="tools"))
        yield row("shell", Choice(_SHELLS, role.shell, id="shell"))
        yield row("hosts", TextField(", ".join(role.hosts), placeholder="for web_fetch: docs.python.org", id="hosts"))
        yield row("may", Toggles(_POWERS, [name for name, _ in _POWERS if getattr(role, name)], id="powers"))
        yield row(
            "time limit", TextField(times.typed(role.limits.timeout_seconds), placeholder="such as 10m", id="timeout")
        )
        yield row("steps", TextField(str(role.limits.max_steps), id="max_steps"))
        yield row("at once", TextField(str(role.limits.at_once), placeholder="0: the engine's limit", id="at_once"))
        if self._names_in_use is not None:
            yield row("for", TextField("", placeholder="such as 7d; empty: permanent", id="stays"))
            yield row("prompt", Prose(role.prompt, placeholder="how it should work, and how it reports", id="prompt"))

    def preview(self) -> Content:
        try:
            role = self._drawn()
        except Invalid:
            return Content()
        named = msgspec.structs.replace(role, name=role.name or "it")
        return Content("\n").join([will_run(named, "", 0), *self._consequences(named)])

    def _consequences(self, role: Role) -> list[Content]:
        """Return what it would mean; in a low window only as much as leaves room for the form."""
        if self._preview_context is None:
            return []
        context = self._preview_context
        effects = consequences(role, context) if self._names_in_use is not None else changed(self._role, role, context)
        high = self.app.size.height >= _HIGH
        shown = [effect for effect in effects if effect[0] in _WEIGHTY or (high and effect[0] != "tools")]
        width = max(20, min(self.app.size.width, _BOX) - 20)
        return [Content.assemble((f"{name:<13}", "$room-muted"), one_line(text, width)) for name, text in shown]

    def read(self) -> Role:
        role = self._drawn()
        field, reason = unusable(role)
        if reason:
            raise Invalid(f"Not usable: {reason}.", {"write": "powers"}.get(field, field))
        config = self._preview_context.config if self._preview_context else Config()
        if fetches_nothing(role, config.web):
            raise Invalid("web_fetch needs hosts: name those that it may reach.", "hosts")
        if self._names_in_use is None:
            return role
        check_new_name(role.name, self._names_in_use)
        if not role.purpose:
            raise Invalid("Give a purpose: one sentence by which it is chosen for a task.", "purpose")
        if not role.prompt:
            raise Invalid("Write a prompt: it is all that the worker knows of its role.", "prompt")
        return role

    def _drawn(self) -> Role:
        """Return the role as the form stands."""
        shell = self._choice("shell")
        tools = set(self._toggled("tools")) | ({"shell"} if shell != "none" else set())
        tools |= (_PLANNED & set(self._role.tools) or _PLANNED) if _PLANNING in tools else set()
        powers = self._toggled("powers")
        changes = {
            "tier": self._choice("tier"),
            "tools": tuple(tool for tool in ALL_TOOLS if tool in tools),
            "shell": shell,
            "write": "write" in powers,
            "network": "network" in powers,
            "hosts": tuple(self.query_one("#hosts", TextField).text.replace(",", " ").split()),
            "limits": self._limits(),
        }
        return msgspec.structs.replace(self._role, **changes, **self._written())

    def _written(self) -> dict[str, str]:
        if self._names_in_use is None:
            return {}
        words = {name: self.query_one(f"#{name}", TextField).text for name in ("name", "purpose")}
        words["until"] = self._until()
        return words | {"prompt": self.query_one("#prompt", Prose).typed}

    def _until(self) -> str:
        """Return when a temporary hire ends."""
        typed = self.query_one("#stays", TextField).text.replace(" ", "")
        if not typed:
            return ""
        try:
            seconds = times.parse_duration(typed)
        except ValueError as error:
            raise Invalid(f"For how long: {error}.", "stays") from error
        if seconds < 60:
            raise Invalid("For how long: a minute or more, such as 7d.", "stays")
        return times.iso((self._preview_context.now if self._preview_context else 0.0) + seconds)

    def _choice(self, field: str) -> str:
        return self.query_one(f"#{field}", Choice).value

    def _toggled(self, field: str) -> tuple[str, ...]:
        return self.query_one(f"#{field}", Toggles).values

    def _limits(self) -> Limits:
        seconds = self.query_one("#timeout", TextField).text.replace(" ", "")
        try:
            timeout = times.parse_duration(seconds)
        except ValueError as error:
            raise Invalid(f"Time limit: {error}.", "timeout") from error
        if not 1 <= timeout <= times.DAY:
            raise Invalid("The time limit is between 1s and 1d.", "timeout")
        steps, at_once = self._whole("max_steps", 1), self._whole("at_once", 0)
        return msgspec.structs.replace(self._role.limits, timeout_seconds=timeout, max_steps=steps, at_once=at_once)

    def _whole(self, field: str, least: int) -> int:
        text = self.query_one(f"#{field}", TextField).text
        if not (text.isascii() and text.isdigit() and least <= int(text) <= 10_000):
            raise Invalid(f"{field.replace('max_', '').replace('_', ' ').capitalize()}: {least} to 10000.", field)
        return int(text)


def _toggles(role: Role) -> tuple[str, ...]:
    return (*role.tools, _PLANNING) if _PLANNED & set(role.tools) else role.tools


def check_new_name(name: str, names_in_use: Sequence[str]) -> None:
    """Raise Invalid (field `name`) where a new role cannot have this name."""
    try:
        ids.check_name(name, "name")
    except ids.BadId as error:
        raise Invalid(f"The {error}.", "name") from error
    if name in names_in_use:
        raise Invalid(f"{name} exists already: adjust or rehire it, or take another name.", "name")


class DiffScreen(DetailScreen[bool]):
    """Answers True when it is to be saved, None when left. `lines` say what the change means."""

    SCOPE = "difference"

    HOLDS = True

    def __init__(self, heading: str, before: str, after: str, lines: Sequence[str] = ()) -> None:
        super().__init__(heading)
        self._diff = difference(before, after)
        self._lines = tuple(one_line(line, 300) for line in lines)

    def body(self) -> ComposeResult:
        added = sum(line.startswith("+") for line in self._diff)
        removed = sum(line.startswith("-") for line in self._diff)
        head = [*self._lines, f"{added} lines added, {removed} removed"]
        yield Static(Content(safe("\n".join(head))), classes="consequences")
        with VerticalScroll(classes="pages"):
            yield Static(coloured("\n".join(self._diff), appearance_of(self.app)))

    def keys(self) -> Keys:
        move = pair_of(self, "difference_down", "difference_up", "move")
        return (*self.offer("difference_save"), move, *self.offer("back", back="not yet"))

    def action_save(self) -> None:
        self.dismiss(True)

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def difference(before: str, after: str) -> list[str]:
    """Return the lines that differ, with two around each, as a unified diff without its head."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(lines)[2:]


class DraftMenu(Menu):
    """Answers what becomes of a role's text that is not valid: `again` or `drop`."""

    SCOPE = "draft"

    def __init__(self, name: str, problem: str) -> None:
        again = Option("draft_edit", "again", help="with the text as it is now")
        super().__init__(f"{name} is not valid", (again, Option("draft_drop", "drop")), (problem,))


class NamePrompt(FormScreen[str]):
    """Answers with a name for a new role that is not in use."""

    SEND = "next"

    def __init__(self, names_in_use: Sequence[str]) -> None:
        super().__init__("Hire a role")
        self._names_in_use = names_in_use

    def rows(self) -> Iterable[Widget]:
        yield row("name", TextField(placeholder="a-z, 0-9 and -", id="name"))

    def read(self) -> str:
        name = self.query_one("#name", TextField).text
        check_new_name(name, self._names_in_use)
        return name


class RoleDrafts:
    """Texts that came back from the editor, by role; a broken one waits here for the next try."""

    def __init__(self, screen: DetailScreen[Any], foresee: Callable[[str, str], Sequence[str]]) -> None:
        """`foresee` says, in lines, what the text of a role would change."""
        self._screen = screen
        self._foresee = foresee
        self._kept: dict[str, str] = {}

    async def ask_name(self, names_in_use: Sequence[str]) -> str:
        """Return a name for a new role; empty where none was given."""
        return await self._screen.app.push_screen_wait(NamePrompt(names_in_use)) or ""

    async def edit(self, name: str, before: str, *, new: bool = False) -> str | None:
        """Return the role's text as the operator left it, in order; None where nothing is to be done."""
        text = self._kept.get(name, before)
        while True:
            try:
                text = editor.edit(self._screen.app, text) or text
            except editor.NoEditor as error:
                self._screen.say(str(error), bad=True)
                return None
            problem = fault(name, text)
            if not problem:
                self._kept.pop(name, None)
                return await self._agreed(name, text, before, new)
            if not await self._try_again(name, text, problem):
                return None

    async def _try_again(self, name: str, text: str, problem: str) -> bool:
        self._kept[name] = text
        answer = await self._screen.app.push_screen_wait(DraftMenu(name, problem))
        if answer == "again":
            return True
        if answer == "drop":
            del self._kept[name]
            self._screen.say("The text was dropped; the role is unchanged.")
        else:
            self._screen.say("Your text is kept: edit the role again to continue.")
        return False

    async def _agreed(self, name: str, text: str, before: str, new: bool) -> str | None:
        """Return the text, once the operator has seen what is other in it than before."""
        if text == before and not new:
            self._screen.say("Nothing was changed.")
            return None
        if new:
            return text
        ask = DiffScreen(f"Save {name}?", before, text, self._foresee(name, text))
        if await self._screen.app.push_screen_wait(ask):
            return text
        self._kept[name] = text
        self._screen.say("Nothing was saved; your text is kept: edit the role again to continue.")
        return None


class HireMenu(Menu):
    """Answers how a role is hired; `model` is the role that may be copied."""

    def __init__(self, model: Role | None) -> None:
        changed = "the same tools and prompt, to be changed"
        copy = [Option("", "copy", f"a copy of {model.name}", changed)] if model else []
        options = [
            *copy,
            Option("", "template", "from a shipped role", "researcher, builder, reviewer …, to be changed"),
            Option("", "form", "fill in a form", "name, purpose, tools, limits, prompt"),
            Option("", "editor", "write it in $EDITOR", "the whole file, from a blank one"),
        ]
        super().__init__("Hire a role", options)


class Hiring:
    """The questions on the way to a new role. `submit` carries out a verb of the actions."""

    def __init__(
        self,
        screen: DetailScreen[Any],
        snapshot: Callable[[], Snapshot],
        book: Callable[[], TaskStatistics | None],
        submit: Callable[[Request], Awaitable[None]],
    ) -> None:
        self._screen, self._snapshot, self._book, self._submit = screen, snapshot, book, submit
        self.drafts = RoleDrafts(screen, self._foresee)

    async def hire(self, model: Role | None) -> None:
        """Ask how, and hire; `model` is the role that may be copied."""
        answer = await self._screen.app.push_screen_wait(HireMenu(model))
        if answer == "editor":
            await self._hire_in_editor()
        elif answer:
            await self._hire_from_form(await self._template() if answer == "template" else _begin(answer, model))

    async def _template(self) -> Role | None:
        """Return one of the roles that ship, as the operator chooses."""
        shipped = await looked(self._screen, templates)
        options = [Option("", role.name, role.name, role.purpose) for role in shipped]
        name = await self._screen.app.push_screen_wait(Menu("Begin with", options))
        return next((role for role in shipped if role.name == name), None)

    async def _hire_from_form(self, like: Role | None) -> None:
        if like is None:
            return
        base = msgspec.structs.replace(like, name="", source="hired", until="")
        names = self._names_in_use()
        role = await self._screen.app.push_screen_wait(RoleForm(base, names, self.around(like.name)))
        if role is not None:
            await self._submit(HireRole(name=role.name, text=text_of(role)))

    async def _hire_in_editor(self) -> None:
        name = await self.drafts.ask_name(self._names_in_use())
        text = await self.drafts.edit(name, text_of(_EMPTY_ROLE), new=True) if name else None
        if text is not None:
            await self._submit(HireRole(name=name, text=text))

    def _names_in_use(self) -> list[str]:
        snapshot = self._snapshot()
        return [*(role.name for role in snapshot.roles), *snapshot.retired]

    def around(self, name: str) -> PreviewContext:
        book = self._book()
        stats = book.role(name) if book and name else None
        return preview_context(self._snapshot(), stats, self._snapshot().taken)

    def _foresee(self, name: str, text: str) -> list[str]:
        """Return what the text of a role would change, in lines."""
        before = next((role for role in self._snapshot().roles if role.name == name), None)
        after = hired_role(name, text)
        effects = changed(before, after, self.around(name)) if before else consequences(after, self.around(name))
        return [f"{label}: {words}" for label, words in effects]


def _begin(answer: str, model: Role | None) -> Role | None:
    return model if answer == "copy" else _EMPTY_ROLE
