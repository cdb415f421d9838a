"""`mcp`: a server for other programs, on stdin and stdout. The plain form is in `cli.fast.hot`."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.cli.session import Session
from lumen_tui.model.access import Scope

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    mcp = commands.add(
        "mcp", run_mcp, "Serve the agent to an editor or another agent: MCP on stdin and stdout.", "mcp --scope read"
    )
    mcp.add_argument(
        "--scope",
        action="append",
        choices=tuple(Scope),
        metavar="SCOPE",
        help=f"what the program may do: {', '.join(Scope)}; may be repeated [read and act]",
    )
    mcp.add_argument("--name", default="", help="what journals call the program [what it calls itself]")


def run_mcp(session: Session, args: Namespace) -> int:
    from lumen_tui.servers import pipes

    return pipes.mcp(os.fspath(session.root), args.name, args.scope or ())
