"""`checkpoint` and `ready`: a saved point in the work, and the page from which an agent resumes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions import ready
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.sessions import add_author, add_key, add_place, belonging
from lumen_tui.cli.fast import warm
from lumen_tui.cli.session import Session, say, talk
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
    point.add_argument("text", nargs="?", default="", metavar="note", help="what was reached")
    point.add_argument("-n", "--note", default="", help="the same as an option")
    point.add_argument("-p", "--progress", default="", help="such as 50%%")
    point.add_argument("--next-steps", default="", help="what comes next")
    point.add_argument("-t", "--trigger", default="manual", help="what brought it about [manual]")
    point.add_argument("--git-diff-stat", default="", metavar="TEXT", help="instead of git's own answer")
    point.add_argument("-q", "--quiet", action="store_true", help="only the id")
    add_place(point)
    add_key(point, "checkpoint")
    page = commands.add("ready", run_ready, "What a fresh agent needs to go on with a work unit.", "ready --wu WU-042")
    page.add_argument("--wu", default="", help="the work unit [of your open session]")
    page.add_argument(
        "-t", "--type", default="", choices=ready.TYPES, metavar="TYPE", help="only open nodes of this kind, in order"
    )
    page.add_argument("--take", action="store_true", help="take what was handed over; nobody else gets it then")
    page.add_argument("-f", "--format", default="human", choices=("human", "json"), metavar="human|json")
    page.add_argument("--json", action="store_true", help="one JSON document")
    page.add_argument("-q", "--quiet", action="store_true", help="nothing beside the result")
    add_author(page)


def run_checkpoint(session: Session, args: Namespace) -> int:
    if args.text and args.note:
        raise ActionError("the note was given twice: once is enough")
    session_id, wu_id = belonging(session, args)
    done = session.perform(
        SaveCheckpoint(
            note=args.text or args.note,
            wu_id=wu_id,
            session=session_id,
            progress=args.progress,
            next_steps=args.next_steps,
            trigger=args.trigger,
            folder=str(Path.cwd()),
            git_diff_stat=args.git_diff_stat,
            key=args.key,
        ),
        by=args.by,
    )
    say(done.target)
    if not args.quiet:
        talk(done.summary)
    return 0


def run_ready(session: Session, args: Namespace) -> int:
    by = ids.check_label(args.by or session.operator, "operator")
    page = warm.unit_page(session.store, by, args.wu, args.type, session.now)
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
