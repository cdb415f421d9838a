"""A role as a form: what it may use and how far it may go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from textual.content import Content
from textual.widget import Widget

from lumen_tui.actions.role_preview import PreviewContext, changed, consequences
from lumen_tui.model import ids, times
from lumen_tui.model.roles import ALL_TOOLS, Limits, Role
from lumen_tui.model.tasks import TIERS
from lumen_tui.model.text import one_line
from lumen_tui.tui.kit.fields import Choice, Line, Toggles
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, row
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.kit.timestamps import limit_typed
from lumen_tui.tui.screens.tasks.form import will_run

_HIGH = 46  # lines of a window from which all consequences are shown
_BOX = 92  # columns of a form at most
_WEIGHTY = ("asks for", "may change", "a task costs", "in force", "meets", "wrong")
_SHELLS = (("none", "none"), ("read", "commands that only read"), ("any", "any command"))
_POWERS = (("write", "write files"), ("network", "use the network"))
_TOOLS = tuple((tool, tool) for tool in ALL_TOOLS if tool != "shell")


class RoleForm(FormScreen[Role]):
    """Answers with the role as it should be. With `taken` (names in use) it is a new one, and asks for a name too."""

    DEFAULT_CLASSES = "long tall"

    def __init__(self, role: Role, taken: Sequence[str] | None = None, around: PreviewContext | None = None) -> None:
        super().__init__("Hire a role" if taken is not None else f"Adjust {one_line(role.name, 64)}")
        self._role = role
        self._taken = taken
        self._around = around  # what the consequences follow from
        self.SEND = "hire" if taken is not None else "adjust"

    def keys(self) -> Keys:
        return (("enter", "or F2"), ("tab", "next"), ("←→", "choose"), ("space", "on/off"), ("esc", "cancel"))

    def rows(self) -> Iterable[Widget]:
        role = self._role
        if self._taken is not None:
            yield row("name", Line(role.name, placeholder="a-z, 0-9 and -", id="name"))
            yield row("purpose", Line(role.purpose, placeholder="one sentence: what it is for", id="purpose"))
        yield row("tier", Choice([(tier, tier) for tier in TIERS], role.tier, id="tier"))
        yield row("tools", Toggles(_TOOLS, role.tools, id="tools"))
        yield row("shell", Choice(_SHELLS, role.shell, id="shell"))
        yield row("may", Toggles(_POWERS, [name for name, _ in _POWERS if getattr(role, name)], id="powers"))
        yield row("time limit", Line(limit_typed(role.limits.timeout_seconds), placeholder="such as 10m", id="timeout"))
        yield row("steps", Line(str(role.limits.max_steps), id="max_steps"))
        yield row("at once", Line(str(role.limits.at_once), placeholder="0: the engine's limit", id="at_once"))
        if self._taken is not None:
            yield row("for", Line("", placeholder="such as 7d, and it is fired then; empty: it stays", id="stays"))
            yield row("prompt", Prose(role.prompt, placeholder="how it should work, and how it reports", id="prompt"))

    def preview(self) -> Content:
        try:
            role = self._drawn()
        except Invalid:
            return Content()
        named = msgspec.structs.replace(role, name=role.name or "it")
        return Content("\n").join([will_run(named, "", 0), *self._consequences(named)])

    def _consequences(self, role: Role) -> list[Content]:
        """What it would mean; in a low window only as much as leaves room for the form."""
        if self._around is None:
            return []
        around = self._around
        found = consequences(role, around) if self._taken is not None else changed(self._role, role, around)
        high = self.app.size.height >= _HIGH
        kept = [one for one in found if one[0] in _WEIGHTY or (high and one[0] != "tools")]
        width = max(20, min(self.app.size.width, _BOX) - 20)
        return [Content.assemble((f"{name:<13}", "$room-muted"), one_line(text, width)) for name, text in kept]

    def read(self) -> Role:
        role = self._drawn()
        if self._taken is None:
            return role
        check_new_name(role.name, self._taken)
        if not role.purpose:
            raise Invalid("Give a purpose: one sentence by which it is chosen for a task.", "purpose")
        if not role.prompt:
            raise Invalid("Write a prompt: it is all that the worker knows of its role.", "prompt")
        return role

    def _drawn(self) -> Role:
        """The role as the form stands."""
        shell = self._choice("shell")
        tools = set(self._toggled("tools")) | ({"shell"} if shell != "none" else set())
        powers = self._toggled("powers")
        changes = {
            "tier": self._choice("tier"),
            "tools": tuple(tool for tool in ALL_TOOLS if tool in tools),
            "shell": shell,
            "write": "write" in powers,
            "network": "network" in powers,
            "limits": self._limits(),
        }
        return msgspec.structs.replace(self._role, **changes, **self._written())

    def _written(self) -> dict[str, str]:
        if self._taken is None:
            return {}
        words = {name: self.query_one(f"#{name}", Line).text for name in ("name", "purpose")}
        words["until"] = self._until()
        return words | {"prompt": self.query_one("#prompt", Prose).typed}

    def _until(self) -> str:
        """When a temporary hire ends."""
        typed = self.query_one("#stays", Line).text.replace(" ", "")
        if not typed:
            return ""
        try:
            seconds = times.parse_duration(typed)
        except ValueError as error:
            raise Invalid(f"For how long: {error}.", "stays") from error
        if seconds < 60:
            raise Invalid("For how long: a minute or more, such as 7d.", "stays")
        return times.iso((self._around.now if self._around else 0.0) + seconds)

    def _choice(self, field: str) -> str:
        return self.query_one(f"#{field}", Choice).value

    def _toggled(self, field: str) -> tuple[str, ...]:
        return self.query_one(f"#{field}", Toggles).values

    def _limits(self) -> Limits:
        seconds = self.query_one("#timeout", Line).text.replace(" ", "")
        try:
            timeout = times.parse_duration(seconds)
        except ValueError as error:
            raise Invalid(f"Time limit: {error}.", "timeout") from error
        if not 1 <= timeout <= times.DAY:
            raise Invalid("The time limit is between 1s and 1d.", "timeout")
        steps, at_once = self._whole("max_steps", 1), self._whole("at_once", 0)
        return msgspec.structs.replace(self._role.limits, timeout_seconds=timeout, max_steps=steps, at_once=at_once)

    def _whole(self, field: str, least: int) -> int:
        text = self.query_one(f"#{field}", Line).text
        if not (text.isascii() and text.isdigit() and least <= int(text) <= 10_000):
            raise Invalid(f"{field.replace('max_', '').replace('_', ' ').capitalize()}: {least} to 10000.", field)
        return int(text)


def check_new_name(name: str, taken: Sequence[str]) -> None:
    """Raise Invalid (field `name`) where a new role cannot have this name."""
    try:
        ids.check_name(name, "role")
    except ids.BadId as error:
        raise Invalid(f"The {error}.", "name") from error
    if name in taken:
        raise Invalid(f"{name} exists already: adjust or rehire it, or take another name.", "name")
