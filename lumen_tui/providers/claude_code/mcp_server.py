"""Our tools as an MCP server that Claude Code speaks to through its own pipes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lumen_tui import __version__
from lumen_tui.providers.base import Reply
from lumen_tui.providers.claude_code.program import SERVER

Raw = dict[str, Any]
CALL = "tools/call"


def tool_name(claude_name: str) -> str:
    """Return our name of one of our tools as Claude Code names it; empty for a tool that is not ours."""
    start = f"mcp__{SERVER}__"
    return claude_name.removeprefix(start) if claude_name.startswith(start) else ""


def answer(message: Raw, tools: Iterable[Any]) -> Raw:
    """Return the answer to everything but a call."""
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        protocol = params.get("protocolVersion") if isinstance(params, dict) else None
        server_info = {"name": SERVER, "version": __version__}
        result: Raw = {"protocolVersion": protocol, "capabilities": {"tools": {}}, "serverInfo": server_info}
        return _wrapped(message, result=result)
    if method == "tools/list":
        return _wrapped(message, result={"tools": [_declared(tool) for tool in tools]})
    if method == "ping" or str(method).startswith("notifications/"):
        return _wrapped(message, result={})
    return _wrapped(message, error={"code": -32601, "message": f"there is no method {method}"})


def called(message: Raw) -> tuple[str, Raw]:
    """Return the tool that a call names, and its arguments."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    arguments = params.get("arguments")
    return str(params.get("name")), arguments if isinstance(arguments, dict) else {}


def result(message: Raw, reply: Reply) -> Raw:
    """Return the answer to a call."""
    return _wrapped(message, result={"content": [{"type": "text", "text": reply.text}], "isError": not reply.ok})


def version(message: Raw) -> str:
    """Return the version of the program, which it tells when it says hello; empty in every other message."""
    params = message.get("params") if message.get("method") == "initialize" else None
    client = params.get("clientInfo") if isinstance(params, dict) else None
    return str(client.get("version") or "") if isinstance(client, dict) else ""


def _declared(tool: Any) -> Raw:
    # Without the mark it may show tools by name only and let the model look for them first.
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "_meta": {"anthropic/alwaysLoad": True},
    }


def _wrapped(message: Raw, **body: Raw) -> Raw:
    return {"jsonrpc": "2.0", "id": message.get("id"), **body}
