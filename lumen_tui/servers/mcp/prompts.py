"""Prompts that a person chooses in their editor: begin a piece of work, look at a result, take up a role's work."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.access import Scope
from lumen_tui.model.fences import fence
from lumen_tui.model.roles import Role
from lumen_tui.model.text import one_line, safe
from lumen_tui.servers import wording
from lumen_tui.servers.catalogue import Counter, OperationError
from lumen_tui.servers.jsonrpc import Result, invalid
from lumen_tui.servers.mcp import resources
from lumen_tui.servers.mcp.wire import Exchange

_MOST_VALUES = 100  # of a completion, by the protocol
_LONGEST = 1000  # characters of an argument
_ENTRY = 400  # characters of an entry of a briefing


class Prompt(Struct, frozen=True):
    """One prompt. `text` makes it of the values of its arguments."""

    title: str
    description: str
    arguments: dict[str, str]  # name -> what it is; each must be given
    text: Callable[[Counter, Exchange, dict[str, str]], str]


def _briefing(counter: Counter, exchange: Exchange, values: dict[str, str]) -> str:
    document = counter.invoke(exchange.who, "briefing", {"work": values["work"]})
    known = wording.briefing(document) or "Nothing is known of it yet."
    ask = "Read what is known of it first. Say what of it matters here, what may be out of date, and what to check."
    return f"I am about to work on this: {values['work']}\n\n{ask}\n\n{fence(known, 'briefing')}"


def _unit(counter: Counter, exchange: Exchange, values: dict[str, str]) -> str:
    document = counter.invoke(exchange.who, "read_unit", {"wu_id": values["wu_id"]})
    ask = (
        "Take up this work unit. Keep to its acceptance, note what you decide and what you notice on the way, and say "
        "at the end which condition is met and how that can be seen."
    )
    return f"{ask}\n\n{fence(str(document['known']), 'work unit')}"


def _task(counter: Counter, exchange: Exchange, values: dict[str, str]) -> str:
    document = counter.invoke(exchange.who, "read_task", {"task_id": values["task_id"]})
    ask = (
        "Review the result of this task as somebody who did not do it. What is claimed, what is shown, what is "
        "missing? Name each doubt with the place in the result, and say whether you would accept it."
    )
    facts = f"Objective: {document['objective']}\nState: {document['status']}\n\n{document['result']}"
    return f"{ask}\n\n{fence(facts, 'task')}"


def _role(counter: Counter, exchange: Exchange, values: dict[str, str]) -> str:
    role: Role | None = next((one for one in counter.desk.snapshot().roles if one.name == values["role"]), None)
    if role is None:
        raise ActionError(f"there is no role {one_line(values['role'], 60)!r}")
    return f"{safe(role.prompt).strip()}\n\nYour task: {values['objective']}"


PROMPTS = {
    "briefing": Prompt(
        "Briefing", "What is known of a piece of work, before it begins.", {"work": "a work unit, or words"}, _briefing
    ),
    "work-unit": Prompt("Take up a work unit", "Begin on a work unit.", {"wu_id": "such as WU-042"}, _unit),
    "review-task": Prompt("Review a task", "Look at a result with fresh eyes.", {"task_id": "the task"}, _task),
    "role": Prompt(
        "As a role",
        "Do something as one of the agent's roles would.",
        {"role": "the role", "objective": "what is to be done"},
        _role,
    ),
}


def listed(counter: Counter, exchange: Exchange) -> list[Result]:
    exchange.must_may(Scope.READ)
    return [
        {
            "name": name,
            "title": prompt.title,
            "description": prompt.description,
            "arguments": [
                {"name": argument, "description": text, "required": True} for argument, text in prompt.arguments.items()
            ],
        }
        for name, prompt in PROMPTS.items()
    ]


def get(counter: Counter, exchange: Exchange) -> Result:
    exchange.must_may(Scope.READ)
    name = exchange.text("name")
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise invalid(f"Unknown prompt: {one_line(name, 60)}")
    values = {argument: _value(exchange.mapping("arguments"), argument) for argument in prompt.arguments}
    try:
        text = prompt.text(counter, exchange, values)
    except (OperationError, ActionError) as error:
        raise invalid(str(error)) from error
    return {
        "description": prompt.description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def _value(arguments: dict[str, object], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise invalid(f"Missing required argument: {name}")
    if len(value) > _LONGEST:
        raise invalid(f"{name} is longer than {_LONGEST:,} characters")
    return safe(value.strip())


def complete(counter: Counter, exchange: Exchange) -> Result:
    """Return the values that an argument may have and that begin with what was typed, then those that hold it."""
    exchange.must_may(Scope.READ)
    _must_be_known(exchange.mapping("ref"))
    argument = exchange.mapping("argument")
    name, typed = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(typed, str):
        raise invalid("argument must have a name and a value")
    names = resources.names_of(counter, name)
    known = names() if names else []
    word = typed.casefold()
    matches = [one for one in known if word in one.casefold()]
    matches.sort(key=lambda one: not one.casefold().startswith(word))
    values = matches[:_MOST_VALUES]
    return {"completion": {"values": values, "total": len(matches), "hasMore": len(matches) > len(values)}}


def _must_be_known(ref: dict[str, object]) -> None:
    """Refuse a reference to a prompt that there is not, or of no known type."""
    if ref.get("type") == "ref/prompt":
        if ref.get("name") not in PROMPTS:
            raise invalid(f"Unknown prompt: {one_line(str(ref.get('name')), 60)}")
    elif ref.get("type") != "ref/resource" or not isinstance(ref.get("uri"), str):
        raise invalid("ref must be of type ref/prompt or ref/resource")
