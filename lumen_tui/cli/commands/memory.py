"""`signal`, `inbox`, `create` with every option; their plain forms are in `cli.fast.hot`."""

from __future__ import annotations

import os
from argparse import SUPPRESS, Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import fields, places
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.places import Place
from lumen_tui.cli.fast import inbox, light
from lumen_tui.cli.session import Session, print_id
from lumen_tui.model import ids, times
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_signal(commands)
    _declare_inbox(commands)
    create = commands.add(
        "create", run_create, "Note something for triage; prints its id.", 'create "race in session manager" --type bug'
    )
    create.add_argument("content", help="what was noticed, the title first")
    kinds = (*fields.LIFECYCLES, *fields.ALIASES)
    create.add_argument("--type", default="discovery", choices=kinds, metavar="TYPE", help=f"{', '.join(kinds)}")
    create.add_argument("--tags", default="", help="words with commas between them")
    create.add_argument("-p", "--priority", default="", help="P0 to P3")
    create.add_argument(
        "--wu", default=None, help="the work unit it was noticed on, or `none` [of your open session, if there is one]"
    )
    create.add_argument("-s", "--session", default="", metavar="ID", help="the session [$LUMEN_SESSION, else yours]")
    create.add_argument("--discovered-from", default="", metavar="ID", help="the node that led to it")
    create.add_argument("--from", dest="by", default="", help="who says so [you]")
    create.add_argument("--key", default="", help="the same key makes the same note, however often it is asked for")


def _declare_signal(commands: CommandGroup) -> None:
    signal = commands.add(
        "signal", run_signal, "Leave a note for the other agents; prints its id.", 'signal "tests pass" --wu WU-042'
    )
    signal.add_argument("message")
    signal.add_argument("--to", default="", help="the agent it is meant for; everybody can read it")
    signal.add_argument("--wu", default=None, help="the work unit it is about, or `none` [of your open session]")
    signal.add_argument("-l", "--lane", default="", help="[of the work unit]")
    signal.add_argument("-p", "--priority", default="", help="P0 (needs a person) to P3")
    signal.add_argument("--type", default="coordination")
    signal.add_argument("--from", dest="by", default="", help="who says so [you]")
    signal.add_argument("--key", default="", help="the same key sends one signal, however often it is asked for")
    signal.add_argument("-s", "--session", default="", metavar="ID", help="the session [$LUMEN_SESSION, else yours]")
    signal.add_argument("--reply-to", default="", metavar="ID", help="the signal it answers")


def _declare_inbox(commands: CommandGroup) -> None:
    box = commands.add(
        "inbox", run_inbox, "What you have not read, newest first; it is read then.", "inbox --wu WU-042"
    )
    box.add_argument("words", nargs="*", help=SUPPRESS)  # refused in words of their own
    box.add_argument("--reader", default="", help="whose inbox [that of your session, without one yours]")
    box.add_argument("--limit", type=int, default=inbox.LIMIT, help=f"at most so many [{inbox.LIMIT}]")
    box.add_argument("--all", action="store_true", help="without a limit")
    box.add_argument("--since", default="", help="an age (2h, 3d) or a date")
    box.add_argument("--wu", default="", help="about this work unit")
    box.add_argument("-l", "--lane", default="")
    box.add_argument("-c", "--count", action="store_true", help="only how many; marks nothing")
    box.add_argument("--no-mark", action="store_true", help="show without marking as read")
    box.add_argument("-w", "--watch", action="store_true", help="go on until interrupted")
    box.add_argument("--json", action="store_true", help="one JSON document")


def run_signal(session: Session, args: Namespace) -> int:
    where = _where(session, args)
    lane = places.lane_at(session.root, args.lane)
    done = session.perform(
        SendSignal(
            message=args.message,
            to=args.to,
            wu_id=where.wu_id,
            lane=lane,
            priority=args.priority,
            type=args.type,
            reply_to=args.reply_to,
            key=args.key,
            session_id=where.session_id,
        ),
        by=args.by,
    )
    return print_id(done)


def _where(session: Session, args: Namespace) -> Place:
    """Return the session and the work unit of a record, which may be none."""
    session_id, wu_id = light.belongs(str(session.root), args.session, args.wu, os.environ)
    return places.of_note(session.root, by=args.by or session.operator, wu_id=wu_id, session=session_id)


def run_create(session: Session, args: Namespace) -> int:
    where = _where(session, args)
    done = session.perform(
        CreateNode(
            content=args.content,
            type=args.type,
            priority=args.priority,
            wu_id=where.wu_id,
            tags=[tag.strip() for tag in args.tags.split(",")],
            discovered_from=args.discovered_from,
            session_id=where.session_id,
            key=args.key,
        ),
        by=args.by,
    )
    return print_id(done)


def run_inbox(session: Session, args: Namespace) -> int:
    if args.words:
        raise ActionError("inbox takes options only: what it shows is read then, with --no-mark it is not")
    options = inbox.InboxOptions()
    reader = args.reader or light.reader(str(session.root), session.operator, os.environ)
    options.reader = ids.check_label(reader, "reader")
    if args.limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    options.limit = inbox.EVERYTHING if args.all else args.limit
    options.since = _moment(args.since, session.now) if args.since else 0.0
    options.wu_id = places.work_at(session.root, args.wu) if args.wu else ""
    options.lane = places.lane_at(session.root, args.lane)
    options.count = args.count
    options.no_mark = args.no_mark
    options.as_json = args.json
    if args.watch:
        return inbox.watch(str(session.root), options)
    inbox.show(str(session.root), options, session.now)
    return 0


def _moment(text: str, now: float) -> float:
    """Return seconds since 1970 of an age before `now` or of a date. Raise ActionError."""
    try:
        return times.moment(text, now)
    except (ValueError, OverflowError):
        raise ActionError(f"--since {text!r} is neither an age such as 2h nor a date such as 2026-01-31") from None
