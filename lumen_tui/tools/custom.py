"""Custom tools: programs of the operator's own, under the same rules, walls and approvals as the built-in tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from lumen_tui.model.customtools import CustomTool
from lumen_tui.model.ids import BadId
from lumen_tui.model.roles import Role
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import custom_tools
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, plural
from lumen_tui.tools.policy.rules import BadRules
from lumen_tui.tools.schema import bad_schema
from lumen_tui.tools.shell import process
from lumen_tui.tools.shell.tool import home, notes

_KEEP = 200_000  # bytes of output
_MOST = 100_000  # bytes of arguments: they are one argument of the program
_HIGH = "The operator marked this tool as risky."


def load(layout: Layout, role: Role) -> dict[str, CustomTool]:
    """The custom tools of a role. BadRules where one of them cannot be used: then the role cannot either."""
    found = {}
    for name in role.custom_tools:
        try:
            found[name] = custom_tools.load(layout, name)
        except (BadFile, BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"custom-tools/{name}.toml" + (f" line {line}" if line else "")
            raise BadRules(f"the custom tool {one_line(name, 60)!r} cannot be used: {where}: {error}") from error
        if why := _unfit(found[name], role):
            raise BadRules(f"the custom tool {name!r} cannot be used: {why}")
    return found


def _unfit(tool: CustomTool, role: Role) -> str:
    if why := bad_schema(tool.schema):
        return f"custom-tools/{tool.name}.toml: {why}"
    if tool.writes and not role.write:
        return f"it changes something, and the role {role.name} has no write = true"
    if tool.network and not role.network:
        return f"it needs the network, and the role {role.name} has no network = true"
    return ""


def as_tool(found: CustomTool, layout: Layout) -> Tool:
    """The tool as the toolbox takes it."""
    return Tool(
        name=found.name, description=found.description, arguments=None, run=_runner(found, layout),
        describe=lambda arguments: f"{found.name} {one_line(msgspec.json.encode(arguments).decode(), 160)}",
        target=lambda context, arguments: msgspec.json.encode(arguments, order="deterministic").decode(),
        risk=(found.risk_text or _HIGH) if found.risk == "high" else "", schema=found.schema,
    )  # fmt: skip


def _program(found: CustomTool, layout: Layout) -> list[str]:
    first, *rest = found.command
    if first.startswith(("./", "../")):
        first = os.path.normpath(os.path.join(layout.custom_tools, first))
    return [first, *rest]


def _runner(found: CustomTool, layout: Layout) -> Callable[[Context, dict[str, Any]], ToolResult]:
    def run(context: Context, arguments: dict[str, Any]) -> ToolResult:
        if found.writes and not context.rules.write:
            raise ToolError("it changes something, and this task may not")
        if found.network and not context.rules.network:
            raise ToolError("it needs the network, and this task may not use it")
        data = msgspec.json.encode(arguments).decode()
        if len(data) > _MOST:
            raise ToolError(f"arguments of {len(data):,} bytes are too many: {_MOST:,} at most")
        cwd = home(context)
        ran = process.run(
            context, [[*_program(found, layout), data]], cwd, {**process.environment(context), "PWD": cwd},
            seconds=found.timeout_seconds, keep=_KEEP, checked=not found.writes,
        )  # fmt: skip
        return _result(ran, found.timeout_seconds)

    return run


def _result(ran: process.CommandResult, seconds: float) -> ToolResult:
    text = ran.output.decode("utf-8", "replace")
    said = notes(ran, seconds)
    good = ran.exit_code == 0 and not (ran.timed_out or ran.too_much or ran.over)
    return ToolResult(
        text + "".join(f"\n[{note}]" for note in said) or "(no output)", ok=good, truncated=ran.left_out,
        data={"exit_code": ran.exit_code, "output": text},
        summary=plural(text.count("\n"), "line") if good else (said or ["failed"])[0],
    )  # fmt: skip
