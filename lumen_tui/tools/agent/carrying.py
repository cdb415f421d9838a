"""What an agent asks for by a tool is a request like that of a person, carried out by the same verbs.

So the journal, undo and the checks are shared. Each call is carried out once a loop or task, and all of them are
bounded: [projects] in the settings. Defaults of arguments are left out of what is hashed, so that a field which a later
version adds makes no other call of the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from lumen_tui.model.agent import Act
from lumen_tui.model.requests.base import Request
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.agent.notes import once
from lumen_tui.tools.base import Context, Performed, ToolError, ToolResult

UNIT, TASK = "unit", "task"  # kinds of acts that have a bound of their own
PLANNED = (UNIT, TASK, "change", "judgement", "cancel")  # kinds of acts that are made here
Ask = Callable[[str, list[Act]], Request]


def carry_out(
    context: Context, kind: str, arguments: Struct, text: str, ask: Ask, *, about: str = "", count: int = 1
) -> ToolResult:
    """Carry out the request that `ask(key, acts so far)` returns, once. ToolError says why not.

    `about` names the thing whose state it changes: then only the last act on it is not repeated. `count` is how many
    things of its kind it makes.
    """
    done: list[Performed] = []

    def make(key: str, before: list[Act]) -> str:
        _must_be_within(context, kind, before, count)
        done.append(context.perform(ask(key, before)))
        return about or done[-1].target

    result = once(context, kind, arguments, text, make, about=about, count=count)
    if not done:
        return result
    last = done[-1]
    named = last.summary if last.target in last.summary else f"{result.text} ({last.summary})"
    words = "; ".join(part for part in (named, last.aside) if part)
    return msgspec.structs.replace(result, text=words, data={"id": last.target})


def made_of(acts: Iterable[Act], kind: str) -> int:
    """Return how many things of a kind the acts made."""
    return sum(act.count for act in acts if act.kind == kind)


def _must_be_within(context: Context, kind: str, before: list[Act], count: int) -> None:
    if kind == TASK:
        return  # bounded by the loop, or by the role
    rules = load_config(context.store.layout)[0].projects
    if kind == UNIT:
        if made_of(before, UNIT) + count > rules.units:
            raise ToolError(
                f"{rules.units} work units are the most that are made at once ([projects] units): go on later"
            )
        return
    others = sum(act.kind in PLANNED and act.kind not in (UNIT, TASK) for act in before)
    if others >= rules.acts:
        raise ToolError(f"{rules.acts} changes are the most that are made at once ([projects] acts): go on later")
