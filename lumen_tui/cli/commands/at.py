"""`at`: the room at an earlier moment, from the journals."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say
from lumen_tui.model import past

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the command of this module."""
    text = "The room as it was at an earlier moment, from the journals."
    command = commands.add("at", run, text, 'at "yesterday 18:00" --diff')
    command.add_argument("moment", metavar="MOMENT", help="03:12 (UTC), 'yesterday 18:00', '20m ago', or an ISO date")
    command.add_argument("--diff", action="store_true", help="what appeared, changed and went since")
    command.json()


def run(session: Session, args: Namespace) -> int:
    from lumen_tui.queries.black_box import BlackBox

    now = session.now
    try:
        moment = past.parse_past(args.moment, now)
    except (ValueError, OverflowError) as error:
        raise ActionError(str(error)) from error
    most = past.COMPARED if args.diff or args.json else past.MOST
    with closing(BlackBox(session.root, session.operator)) as box:
        then = past.past_of(box.at(moment, now), most)
        since = past.past_of(box.at(now, now), most) if args.diff else None
    if since is None:
        document({"not_recorded": past.NOT_RECORDED, "panes": then}) if args.json else say(past.text_of(then))
        return 0
    found = past.changes(then, since)
    document({"at": then.at, "changes": found}) if args.json else say(past.changes_text(found))
    return 0
