"""`notifications`: what happened on the list of what needs a person, and who answered it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli import following
from lumen_tui.cli.session import Session, say
from lumen_tui.model import times
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import Transition, words_of
from lumen_tui.storage.journal import Follower

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    shown = commands.add(
        "notifications", run_notifications, "What needed you, when, and who answered it.", "notifications --lines 50"
    )
    shown.add_argument("--lines", type=int, default=20, metavar="N", help="how many, the newest last [20]")
    shown.add_argument("--follow", action="store_true", help="go on with what comes, until ctrl+c")
    shown.json()


def run_notifications(session: Session, args: Namespace) -> int:
    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    follower = Follower(session.layout.transitions)
    transitions = following.recent(follower, Transition, args.lines)
    return following.listed(transitions, follower, Transition, _text_line, args, nothing="nothing needed you yet")


def _text_line(transition: Transition) -> None:
    at = times.exact(transition.moment).removesuffix(" UTC")
    need, how = one_line(transition.need), one_line(words_of(transition))
    say(f"{at}  {need:<12} {how:<24} {one_line(transition.text)}".rstrip())
