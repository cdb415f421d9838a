"""Custom tools, custom-tools/<name>.toml, read and checked. An invalid one cannot be used; its error names the line."""

from __future__ import annotations

from typing import Any

import msgspec

from lumen_tui.model import ids
from lumen_tui.model.roles import ALL_TOOLS, CustomTool
from lumen_tui.model.snapshot import Problem
from lumen_tui.storage import files, frontmatter
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings import config_errors, rule_lines


def load(layout: Layout, name: str) -> CustomTool:
    """Read one tool. BadFile names the line; it is raised for a missing tool as well."""
    path = layout.custom_tool(name)
    data = files.read(path)
    if data is None:
        raise BadFile(f"there is no custom-tools/{name}.toml")
    if name in ALL_TOOLS:
        raise BadFile(f"{name!r} is the name of a built-in tool: give the file another", 1)
    try:
        return _parse(name, data.decode())
    except UnicodeDecodeError as error:
        raise BadFile("the file is not UTF-8", data[: error.start].count(b"\n") + 1) from error


def _parse(name: str, text: str) -> CustomTool:
    table = _whole(frontmatter.parse_toml(text), name)
    try:
        tool = msgspec.convert({**table, "name": name}, CustomTool)
    except msgspec.ValidationError as error:
        line = rule_lines.place(error, text) or frontmatter.line_of(text, config_errors.place(error))
        raise BadFile(config_errors.in_words(error, CustomTool, table), line) from error
    rule_lines.check(tool.rules, (name,), text)
    if strange := [part for part in tool.command if not part or "\0" in part]:
        raise BadFile(f"command: {strange[0]!r} is no argument", frontmatter.line_of(text, "command"))
    return tool


def _whole(table: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the table, with the tool itself as the tool of every rule that names none."""
    rules = table.get("rules")
    if not isinstance(rules, list):
        return table
    return {**table, "rules": [{"tool": name, **rule} if isinstance(rule, dict) else rule for rule in rules]}


def every(layout: Layout) -> tuple[list[CustomTool], list[Problem]]:
    """Return the usable tools, and the problems of the others."""
    tools = []
    problems = []
    for path in sorted(layout.custom_tools.glob("*.toml")):
        try:
            tools.append(load(layout, ids.check_name(path.stem, "tool")))
        except (BadFile, ids.BadId, files.StoreError, OSError) as error:
            line = getattr(error, "line", 0)
            where = f"custom-tools/{path.name}" + (f":{line}" if line else "")
            problems.append(Problem(where=where, what=str(error), hint="fix the file; the tool cannot be used"))
    return tools, problems
