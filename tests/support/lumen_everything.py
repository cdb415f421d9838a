"""What the official conformance suite of MCP wants of a server, served through our protocol.

The suite asks for tools, resources and prompts of its own, for which an agent has no use, and has no token. They are
answered here by handlers that build on ours; sessions, streams, versions, cursors and errors are what is looked at.
"""

from __future__ import annotations

import base64
import re
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import lumen_rounds
import lumen_suite_tasks
from starlette.requests import Request

from lumen_tui.model.access import Principal, Scope
from lumen_tui.servers.access import TokenBook
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.servers.http.app import HttpApi, application
from lumen_tui.servers.http.door import Door
from lumen_tui.servers.http.mcp import McpEndpoint
from lumen_tui.servers.http.serving import ApiServer, configured
from lumen_tui.servers.jsonrpc import Result
from lumen_tui.servers.mcp.handlers import Handlers
from lumen_tui.servers.mcp.wire import Exchange

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg=="
_WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()
_IMAGE = {"type": "image", "data": _PNG, "mimeType": "image/png"}
_EMBEDDED = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "An embedded resource."}
_MIXED = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": '{"test":"data"}'}
_FIXED = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [_IMAGE],
    "test_audio_content": [{"type": "audio", "data": _WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [{"type": "resource", "resource": _EMBEDDED}],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        _IMAGE,
        {"type": "resource", "resource": _MIXED},
    ],
}
_ENUM = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
_FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation": {"username": {"type": "string"}, "email": {"type": "string"}},
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": _ENUM},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {"type": "string", "enum": _ENUM, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _ENUM}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
}
_ADDRESS = {
    "$anchor": "address",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": _ADDRESS},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_PLAIN = {"type": "object", "properties": {}}
_TALKING = (
    *("test_tool_with_logging", "test_tool_with_progress", "test_error_handling", "test_sampling"),
    *("greet", "test_logging_tool", "test_streaming_elicitation"),
)
_OWN = {*_FIXED, *_FORMS, *_TALKING, *lumen_rounds.TOOLS, *lumen_suite_tasks.TOOLS}
_TOOLS = [
    *({"name": name, "description": name, "inputSchema": _PLAIN} for name in _OWN),
    {"name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12", "inputSchema": _SCHEMA},
]
_TEMPLATE = re.compile("test://template/([^/]+)/data")
_WORDS = {"type": "text", "text": "This is a simple prompt for testing."}
_PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    lumen_rounds.PROMPT: (),
}
_RESOURCES = re.compile("test://(static-text|static-binary|watched-resource|template/.*)")
_FRESH: Result = {"ttlMs": 0, "cacheScope": "private"}  # of the stateless protocol


class EverythingHandlers(Handlers):
    """Our handlers, with what the suite asks for beside it."""

    def __init__(self, counter: Counter, task_tools: lumen_suite_tasks.TaskTools) -> None:
        super().__init__(counter)
        self._task_tools = task_tools

    def answer(self, method: str, exchange: Exchange) -> Result | None:
        params = exchange.params
        held = _FRESH if exchange.modern else {}
        match method, params.get("name") or params.get("uri"):
            case "logging/setLevel", _ if not exchange.modern:
                return {}
            case "tools/list", _:
                return {"tools": _TOOLS, **held}
            case "tools/call", str(name) if name in _OWN:
                return self._own(exchange, name)
            case "tasks/update", _:
                exchange.params = lumen_suite_tasks.answered(params)
            case (("resources/subscribe" | "resources/unsubscribe"), "test://watched-resource"):
                return {}
            case "resources/read", str(uri) if _RESOURCES.fullmatch(uri):
                return {"contents": [_contents(uri)], **held}
            case "prompts/get", lumen_rounds.PROMPT if asked := lumen_rounds.asked(lumen_rounds.PROMPT, exchange):
                return asked
            case "prompts/get", str(name) if name in _PROMPTS:
                return {"messages": _messages(name, exchange.mapping("arguments"))}
            case "prompts/list", _:
                return {"prompts": [_prompt(name, arguments) for name, arguments in _PROMPTS.items()], **held}
            case "completion/complete", _ if exchange.mapping("ref").get("name") in _PROMPTS:
                return {"completion": {"values": [], "total": 0, "hasMore": False}}
        return super().answer(method, exchange)

    def _own(self, exchange: Exchange, name: str) -> Result | None:
        """Call a tool of the suite."""
        if name in lumen_rounds.TOOLS and name not in lumen_suite_tasks.TOOLS:
            return lumen_rounds.call(name, exchange)
        if name not in lumen_suite_tasks.TOOLS:
            return _call(exchange, name)
        wanted = lumen_rounds.asked(name, exchange) if name in lumen_rounds.TOOLS else None
        return wanted or self._task_tools.order(name, exchange)


