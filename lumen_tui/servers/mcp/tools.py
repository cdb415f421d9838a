"""Tools: the operations of the catalogue, and `run_task`, which waits for what `create_task` only begins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from lumen_tui.model.access import Principal, Scope
from lumen_tui.servers import catalogue
from lumen_tui.servers.catalogue import Counter, Fault, Operation, OperationError
from lumen_tui.servers.jsonrpc import Result, invalid
from lumen_tui.servers.mcp.wire import Exchange

RUN = "run_task"
_RUN_TEXT = (
    "Give a worker a task and wait for its result, which may take minutes. Clients that know tasks get a handle at "
    "once. The worker knows nothing but what you write."
)


def described(who: Principal, *, legacy_tasks: bool) -> list[Result]:
    """Return the tools of a program, always in the same order."""
    tools = [_tool(operation, operation.name, operation.title, operation.text) for operation in catalogue.offered(who)]
    if who.may(Scope.ACT) and who.may(Scope.READ):
        run = _tool(catalogue.OPERATIONS["create_task"], RUN, "Run a task", _RUN_TEXT)
        tools.append({**run, **({"execution": {"taskSupport": "optional"}} if legacy_tasks else {})})
    return tools


def _tool(operation: Operation, name: str, title: str, text: str) -> Result:
    return {
        "name": name,
        "title": title,
        "description": text,
        "inputSchema": catalogue.schema_of(operation.arguments),
        "annotations": {
            "readOnlyHint": operation.scope is Scope.READ,
            "destructiveHint": operation.destructive,
            "idempotentHint": operation.repeatable,
            "openWorldHint": False,
        },
    }


def call(counter: Counter, exchange: Exchange, name: str) -> Result:
    """Call a tool of the catalogue. What the model can mend is a result; a tool that is not there is an error."""
    try:
        return content_of(counter.invoke(exchange.who, name, exchange.mapping("arguments")))
    except OperationError as error:
        if error.fault is Fault.UNKNOWN:
            raise invalid(f"Unknown tool: {name[:80]}") from error
        return failure(error)


def content_of(document: Mapping[str, object]) -> Result:
    """Return a document as the result of a call."""
    text = msgspec.json.encode(document).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": document, "isError": False}


def failure(error: OperationError) -> Result:
    """Return a refusal as the result of a call, with what may have been meant."""
    near = f". Did you mean {' or '.join(error.candidates[:3])}?" if error.candidates else ""
    return {"content": [{"type": "text", "text": f"{error}{near}"}], "isError": True}
