"""Tools that a back end brings along: what it may call by itself, and how such a call is judged."""

from __future__ import annotations

import msgspec

from lumen_tui.model.text import one_line
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult
from lumen_tui.tools.files.paths import resolve
from lumen_tui.tools.policy.verdict import RequestedCall

_RISK = "It is a tool of the back end's own set-up, whose program is not ours."


def adopted_tool(name: str, *, asks: bool) -> Tool[dict[str, object]]:
    """Return a tool of the back end as the toolbox has it: it can be judged and asked about, and is never run here."""

    def run(context: Context, arguments: dict[str, object]) -> ToolResult:
        raise ToolError(f"{name} is the back end's own: it is not called through us")

    return Tool(
        name=name,
        description=_RISK,
        arguments=None,
        run=run,
        describe=lambda arguments: f"{name} {one_line(msgspec.json.encode(arguments).decode(), 160)}",
        target=lambda context, arguments: msgspec.json.encode(arguments, order="deterministic").decode(),
        risk=_RISK if asks else "",
        effect=Effect.CHANGES if asks else Effect.NONE,
        schema={"type": "object", "properties": {}, "required": [], "additionalProperties": True},
    )


def check_foreign(context: Context, requested: RequestedCall) -> None:
    """Raise ToolError where a back end must not make this call with a tool of its own."""
    if requested.tool.description == _RISK:
        return
    if requested.tool.name != "read_file":
        raise ToolError(f"{requested.tool.name} is not left to a back end: use ours")
    path = str(requested.canonical["path"])
    if resolve(context, path).is_dir():
        raise ToolError(f"{path} is a folder; use list_dir")
