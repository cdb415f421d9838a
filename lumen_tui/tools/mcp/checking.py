"""Asks an MCP server what it offers, outside of any task: for a person who wants to accept it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.toolservers import ServerTools, ToolServer, server_fault
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Context, TaskRules, ToolError
from lumen_tui.tools.mcp.messages import ServerFailed
from lumen_tui.tools.mcp.servers import RunningServer
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.shell import background


def look_at(
    store: Store, name: str, server: ToolServer, *, now: float, environ: Mapping[str, str], note: Callable[[str], None]
) -> ServerTools:
    """Start the server, or connect to it, and return what it declares, which is kept. ToolError where that fails.

    It runs in the sandbox with no more than reading, and the network where its settings say that it needs it. Without a
    sandbox it runs all the same: a person asked for it.
    """
    if fault := server_fault(name, server):
        raise ToolError(fault)
    rules = TaskRules(shell="any", network=server.network)  # noqa: S604 - a right, no call
    context = Context(
        role=Role(name="check", purpose="", shell="any", network=server.network),  # noqa: S604
        spec=Spec(id="check", objective=""),
        store=store,
        folder=store.layout.custom_tools,  # of the state folder a command sees this, and nothing is written there
        now=lambda: now,
        monotonic=time.monotonic,
        redact=redactor(environ),
        environ=environ,
        progress=note,
        ask=_yes,
        rules=rules,
    )
    running: RunningServer | None = None
    try:
        running = RunningServer(context, name, server, None)
        running.connect(context)
    except ServerFailed as error:
        raise ToolError(running.masked(str(error)) if running else str(error)) from error
    finally:
        if running is not None:
            running.close(context)
        background.stop_all(context)
    return running.seen


def _yes(request: ApprovalRequest) -> ApprovalReply:
    return ApprovalReply(allowed=True, reason="a person asked for it")
