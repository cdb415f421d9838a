"""`recall`: what is relevant for a piece of work, with ages."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.search import described, head
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the command of this module."""
    text = "What matters for a work unit, or for some words: its own notes, how such things are done, what is alike."
    recall = commands.add("recall", run_recall, text, "recall WU-042")
    recall.add_argument(
        "work", nargs="*", metavar="WORK", help="a work unit, or words [the work unit of your open session]"
    )
    recall.add_argument("-n", "--limit", type=int, default=6, metavar="N", help="entries of each part [6]")
    recall.json()


def run_recall(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.recalling import briefing

    if not 1 <= args.limit <= 50:
        raise ActionError("--limit needs a number from 1 to 50")
    recalled = briefing(session.store, by=session.operator, now=session.now, work=" ".join(args.work), limit=args.limit)
    if args.json:
        parts = [{"name": part.name, "hits": [described(hit) for hit in part.hits]} for part in recalled.sections]
        document({"work": recalled.work, "title": recalled.title, "sections": parts})
        return 0
    say(one_line(f"{recalled.work}  {recalled.title}" if recalled.work != recalled.title else recalled.title))
    for part in recalled.sections:
        say(f"\n{part.name}")
        for hit in part.hits:
            say(f"  {head(hit, session.now)}")
            say(f"      {''.join(text for text, _ in hit.excerpt)}")
    if not recalled.sections:
        talk("nothing is known of it yet")
    return 0
