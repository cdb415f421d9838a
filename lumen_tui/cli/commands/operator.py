"""`operator`: whose word counts as an order, who is here, claims, and the hand-over note."""

from __future__ import annotations

import os
from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.requests.operators import ClaimItems, LeaveNote, ReleaseItems
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
    listing = group.add("here", run_here, "Who has a room open, what is claimed, and the note.", "operator here")
    listing.json()
    group.verb("claim", ClaimItems, "Tell the others that you are at something.", "operator claim tsk-7f2 --for 1h")
    group.verb("release", ReleaseItems, "End a claim.", "operator release tsk-7f2")
    group.verb(
        "note", LeaveNote, "Leave a note for whoever opens the room next.", 'operator note "deploy waits for bo"'
    )


def run_here(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.operators import OperatorsIndex

    with closing(OperatorsIndex(session.layout, session.operator, news=False)) as operators:
        operators.refresh(session.now)
        view = operators.view(session.now)
    if args.json:
        document({"rooms": view.rooms, "claims": [*view.claims.values()], "note": view.note})
        return 0
    rows = [("here", room.operator, room.since, room.origin) for room in view.rooms]
    rows += [("claim", claim.by, times.iso(claim.at), claim.target) for claim in view.claims.values()]
    table(rows)
    if view.note is not None:
        say(f"note from {view.note.by} at {times.stamp(view.note.at)}:\n{view.note.text}")
    elif not rows:
        talk("no room is open, nothing is claimed, and no note was left")
    return 0


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
