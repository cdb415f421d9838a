"""Custom tools: programs of the operator's own, under the same rules, sandbox and approvals as the built-in tools."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from lumen_tui.model.ids import BadId
from lumen_tui.model.roles import CustomTool, Role
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import roles
from lumen_tui.tools.base import BadRules, Context, Tool, ToolError, ToolResult
from lumen_tui.tools.schema import bad_schema
from lumen_tui.tools.shell import process
from lumen_tui.tools.shell.tool import command_output, home

_KEEP = 200_000  # bytes of output
_MOST = 100_000  # bytes of arguments: they are one argument of the program
_HIGH = "The operator marked this tool as risky."


def load(layout: Layout, role: Role) -> dict[str, CustomTool]:
    """Return the custom tools of a role. BadRules where one cannot be used: then the role cannot either."""
    tools = {}
    for name in role.custom_tools:
        try:
            tools[name] = roles.load_custom_tool(layout, name)
        except (BadFile, BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"custom-tools/{name}.toml" + (f" line {line}" if line else "")
            raise BadRules(f"the custom tool {one_line(name, 60)!r} cannot be used: {where}: {error}") from error
        if problem := _unfit(tools[name], role):
            raise BadRules(f"the custom tool {name!r} cannot be used: {problem}")
    return tools


def _unfit(tool: CustomTool, role: Role) -> str:
    if problem := bad_schema(tool.schema):
        return f"custom-tools/{tool.name}.toml: {problem}"
    if tool.writes and not role.write:
        return f"it changes something, and the role {role.name} has no write = true"
    if tool.network and not role.network:
        return f"it needs the network, and the role {role.name} has no network = true"
    return ""


def as_tool(custom: CustomTool, layout: Layout) -> Tool[dict[str, object]]:
    """Return a custom tool as the toolbox takes it."""
    return Tool(
        name=custom.name,
        description=custom.description,
        arguments=None,
        run=_runner(custom, layout),
        describe=lambda arguments: f"{custom.name} {one_line(msgspec.json.encode(arguments).decode(), 160)}",
        target=lambda context, arguments: msgspec.json.encode(arguments, order="deterministic").decode(),
        risk=(custom.risk_text or _HIGH) if custom.risk == "high" else "",
        schema=custom.schema,
    )


def _program(custom: CustomTool, layout: Layout) -> list[str]:
    first, *arguments = custom.command
    if first.startswith(("./", "../")):
        first = os.path.normpath(os.path.join(layout.custom_tools, first))
    return [first, *arguments]


def _runner(custom: CustomTool, layout: Layout) -> Callable[[Context, dict[str, object]], ToolResult]:
    def run(context: Context, arguments: dict[str, object]) -> ToolResult:
        if custom.writes and not context.rules.write:
            raise ToolError("it changes something, and this task may not")
        if custom.network and not context.rules.network:
            raise ToolError("it needs the network, and this task may not use it")
        data = msgspec.json.encode(arguments).decode()
        if len(data) > _MOST:
            raise ToolError(f"arguments of {len(data):,} bytes are too many: {_MOST:,} at most")
        cwd = home(context)
        result = process.run(
            context,
            [*_program(custom, layout), data],
            cwd,
            process.environment(context),
            seconds=custom.timeout_seconds,
            keep=_KEEP,
            trusted=not custom.writes,
        )
        return command_output(result, custom.timeout_seconds)

    return run
