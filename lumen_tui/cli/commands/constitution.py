"""`constitution`: the principles that evolution cannot change."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import times
from lumen_tui.model.requests.evolution import ApproveConstitution

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_SHIPPED = "this one comes with the program: write your own to {}, then `constitution approve`"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("constitution", "The principles that evolution cannot change.", alone="show")
    group.add("show", run_show, "The current constitution.", "constitution show").json()
    text = "What was changed since it was approved; exit code 1 where something was."
    group.add("diff", run_diff, text, "constitution diff").json()
    text = "Approve evolved/constitution.md as it is now."
    group.verb("approve", ApproveConstitution, text, "constitution approve")


def run_show(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution.constitution import read_constitution

    constitution = read_constitution(session.layout)
    if args.json:
        document(
            {"text": constitution.approved, "by": constitution.by, "at": constitution.at, "problem": constitution.why}
        )
        return 0
    say(constitution.approved.rstrip())
    when = f" {times.ago(session.now - times.epoch(constitution.at))}" if constitution.at else ""
    talk(
        constitution.why
        or (f"approved by {constitution.by}{when}" if constitution.at else _SHIPPED.format(session.layout.constitution))
    )
    return 0


def run_diff(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution.constitution import read_constitution

    constitution = read_constitution(session.layout)
    if args.json:
        document({"diff": constitution.diff, "problem": constitution.why})
    elif constitution.diff:
        say(constitution.diff)
    else:
        talk(constitution.why or "nothing was changed")
    return 1 if constitution.why else 0
