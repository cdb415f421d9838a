"""`why`: what caused one thing and what came of it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.refusal import ambiguous
from lumen_tui.cli.session import Session, document, say
from lumen_tui.model import lineage as shape
from lumen_tui.store.memory.nodes import Ambiguous

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_WHAT = (
    "a task, loop, signal, node, note of the archive, text of a relay, approval, packet, work unit, role or what was "
    "learnt (evo-…); a unique beginning will do"
)


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    command = commands.add(
        "why", run_why, "What caused something and what came of it, with tokens and cost.", "why mem-7f2"
    )
    command.add_argument("id", metavar="ID", help=_WHAT)
    command.json()


def run_why(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.lineage.trace import trace

    try:
        tree = trace(session.layout, args.id, session.now)
    except Ambiguous as error:
        raise ambiguous(args.id, error.candidates) from error
    except LookupError:
        raise ActionError(f"there is nothing with the id {args.id!r}", missing=True) from None
    if not tree.node.kind:
        raise ActionError(f"there is nothing with the id {args.id!r}", missing=True)
    if args.json:
        document(tree)
        return 0
    for line in shape.lines(tree):
        say(line)
    return 0
