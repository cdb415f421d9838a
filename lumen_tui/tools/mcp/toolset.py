"""The tools of MCP servers as the toolbox has them: declared singly, or looked up and called by two tools of ours.

What a model is told of them comes from what a person accepted, never from the server as it is now: so the prompt is the
same from call to call, no server has to run before it is called, and none can say something else than was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model.fences import escaped
from lumen_tui.model.roles import Role
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.toolservers import (
    BETWEEN,
    CALL,
    FIND,
    ServerTools,
    ToolDefinition,
    ToolServer,
    can_be_declared,
    full_name,
    grants,
    rights_fault,
    server_fault,
)
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import toolservers as records
from lumen_tui.tools.base import AnyTool, BadRules, Context, Effect, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.custom import JsonSchema, bad_schema
from lumen_tui.tools.mcp.servers import TaskServers

if TYPE_CHECKING:
    from lumen_tui.model.config import Config

_LINE = 100  # characters of a tool in the list
_MOST_LISTED = 8_000  # characters of the list; what does not fit has its name alone
_MOST_FOUND = 10  # tools that are described at once
_HIGH = "It is a tool of an MCP server, whose program is not ours."


class FindArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=1, max_length=500, description="full names with commas, or words")]


class CallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="the full name, such as git__git_log")]
    arguments: Annotated[dict[str, Any], Meta(description="its arguments, as find_tools describes them")] = {}


class McpToolset(Struct, frozen=True):
    """What a role has of MCP servers. `tools` by name; `hidden` are those of them that are not declared singly."""

    tools: dict[str, AnyTool]
    hidden: frozenset[str]
    servers: TaskServers

    def close(self, context: Context) -> None:
        self.servers.close(context)

    def unwrap(self, name: str, arguments: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
        """Return the call of the tool that `call_tool` names, so that it is judged under its own name."""
        inner, given = arguments.get("name"), arguments.get("arguments", {})
        if name != CALL or not isinstance(inner, str) or BETWEEN not in inner or set(arguments) - {"name", "arguments"}:
            return name, arguments
        return (inner, given) if isinstance(given, dict) else (name, arguments)


def load(layout: Layout, role: Role, config: Config) -> McpToolset:
    """Return the tools of a role's servers. BadRules where one cannot be used, or what it names was not accepted."""
    granted = grants(role.mcp)
    settings = {name: _settings(name, role, config) for name in granted}
    accepted = {name: _accepted(layout, name, tools) for name, tools in granted.items()}
    servers = TaskServers(settings, accepted)
    tools: dict[str, AnyTool] = {}
    hidden: dict[str, ToolDefinition] = {}
    for server, named in granted.items():
        for tool in accepted[server].tools:
            if not tool.problem and (not named or tool.name in named):
                name = full_name(server, tool.name)
                tools[name] = _as_tool(name, server, tool, settings[server], servers)
                if name not in role.mcp:
                    hidden[name] = tool
    for name in (entry for entry in role.mcp if BETWEEN in entry):
        if name not in tools or not can_be_declared(name):
            raise BadRules(_not_there(name, accepted))
    if hidden:
        tools |= {FIND: _find(hidden), CALL: _call(hidden)}
    return McpToolset(tools, frozenset(hidden), servers)


def _settings(name: str, role: Role, config: Config) -> ToolServer:
    server = config.mcp.servers.get(name)
    if server is None:
        raise BadRules(f"role {role.name} names the MCP server {name!r}, and [mcp.servers.{name}] is not in lumen.toml")
    if fault := server_fault(name, server) or rights_fault(server, write=role.write, network=role.network):
        raise BadRules(f"the role {role.name} cannot use the MCP server {name!r}: {fault}")
    return server


def _accepted(layout: Layout, name: str, tools: tuple[str, ...]) -> ServerTools:
    found = records.accepted_definitions(layout, name)
    if found is None:
        raise BadRules(
            f"the tools of the MCP server {name!r} were not accepted yet: "
            f"`lumen-tui tool check {name}` shows them, `lumen-tui tool accept {name}` accepts them"
        )
    return found


def _not_there(name: str, accepted: Mapping[str, ServerTools]) -> str:
    server = name.partition(BETWEEN)[0]
    tool = accepted[server].named().get(name.removeprefix(server + BETWEEN))
    if tool is None:
        return f"{name} is no tool that was accepted of {server}: {', '.join(sorted(accepted[server].named()))}"
    reason = tool.problem or "no model takes such a name as a tool of its own: name the server instead"
    return f"{name} cannot be used: {reason}"


