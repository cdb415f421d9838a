"""`mcp`, `acp`, `serve`: servers for other programs, on stdin and stdout or over HTTP.

Plain `mcp` and `acp` are in `lumen_tui.hot`.
"""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui import crashes
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session
from lumen_tui.model import extras
from lumen_tui.model.access import HTTP_PORT, READS, Scope

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    mcp = "Serve the agent to an editor or another agent: MCP on stdin and stdout."
    acp = "Let an editor give tasks and answer approvals: ACP on stdin and stdout."
    _declare_program(commands.add("mcp", run_mcp, mcp, "mcp --scope read"))
    _declare_program(commands.add("acp", run_acp, acp, "acp --scope read --scope act --scope approve"))
    _declare_serve(commands)


def _declare_program(command: Parser) -> None:
    """Add what is asked of a server on its own pipes: who the program is and what it may do."""
    command.add_argument(
        "--scope",
        action="append",
        choices=tuple(Scope),
        metavar="SCOPE",
        help=f"what the program may do: {', '.join(Scope)}; may be repeated [read and act]",
    )
    command.add_argument("--name", default="", help="what journals call the program [what it calls itself]")


def _declare_serve(commands: CommandGroup) -> None:
    text = "Serve the agent over HTTP to programs with a token (`access add`): REST, events, MCP, figures."
    serve = commands.add("serve", run_serve, text, "serve --port 8740")
    serve.add_argument("--address", default="127.0.0.1", help="an address or name of this machine [127.0.0.1]")
    serve.add_argument("--port", type=int, default=HTTP_PORT, metavar="N", help=f"0 for a free one [{HTTP_PORT}]")
    serve.add_argument("--cert", default="", metavar="FILE", help="a certificate in PEM, with its chain: serve HTTPS")
    serve.add_argument("--key", default="", metavar="FILE", help="its key, where that is a file of its own")
    serve.add_argument("--insecure", action="store_true", help="other machines may come without HTTPS")
    serve.add_argument(
        "--name", action="append", default=[], metavar="HOST", help="a name by which clients ask; may be repeated"
    )
    serve.add_argument("--limit", type=int, default=READS, metavar="N", help=f"reads a second, of a token [{READS}]")


def run_mcp(session: Session, args: Namespace) -> int:
    return _run_on_pipes("mcp", session, args)


def run_acp(session: Session, args: Namespace) -> int:
    return _run_on_pipes("acp", session, args)


def _run_on_pipes(kind: str, session: Session, args: Namespace) -> int:
    from lumen_tui.servers import pipes

    return pipes.serve(kind, os.fspath(session.root), args.name, args.scope or ())


def run_serve(session: Session, args: Namespace) -> int:
    try:
        from lumen_tui.servers.http.serving import Listening, serve
    except ImportError as error:
        raise ActionError(extras.missing("serving", error.name, "http")) from error
    if not 0 <= args.port <= 65535 or args.limit < 1:
        raise ActionError("--port is a number up to 65535, and --limit at least 1")
    listening = Listening(
        address=args.address,
        port=args.port,
        certificate=args.cert,
        key=args.key,
        insecure=args.insecure,
        names=tuple(args.name),
        reads=float(args.limit),
    )
    crashes.watch_threads()
    return serve(session.root, listening, lambda text: print(text, flush=True))
