"""Turns what a model asks for into a call that can be judged: checked arguments, target and kind."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import COMMANDS, call_hash, moving
from lumen_tui.model.roles import WRITE_TOOLS
from lumen_tui.model.text import is_safe, one_line
from lumen_tui.tools.base import Context, Tool, ToolError, size_text
from lumen_tui.tools.files.paths import resolve
from lumen_tui.tools.policy.verdict import PolicyCall
from lumen_tui.tools.schema import misfit

MAX_ARGUMENTS = 2 * 1024 * 1024  # bytes of one call
_LONGEST_RULE = 500


class RequestedCall(Struct, frozen=True):
    """One call that a model requests, with its arguments checked."""

    tool: Tool
    arguments: Any  # as the tool takes them
    canonical: dict[str, Any]  # as they are shown and hashed
    call: PolicyCall
    allowed_once: bool = False  # by a person, or by a rule that one saved


def understand(context: Context, tool: Tool, arguments: Mapping[str, Any]) -> RequestedCall:
    """Return the requested call. ToolError where the arguments do not fit."""
    checked = convert(tool, arguments)
    canonical: dict[str, Any] = msgspec.to_builtins(checked)
    target = tool.target(context, checked)
    call = PolicyCall(
        tool=tool.name,
        target=target,
        folder=tool.folder(checked),
        groups=_groups(context, tool),
        hash=call_hash(tool.name, canonical),
    )
    return RequestedCall(tool, checked, canonical, call)


def too_large(arguments: Mapping[str, Any]) -> str:
    """Return why the arguments are not even examined, or an empty string."""
    try:
        size = len(msgspec.json.encode(arguments))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return f"the arguments are no JSON object: {one_line(str(error), 100)}"
    if size > MAX_ARGUMENTS:
        return f"arguments of {size_text(size)} are too many: {size_text(MAX_ARGUMENTS)} at most"
    return ""


def convert(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments as the tool takes them; ToolError names what does not fit."""
    if problem := too_large(arguments):
        raise ToolError(f"{tool.name}: {problem}")
    if tool.schema:
        if problem := misfit(tool.schema, dict(arguments)):
            raise ToolError(f"{tool.name}: {problem}; its arguments are {', '.join(tool.schema.get('properties', {}))}")
        return dict(arguments)
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        fields = ", ".join(tool.arguments.__struct_fields__)
        raise ToolError(f"{tool.name}: {error}; its arguments are {fields}") from error


def _groups(context: Context, tool: Tool) -> tuple[str, ...]:
    """Return the groups of `[approvals] ask` that the call belongs to."""
    if tool.name in WRITE_TOOLS:
        return ("write",)
    if tool.name in COMMANDS:
        return ("shell", "shell:any") if context.rules.shell == "any" else ("shell",)
    if tool.schema:
        return ("custom", "custom:high") if tool.risk else ("custom",)
    return ()


def narrow_rule(call: PolicyCall, *, unsandboxed: bool = False) -> str:
    """Return the pattern that "allow always" would save for the call; empty where none would be narrow.

    Without a sandbox, allowing `make test` for good would allow everything: the worker may write what it runs.
    """
    if unsandboxed and moving(call.tool, call.target):
        return ""
    if not call.target or len(call.target) > _LONGEST_RULE or not call.target.isprintable():
        return ""
    if not is_safe(call.target):
        return ""  # a person would not see the whole rule
    if call.tool == "web_fetch":
        parts = urlsplit(call.target)
        return f"{parts.scheme}://{glob.escape(parts.netloc)}/*"
    if call.tool in COMMANDS:
        return "" if call.target.endswith(" *") else call.target
    return glob.escape(call.target)  # a model may choose names and arguments that would be patterns


def check_foreign(context: Context, requested: RequestedCall) -> None:
    """Raise ToolError where a back end must not make this call with a tool of its own."""
    if requested.tool.name != "read_file":
        raise ToolError(f"{requested.tool.name} is not left to a back end: use ours")
    if resolve(context, requested.arguments.path).is_dir():
        raise ToolError(f"{requested.arguments.path} is a folder; use list_dir")
