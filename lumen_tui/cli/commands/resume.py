"""`checkpoint` and `ready`: a saved point in the work, and the page from which an agent resumes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions import ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.sessions import belonging
from lumen_tui.cli.fast import warm
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, print_id, print_id_and_outcome, talk
from lumen_tui.model import ids
from lumen_tui.model.requests.sessions import SaveCheckpoint, TakeHandoff

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    point = commands.add(
        "checkpoint",
        run_checkpoint,
        "Save a point in the work with what changed; prints its id.",
        'checkpoint "tests written" --progress 50% --next-steps "integration"',
    )
    point.add_argument("text", nargs="?", default="", metavar="NOTE", help="what was reached")
    point.fields(SaveCheckpoint)
    point.add_argument("-q", "--quiet", action="store_true", help="only the id")
    page = commands.add("ready", run_ready, "What a fresh agent needs to go on with a work unit.", "ready --wu WU-042")
    page.fields(TakeHandoff, "wu_id")
    page.add_argument(
        "-t", "--type", default="", choices=ready.TYPES, metavar="TYPE", help="only open nodes of this kind, in order"
    )
    page.add_argument("--take", action="store_true", help="take what was handed over; nobody else gets it then")
    page.add_argument(
        "-f", "--format", default="human", choices=("human", "json"), metavar="human|json", help="[human]"
    )
    page.add_argument("-q", "--quiet", action="store_true", help="nothing beside the result")
    for command in (point, page):
        command.json()
        command.author()


def run_checkpoint(session: Session, args: Namespace) -> int:
    if args.text and args.note:
        raise ActionError("the note was given twice: once is enough")
    request = request_of(
        SaveCheckpoint, args, note=args.text or args.note, folder=str(Path.cwd()), **belonging(session, args)
    )
    done = session.perform(request, by=args.by)
    prints = print_id if args.quiet else print_id_and_outcome
    return prints(done, as_json=args.json)


def run_ready(session: Session, args: Namespace) -> int:
    by = ids.check_label(args.by or session.operator, "operator")
    page = warm.unit_page(session.store, by, args.wu_id, args.type, session.now)
    if args.take:
        _take(session, by, page.wu_id, args.quiet)
        page = ready.page(session.store, by=by, now=session.now, wu_id=page.wu_id, type=args.type)
    warm.show(page, args.type, as_json=args.json or args.format == "json")
    return 0


def _take(session: Session, by: str, wu_id: str, quiet: bool) -> None:
    """Take the hand-off, if there is one."""
    try:
        summary = session.perform(TakeHandoff(wu_id=wu_id), by=by).summary
    except ActionError as error:
        if not error.missing:
            raise
        summary = str(error)
    if not quiet:
        talk(summary)
