"""Create a task: its objective, role and limits; or retry one with another budget."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lumen_tui.model import acceptance, ids, isolation, times
from lumen_tui.model.budget import dollars, out_of_range, own_words
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.records import PRIORITIES
from lumen_tui.model.requests.tasks import NewTask, RetryTask
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import TIERS, Status, TaskView
from lumen_tui.model.text import one_line
from lumen_tui.tui.host import ScreenOpener
from lumen_tui.tui.kit.fields import Choice, TextField
from lumen_tui.tui.kit.keys import key_of, pair_of
from lumen_tui.tui.kit.screen import FormScreen, Invalid, Keys, form_keys, row
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.words import sentence

_OWN_TIER = ""
PLACES = [("", "as its role says"), *((mode, f"a {mode} of its own") for mode in isolation.MODES)]
_NOTE = 180  # characters of the tools in the note on a role: the role's own sheet has them all


class TaskForm(FormScreen[NewTask]):
    """Answers with the request for a task."""

    SCOPE = "task_form"
    DEFAULT_CLASSES = "long"
    SEND = "create"

    def __init__(self, roles: Sequence[Role], defaults: dict[str, Any] | None = None) -> None:
        super().__init__("New task")
        self._roles = {role.name: role for role in roles}
        self.draft: dict[str, Any] = {}  # what stood in the form when it was left
        self._defaults = {"role": "researcher", "priority": "P2", **(defaults or {})}

    def keys(self) -> Keys:
        choose = pair_of(self, "choice_previous", "choice_next", "choose")
        return form_keys(self, *self.offer("form_next", form_next="next"), choose, *self.offer("task_more"))

    def rows(self) -> Iterable[Widget]:
        defaults = self._defaults
        roles = [(name, name) for name in self._roles]
        tiers = [(_OWN_TIER, "the role's"), *((tier, tier) for tier in TIERS)]
        priorities = [(priority, priority) for priority in PRIORITIES]
        constraints = "\n".join(defaults.get("constraints", ()))
        ask = f"What should be done? {key_of(self, 'form_send').capitalize()} creates the task."
        yield row("objective", Prose(_text(defaults, "objective"), placeholder=ask, sends=True, id="objective"))
        yield row("role", Choice(roles, defaults["role"], id="role"), Static(classes="note role-note"))
        yield row("tier", Choice(tiers, _text(defaults, "model"), id="tier"))
        yield row("priority", Choice(priorities, defaults["priority"], id="priority"))
        yield row("constraints", Prose(constraints, placeholder="one per line, such as: read only", id="constraints"))
        seconds = times.typed(float(defaults.get("timeout_seconds") or 0))
        yield row("time limit", TextField(seconds, placeholder=self._own_limit(), id="limit"))
        yield row("budget", TextField(format_caps(defaults.get("budget") or {}), placeholder=_BUDGET, id="budget"))
        yield row(
            "folder",
            TextField(_text(defaults, "folder"), placeholder="none; where relative names count from", id="folder"),
        )
        yield from self._more_rows()

    def _more_rows(self) -> Iterable[Widget]:
        defaults = self._defaults
        checks = "\n".join(defaults.get("accept", ()))
        more = [
            row("lane", TextField(_text(defaults, "lane"), placeholder="none", id="lane")),
            row("work unit", TextField(_text(defaults, "wu_id"), placeholder="none; such as WU-042", id="wu_id")),
            row("works in", Choice(PLACES, _text(defaults, "isolate"), id="isolate")),
            row("accept", Prose(checks, placeholder=CHECKS, id="accept")),
        ]
        for line in more:
            line.add_class("more")
            line.display = any(defaults.get(name) for name in ("lane", "wu_id", "accept", "isolate"))
        return more

    def action_more(self) -> None:
        show = not self.query(".more").first().display
        for line in self.query(".more"):
            line.display = show
        self.query_one("#lane" if show else "#objective").focus()

    def preview(self) -> Content:
        role = self._role()
        if role is None:
            return Content(f"No active role: hire one first ({key_of(self, 'roles')} in the room).")
        self.query_one(".role-note", Static).update(_about(role))
        limit = self.query_one("#limit", TextField)
        limit.placeholder = self._own_limit()
        return will_run(
            role, self.query_one("#tier", Choice).value, _seconds_or_zero(limit.text), format_caps(self._caps_or_none())
        )

    def action_leave(self) -> None:
        self.draft = self._typed()
        super().action_leave()

    def _typed(self) -> dict[str, Any]:
        """Return the form as it stands, right or wrong, for the next one; empty where nothing was written."""
        fields = {name: self.query_one(f"#{name}", TextField).text for name in ("lane", "wu_id")}
        fields["objective"] = self.query_one("#objective", Prose).typed
        folder = self.query_one("#folder", TextField).text
        spec = {**fields, "folder": folder, "budget": self._caps_or_none()}
        constraints = tuple(self.query_one("#constraints", Prose).typed.splitlines())
        spec["accept"] = tuple(self.query_one("#accept", Prose).typed.splitlines())
        if not (constraints or spec["accept"] or any(fields.values())):
            return {}
        chosen = {name: self.query_one(f"#{name}", Choice).value for name in ("role", "priority", "isolate")}
        seconds = _seconds_or_zero(self.query_one("#limit", TextField).text)
        model = self.query_one("#tier", Choice).value
        return {**spec, **chosen, "model": model, "constraints": constraints, "timeout_seconds": seconds}

    def _role(self) -> Role | None:
        return self._roles.get(self.query_one("#role", Choice).value)

    def _own_limit(self) -> str:
        role = self._role() if self.is_mounted else self._roles.get(self._defaults["role"])
        return f"the role's, {times.limit(role.limits.timeout_seconds)}; or such as 90s, 20m" if role else "such as 20m"

    def read(self) -> NewTask:
        role = self._role()
        if role is None:
            raise Invalid("No active role: hire one first.", "role")
        objective = self.query_one("#objective", Prose).typed
        if not objective:
            raise Invalid("Say what should be done: the objective is empty.", "objective")
        lines = self.query_one("#constraints", Prose).typed.splitlines()
        return NewTask(
            objective=objective,
            role=role.name,
            priority=self.query_one("#priority", Choice).value,
            model=self.query_one("#tier", Choice).value,
            constraints=tuple(line.strip() for line in lines if line.strip()),
            accept=_accept(self),
            timeout_seconds=_limit_typed(self),
            budget=self._caps() or None,
            folder=_folder_typed(self),
            lane=_checked(self, "lane"),
            wu_id=_checked(self, "wu_id"),
            isolate=_isolate_chosen(self),
        )

    def _caps(self) -> dict[str, float]:
        try:
            return parse_caps(self.query_one("#budget", TextField).text)
        except ValueError as error:
            raise Invalid(f"Budget: {error}.", "budget") from error

    def _caps_or_none(self) -> dict[str, float]:
        try:
            return self._caps()
        except Invalid:
            return {}


def here() -> str:
    """Return the folder in which the room was started; empty where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _text(defaults: Mapping[str, Any], name: str) -> str:
    return str(defaults.get(name) or "")


