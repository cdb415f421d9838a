"""`operator show | token`: whether what is asked here is the operator's word, and a token where it is not."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import times
from lumen_tui.storage import origin

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_LONGEST = 7 * 86_400.0  # seconds


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    from lumen_tui.cli.parser import seconds_of

    group = commands.group("operator", "Whose word counts as an order.", alone="show")
    show = group.add("show", run_show, "Whether a command from here is the operator's; exit code 1.", "operator show")
    show.json()
    text = "A token with which one command without a terminal is the operator's."
    token = group.add("token", run_token, text, "operator token --for 1h")
    token.add_argument("--for", dest="seconds", type=seconds_of, default=600.0, metavar="TIME", help="how long [10m]")
    token.json()


def run_show(session: Session, args: Namespace) -> int:
    reason = origin.no_operator(os.environ)
    if args.json:
        document({"operator": not reason, "name": session.operator, "why": reason})
    else:
        say(
            f"no: {reason}"
            if reason
            else f"yes: what you ask from here is an order of the operator, {session.operator}"
        )
    return 1 if reason else 0


def run_token(session: Session, args: Namespace) -> int:
    from lumen_tui.store.settings import tokens

    if reason := origin.no_operator(os.environ):
        raise ActionError(f"only the operator makes tokens, at a terminal or in the room: {reason}")
    if not 1 <= args.seconds <= _LONGEST:
        raise ActionError("a token is valid for 1 second to 7 days")
    session.make_sure()
    made = tokens.make(session.layout, by=session.operator, now=session.now, seconds=args.seconds)
    document({"token": made, "seconds": args.seconds}) if args.json else say(made)
    talk(f"valid once, for {times.span(args.seconds)}: {origin.TOKEN}=… lumen-tui signal TEXT")
    return 0
