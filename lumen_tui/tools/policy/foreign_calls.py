"""Calls that a back end makes with a tool of its own: what one of ours would refuse while it runs, asked before."""

from __future__ import annotations

from lumen_tui.tools.base import Context, ToolError
from lumen_tui.tools.files.paths import resolve
from lumen_tui.tools.policy.calls import RequestedCall


def check(context: Context, asked: RequestedCall) -> None:
    """ToolError where the call must not be made."""
    if asked.tool.name != "read_file":
        raise ToolError(f"{asked.tool.name} is not left to a back end: use ours")
    if resolve(context, asked.arguments.path).is_dir():
        raise ToolError(f"{asked.arguments.path} is a folder; use list_dir")