def _checked(form: TaskForm, field: str) -> str:
    text = form.query_one(f"#{field}", TextField).text
    try:
        return text and (ids.check_wu(text) if field == "wu_id" else ids.check_label(text, "lane"))
    except ids.BadId as error:
        raise Invalid(f"{sentence(str(error))}.", field) from error


def _accept(form: TaskForm) -> tuple[str, ...]:
    try:
        return acceptance.checked(form.query_one("#accept", Prose).typed.splitlines())
    except acceptance.BadCheck as error:
        raise Invalid(f"Accept: {error}.", "accept") from error


def _isolate_chosen(form: TaskForm) -> str:
    mode = form.query_one("#isolate", Choice).value
    if mode and not form.query_one("#folder", TextField).text.strip():
        raise Invalid(f"A {mode} is of a folder: say of which.", "folder")
    return mode


def _limit_typed(form: TaskForm) -> float:
    text = form.query_one("#limit", TextField).text
    try:
        return _seconds(text)
    except ValueError as error:
        raise Invalid(f"Time limit: {error}.", "limit") from error


def _folder_typed(form: TaskForm) -> str:
    text = form.query_one("#folder", TextField).text.strip()
    folder = os.path.abspath(os.path.join(here(), os.path.expanduser(text))) if text else ""
    if folder and not os.path.isdir(folder):
        raise Invalid(f"There is no such folder; leave it empty for none: {one_line(folder, 200)}", "folder")
    return folder


CHECKS = "what proves it, one per line, such as command: make test"
_BUDGET = "no cap of its own; or such as $0.50, 100k tokens"


def _seconds(text: str) -> float:
    """Return the seconds in `text`, 0 where it is empty. ValueError says what is understood."""
    if not text:
        return 0.0
    seconds = times.parse_duration(text.replace(" ", ""))
    if not 1 <= seconds <= times.DAY:
        raise ValueError(f"{text!r} is not between 1s and 1d")
    return seconds


def _seconds_or_zero(text: str) -> float:
    try:
        return _seconds(text)
    except ValueError:
        return 0.0


def _about(role: Role) -> Content:
    return Content(f"{one_line(role.purpose, 200)}\n{one_line(' '.join(role.tools), _NOTE)}")