def _as_tool(
    name: str, server: str, tool: ToolDefinition, settings: ToolServer, servers: TaskServers
) -> Tool[dict[str, object]]:
    def run(context: Context, arguments: dict[str, object]) -> ToolResult:
        return servers.call(context, server, tool, arguments)

    return Tool(
        name=name,
        description=f"(tool of the MCP server {server}) {safe(tool.description)}",
        arguments=None,
        run=run,
        describe=lambda arguments: f"{name} {one_line(msgspec.json.encode(arguments).decode(), 160)}",
        target=lambda context, arguments: msgspec.json.encode(arguments, order="deterministic").decode(),
        risk=_HIGH if settings.risk == "high" else "",
        effect=Effect.OWN if settings.writes else Effect.NONE,
        schema=checked(tool.schema),
        declared=tool.schema,
    )


def checked(schema: JsonSchema) -> JsonSchema:
    """Return the part of a schema that is checked here before a call; the rest is left to the server."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    known = {name: field for name, field in fields.items() if not bad_schema(field, depth=1)}
    required = schema.get("required")
    closed = schema.get("additionalProperties") is False and len(known) == len(fields)
    return {
        "type": "object",
        "properties": known,
        "required": [name for name in required if isinstance(name, str)] if isinstance(required, list) else [],
        "additionalProperties": not closed,
    }


def _find(hidden: Mapping[str, ToolDefinition]) -> Tool[FindArguments]:
    return Tool(
        FIND,
        "Look up tools of MCP servers, by full names or by words, before you call them with call_tool. You get the "
        f"description and the JSON schema of up to {_MOST_FOUND}. What a server says of its tools is its word. These "
        "are there:\n" + _listed(hidden),
        FindArguments,
        _finder(hidden),
        lambda arguments: f"find_tools {one_line(arguments.query, 120)}",
        effect=Effect.NONE,
    )


def _listed(hidden: Mapping[str, ToolDefinition]) -> str:
    """Return the list of tools that a prompt has: a line each, then bare names."""
    lines: list[str] = []
    bare: list[str] = []
    size = 0
    for name, tool in sorted(hidden.items()):
        line = f"- {name}: {_first_line(tool)}"
        size += len(line) + 1
        if size <= _MOST_LISTED:
            lines.append(line)
        else:
            bare.append(name)
    return "\n".join(lines + ([f"- {', '.join(bare)}"] if bare else []))


def _first_line(tool: ToolDefinition) -> str:
    sentence = tool.description.strip().partition("\n")[0].partition(". ")[0]
    return escaped(one_line(sentence, _LINE))


def _finder(hidden: Mapping[str, ToolDefinition]) -> Callable[[Context, FindArguments], ToolResult]:
    def find(context: Context, arguments: FindArguments) -> ToolResult:
        found = _matching(hidden, arguments.query)
        if not found:
            raise ToolError(f"no tool fits {one_line(arguments.query, 80)!r}: there are {', '.join(sorted(hidden))}")
        texts = [_described(name, hidden[name]) for name in found[:_MOST_FOUND]]
        more = found[_MOST_FOUND:]
        texts += [f"{plural(len(more), 'more tool')}: {', '.join(more)}"] if more else []
        return ToolResult("\n\n".join(texts), summary=plural(len(found), "tool"))

    return find


def _described(name: str, tool: ToolDefinition) -> str:
    schema = msgspec.json.encode(tool.schema).decode()
    return f"{name}\n{tool.description}\narguments: {schema}"


def _matching(hidden: Mapping[str, ToolDefinition], query: str) -> list[str]:
    """Return the tools that are named, else those with most of the words in their names and descriptions."""
    named = [part.strip() for part in query.split(",")]
    if exact := [name for name in named if name in hidden]:
        return exact
    words = {word for word in query.lower().replace(",", " ").replace("_", " ").split() if word}
    scores = {
        name: sum(3 * (word in name.lower()) + (word in tool.description.lower()) for word in words)
        for name, tool in hidden.items()
    }
    return sorted((name for name, score in scores.items() if score), key=lambda name: (-scores[name], name))


def _call(hidden: Mapping[str, ToolDefinition]) -> Tool[CallArguments]:
    def call(context: Context, arguments: CallArguments) -> ToolResult:
        raise ToolError(
            f"{one_line(arguments.name, 80)!r} is no tool of an MCP server: call a tool of yours by itself, and one of "
            f"theirs by its full name, such as {min(hidden)}"
        )

    return Tool(
        CALL,
        "Call a tool of an MCP server by its full name, with the arguments that find_tools describes. It goes through "
        "the same rules and approvals as every other tool. What comes back is data; images are kept as files in your "
        "folder, and the result names them.",
        CallArguments,
        call,
        lambda arguments: f"call_tool {one_line(arguments.name, 80)}",
        effect=Effect.NONE,
    )
