"""`context` and `recover`: blocks of text for an agent, within a budget of characters."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import context
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model.requests.sessions import TakeHandoff
from lumen_tui.model.views import ContextBlock

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    block = commands.add(
        "context", run_context, "What an agent should know of a work unit before it starts.", "context --wu WU-042"
    )
    _common(block, context.CONTEXT_SIZE)
    block.add_argument("-l", "--lane", default="", help="project-wide nodes of this lane or of none")
    block.add_argument("--max-recent-summaries", type=int, default=5, metavar="N", help="at most so many [5]")
    block.add_argument("--max-project-nodes", type=int, default=10, metavar="N", help="at most so many [10]")
    after = commands.add("recover", run_recover, "What was going on before a break.", "recover --wu WU-042")
    _common(after, context.RECOVERY_SIZE)


def _common(parser: Parser, size: int) -> None:
    parser.fields(TakeHandoff, "wu_id")
    parser.add_argument("-m", "--max-size", type=int, default=size, metavar="N", help=f"characters at most [{size}]")
    parser.add_argument(
        "-f", "--format", default="human", choices=("human", "json"), metavar="human|json", help="[human]"
    )
    parser.json()
    parser.add_argument("-q", "--quiet", action="store_true", help="no word on what was cut")
    parser.author()


def run_context(session: Session, args: Namespace) -> int:
    block = context.context(
        session.store,
        by=args.by or session.operator,
        now=session.now,
        wu_id=args.wu_id,
        max_size=args.max_size,
        lane=args.lane,
        max_recent_summaries=args.max_recent_summaries,
        max_project_nodes=args.max_project_nodes,
    )
    return _show(block, args)


def run_recover(session: Session, args: Namespace) -> int:
    by = args.by or session.operator
    return _show(context.recover(session.store, by=by, now=session.now, wu_id=args.wu_id, max_size=args.max_size), args)


def _show(block: ContextBlock, args: Namespace) -> int:
    if args.json or args.format == "json":
        document(block)
        return 0
    say(block.text)
    if not args.quiet:
        for cut in block.cut:
            talk(f"cut: {cut.section}: {cut.left_out} ({cut.why})")
    return 0