def powers(role: Role) -> str:
    """Return what a role may do, in a few words: `9 tools, read only, shell to read`."""
    words = [f"{len(role.tools)} tools", "may write" if role.changes_files else "read only"]
    if role.shell != "none":
        words.append("any command" if role.shell == "any" else "shell to read")
    reach = "network" if role.network else f"{len(role.command_hosts)} hosts" if role.command_hosts else ""
    return ", ".join([*words, reach] if reach else words)


def will_run(role: Role, tier: str, seconds: float, budget: str = "") -> Content:
    """Return one line on who will run with what: role, tier, tools and limits."""
    limit = times.limit(seconds or role.limits.timeout_seconds)
    parts = [powers(role), limit, f"{role.limits.max_steps} steps", *([f"at most {budget}"] if budget else [])]
    details = "".join(f" · {part}" for part in parts)
    return Content.assemble(
        (one_line(role.name, 64), "bold"), " on ", (tier or role.tier, "bold"), (details, "$room-muted")
    )


_MORE = 2  # how many times as much is proposed


class RetryForm(FormScreen[dict[str, float]]):
    """Answers with the caps of the next try, both of them: 0 is none."""

    SEND = "retry"

    def __init__(self, view: TaskView) -> None:
        super().__init__("Retry with another budget")
        self._view = view

    def rows(self) -> Iterable[Widget]:
        own = self._view.spec.budget
        more = format_caps({"tokens": own.tokens * _MORE, "usd": own.usd * _MORE})
        yield row("at most", TextField(more, placeholder="such as $0.50, 100k tokens; empty: no cap", id="budget"))

    def preview(self) -> Content:
        own = own_words(self._view.spec.budget)
        return Content(f"The last try ended at its own cap of {own}.\n{one_line(self._view.reason, 300)}")

    def read(self) -> dict[str, float]:
        try:
            caps = parse_caps(self.query_one("#budget", TextField).text)
        except ValueError as error:
            raise Invalid(f"Budget: {error}.", "budget") from error
        return {"tokens": 0, "usd": 0.0, **caps}


def ended_at_its_cap(view: TaskView) -> bool:
    """Return whether a task failed for want of the tokens or the money that it was given for itself."""
    own = view.spec.budget
    return view.status is Status.FAILED and bool(own.tokens or own.usd) and view.cap == "task"


def retry(app: ScreenOpener, view: TaskView | None, task_id: str, send: Callable[[RetryTask], object]) -> None:
    """`send` a retry; where the task ended at its own cap, ask for another one first."""
    if view is None or not ended_at_its_cap(view):
        send(RetryTask(task_id=task_id))
        return

    def answered(caps: dict[str, float] | None) -> None:
        if caps:
            send(RetryTask(task_id=task_id, budget=caps))

    app.push_screen(RetryForm(view), answered)


_CAP = lazy_re(
    r"\s*(?:\$\s*(?P<usd>\d*\.?\d+)|(?P<tokens>\d{1,3}(?:,\d{3})+|\d*\.?\d+)\s*(?P<unit>[km]?)\s*(?P<said>tokens?)?)"
    r"\s*(?:,|and\b|$|(?=\$))",
    re.I,
)
_UNITS = {"": 1, "k": 1000, "m": 1_000_000}
_FEWEST_TOKENS = 1000  # tokens: a bare number below that was meant as dollars


def parse_caps(text: str) -> dict[str, float]:
    """Return `tokens` and `usd` as far as they are named; empty for no budget. ValueError says what is understood."""
    caps: dict[str, float] = {}
    at = 0
    while at < len(text.strip()):
        part = _CAP.match(text.strip(), at)
        if part is None:
            raise ValueError(f"{text!r} is not understood: write $0.50, 100k tokens, or both")
        at = part.end()
        caps |= _amount(part)
    if problem := out_of_range(**caps):
        raise ValueError(problem)
    return {name: value for name, value in caps.items() if value}


def _amount(part: re.Match[str]) -> dict[str, float]:
    if part["usd"]:
        return {"usd": float(part["usd"])}
    tokens = int(float(part["tokens"].replace(",", "")) * _UNITS[part["unit"].lower()])
    if 0 < tokens < _FEWEST_TOKENS and not (part["unit"] or part["said"]):
        raise ValueError(f"{tokens} tokens are too few for a call: write ${tokens} for dollars, 100k for tokens")
    return {"tokens": tokens}


def format_caps(caps: Mapping[str, float]) -> str:
    """Return caps as they are typed into a form; empty for no budget."""
    parts = [f"{int(caps['tokens']):,} tokens"] if caps.get("tokens") else []
    return ", ".join([*parts, dollars(float(caps["usd"]))] if caps.get("usd") else parts)