def _prompt(name: str, arguments: tuple[str, ...]) -> Result:
    listed = [{"name": argument, "description": argument, "required": True} for argument in arguments]
    return {"name": name, "description": name, "arguments": listed}


def _text(text: str, *, is_error: bool = False) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _call(exchange: Exchange, name: str) -> Result | None:
    if name in _FIXED:
        return {"content": _FIXED[name]}
    if name == "greet":
        return _text(f"Hello, {exchange.mapping('arguments').get('name')}!")
    if name in _FORMS and exchange.ask:
        schema = {"type": "object", "properties": _FORMS[name], "required": []}
        answer = exchange.ask("elicitation/create", {"message": "Answer", "requestedSchema": schema}, _never) or {}
        return _text(f"Elicitation completed: action={answer.get('action')}, content={answer.get('content')}")
    if name == "test_sampling" and exchange.ask:
        words = {"role": "user", "content": {"type": "text", "text": exchange.mapping("arguments").get("prompt")}}
        answer = exchange.ask("sampling/createMessage", {"messages": [words], "maxTokens": 100}, _never) or {}
        return _text(f"LLM response: {answer.get('content')}")
    if name == "test_tool_with_logging":
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            exchange.cancelled.wait(0.05)
            exchange.notify("notifications/message", {"level": "info", "data": text})
    if name == "test_tool_with_progress":
        for done in (0, 50, 100):
            exchange.cancelled.wait(0.05)
            exchange.progress(done, f"{done} of 100")
    return _text("it is done", is_error=name not in _TALKING or name == "test_error_handling")


def _never() -> bool:
    return False


def _contents(uri: str) -> Result:
    if uri == "test://static-binary":
        return {"uri": uri, "mimeType": "image/png", "blob": _PNG}
    if match := _TEMPLATE.fullmatch(uri):
        return {"uri": uri, "mimeType": "application/json", "text": f'{{"id":"{match[1]}","templateTest":true}}'}
    return {"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}


def _messages(name: str, arguments: dict[str, Any]) -> list[Result]:
    contents: list[Any] = [_WORDS]
    if name == "test_prompt_with_image":
        contents.insert(0, _IMAGE)
    if name == "test_prompt_with_embedded_resource":
        resource = {"uri": arguments["resourceUri"], "mimeType": "text/plain", "text": "Embedded for testing."}
        contents.insert(0, {"type": "resource", "resource": resource})
    if name == "test_prompt_with_arguments":
        text = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
        contents = [{"type": "text", "text": text}]
    return [{"role": "user", "content": content} for content in contents]


class OpenDoor(Door):
    """Lets everybody in, as the suite has no token; names and origins are looked at as ever."""

    def principal(self, request: Request, now: float, kind: str = "http") -> Principal:
        return Principal("suite", kind, frozenset(Scope))


def main(root: Path, address: Path) -> None:
    """Serve on a free port of loopback, and write its address into a file."""
    desk = FollowingDesk(root)
    desk.layout.create()
    desk.follow()
    counter, door = Counter(desk), OpenDoor(TokenBook(desk.layout), ())
    api = HttpApi(desk, counter, door, lambda text: None)
    task_tools = lumen_suite_tasks.TaskTools(counter)
    api.mcp = McpEndpoint(counter, desk, door, lambda: EverythingHandlers(counter, task_tools))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"

        def ready() -> None:
            address.write_text(url)

        signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again once it has ended
        try:
            ApiServer(configured(application(api)), ready, api.mcp.end).run([listener])
        finally:
            task_tools.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
