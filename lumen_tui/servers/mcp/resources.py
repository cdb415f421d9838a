"""Resources: what the agent wakes with, its status, tasks with their results, work units and notes, by `lumen://`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.model.access import Scope
from lumen_tui.model.text import one_line
from lumen_tui.servers.catalogue import Counter, Fault, OperationError
from lumen_tui.servers.jsonrpc import INTERNAL_ERROR, Result, invalid
from lumen_tui.servers.mcp.wire import Exchange
from lumen_tui.tools.mcp.messages import JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEME = "lumen://"
_TEXT, _JSON = "text/markdown", "application/json"
_RESULTS = 100  # of the last tasks
_LEGACY_NOT_FOUND = -32002  # what 2025-11-25 and earlier call a resource that is not there
FIXED = (
    ("wake-state", "Wake-state", "What the main agent reads first at its next loop.", _TEXT),
    ("capsule", "Capsule", "The orientation with which the next loop would wake.", _TEXT),
    ("status", "Status", "State, open tasks, what holds work back, spending, and what needs a person.", _JSON),
)
TEMPLATES = (
    ("tasks/{task_id}", "Task", "One task with its last events and its result.", _JSON),
    ("tasks/{task_id}/result", "Result", "The result of one task.", _TEXT),
    ("units/{wu_id}", "Work unit", "All that is known of one work unit.", _JSON),
    ("notes/{id}", "Note", "One entry of memory or of the archive.", _JSON),
)


def listed(counter: Counter, exchange: Exchange) -> list[Result]:
    """Return the fixed resources, then the results of the last tasks."""
    exchange.must_may(Scope.READ)
    fixed: list[Result] = [
        {"uri": _SCHEME + path, "name": path, "title": title, "description": text, "mimeType": kind}
        for path, title, text, kind in FIXED
    ]
    return [*fixed, *_results(counter)]


def _results(counter: Counter) -> Iterator[Result]:
    for view in islice(counter.desk.snapshot().tasks, _RESULTS):
        if view.finished:
            yield {
                "uri": f"{_SCHEME}tasks/{view.id}/result",
                "name": f"result of {view.id}",
                "title": one_line(view.spec.objective, 100),
                "description": view.outcome,
                "mimeType": _TEXT,
            }


def templates(counter: Counter, exchange: Exchange) -> list[Result]:
    exchange.must_may(Scope.READ)
    return [
        {"uriTemplate": _SCHEME + path, "name": title.lower(), "title": title, "description": text, "mimeType": kind}
        for path, title, text, kind in TEMPLATES
    ]


def read(counter: Counter, exchange: Exchange, uri: str) -> Result:
    """Return the contents of one resource. JsonRpcError where there is none under this address."""
    exchange.must_may(Scope.READ)
    try:
        kind, text = _contents(counter, exchange, uri)
    except OperationError as error:
        if error.fault in (Fault.BUSY, Fault.FAILED):
            raise JsonRpcError(INTERNAL_ERROR, str(error)) from error
        raise not_found(exchange, uri, str(error)) from error
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def not_found(exchange: Exchange, uri: str, why: str = "") -> JsonRpcError:
    """Return the error for an address that names nothing, with the code of the client's generation."""
    text = f"Resource not found{f': {why}' if why else ''}"
    code = invalid("").code if exchange.modern else _LEGACY_NOT_FOUND
    return JsonRpcError(code, text, {"uri": one_line(uri, 200)})


def _contents(counter: Counter, exchange: Exchange, uri: str) -> tuple[str, str]:
    """Return MIME type and text."""
    if not uri.startswith(_SCHEME):
        raise not_found(exchange, uri)

    def json(name: str, arguments: Mapping[str, object]) -> tuple[str, str]:
        return _JSON, msgspec.json.encode(counter.invoke(exchange.who, name, arguments)).decode()

    match uri.removeprefix(_SCHEME).split("/"):
        case ["wake-state"]:
            return _TEXT, counter.desk.snapshot().wake.text
        case ["capsule"]:
            return _TEXT, _capsule(counter)
        case ["status"]:
            return json("status", {})
        case ["tasks", task_id]:
            return json("read_task", {"task_id": task_id})
        case ["tasks", task_id, "result"]:
            return _TEXT, str(counter.invoke(exchange.who, "read_task", {"task_id": task_id})["result"])
        case ["units", wu_id]:
            return json("read_unit", {"wu_id": wu_id})
        case ["notes", node_id]:
            return json("recall", {"id": node_id})
    raise not_found(exchange, uri)


def _capsule(counter: Counter) -> str:
    from lumen_tui.engine.loops.capsules import build_capsule, next_loop
    from lumen_tui.model import capsule
    from lumen_tui.store.settings.config import load_config

    layout = counter.desk.layout
    config, _ = load_config(layout)
    return capsule.render(build_capsule(layout, next_loop(layout), config, counter.desk.now, budget=0))


def names_of(counter: Counter, argument: str) -> Callable[[], list[str]] | None:
    """Return what lists the values that an argument of a prompt or a template may have; None where nothing does."""
    snapshot = counter.desk.snapshot
    if argument in ("wu_id", "work"):
        return lambda: [unit.id for unit in snapshot().work]
    if argument == "task_id":
        return lambda: [view.id for view in islice(snapshot().tasks, 1000)]
    if argument == "role":
        return lambda: [role.name for role in snapshot().roles]
    return None
