"""Asks an MCP server what it offers, outside of any task: for a person who wants to accept it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.toolservers import ServerTools, ToolServer, server_fault
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Context, ToolError
from lumen_tui.tools.mcp.messages import ServerFailed
from lumen_tui.tools.mcp.servers import RunningServer
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.policy.rules import derive
from lumen_tui.tools.shell import background


def inspect_server(
    store: Store, name: str, server: ToolServer, *, now: float, environ: Mapping[str, str], note: Callable[[str], None]
) -> ServerTools:
    """Start the server, or connect to it, and return what it declares, which is kept. ToolError where that fails.

    It runs in the sandbox with the rights that its settings name, since some write or connect before they answer, and
    in a folder of its own that is gone afterwards. Without a sandbox it runs all the same: a person asked for it.
    """
    if fault := server_fault(name, server):
        raise ToolError(fault)
    with tempfile.TemporaryDirectory(prefix="lumen-tool-check-") as folder:
        context = _context(store, server, Path(folder), now=now, environ=environ, note=note)
        return _declared(context, name, server)


def _context(
    store: Store,
    server: ToolServer,
    folder: Path,
    *,
    now: float,
    environ: Mapping[str, str],
    note: Callable[[str], None],
) -> Context:
    role = Role(name="check", purpose="", shell="any", write=server.writes, network=server.network)  # noqa: S604
    spec = Spec(id="check", objective="")
    return Context(
        role=role,
        spec=spec,
        store=store,
        folder=folder,
        now=lambda: now,
        monotonic=time.monotonic,
        redact=redactor(environ),
        environ=environ,
        progress=note,
        ask=_yes,
        rules=derive(role, spec),
    )


def _declared(context: Context, name: str, server: ToolServer) -> ServerTools:
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
