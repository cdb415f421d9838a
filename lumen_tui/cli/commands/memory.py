"""`signal`, `inbox`, `create` with every option; their plain forms are in `lumen_tui.hot`."""

from __future__ import annotations

import os
from argparse import SUPPRESS, Namespace
from typing import TYPE_CHECKING

from lumen_tui import hot
from lumen_tui.actions import places
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.fast import inbox, plain
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, print_id, print_outcome
from lumen_tui.model import ids, times
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import ReadAllSignals, ReadSignals, SendSignal

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_signal(commands)
    _declare_inbox(commands)
    create = commands.verb(
        "create",
        CreateNode,
        "Note something for triage; prints its id.",
        'create "race in session manager" --type bug',
        prints=print_id,
        request=_create,
    )
    create.set_defaults(wu_id=None)  # the empty work unit is none; none given is that of the session
    create.author()


def _declare_signal(commands: CommandGroup) -> None:
    signal = commands.verb(
        "signal",
        SendSignal,
        "Leave a note for the other agents; prints its id.",
        'signal "tests pass" --wu WU-042',
        prints=print_id,
        request=_signal,
    )
    signal.set_defaults(wu_id=None)
    signal.author()


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
    box.add_argument("-l", "--lane", default="", help="about this lane")
    box.add_argument("-c", "--count", action="store_true", help="only how many; marks nothing")
    box.add_argument("--no-mark", action="store_true", help="show without marking as read")
    marks = box.add_mutually_exclusive_group()
    box.fields(ReadSignals, into=marks, required=False)
    marks.add_argument("--read-all", action="store_true", help="mark all as read, and show nothing")
    box.add_argument("-w", "--watch", action="store_true", help="follow until interrupted")
    box.json()


def _signal(session: Session, args: Namespace) -> SendSignal:
    lane = places.lane_at(session.root, args.lane)
    return request_of(SendSignal, args, lane=lane, **_where(session, args))


def _create(session: Session, args: Namespace) -> CreateNode:
    return request_of(CreateNode, args, **_where(session, args))


def _where(session: Session, args: Namespace) -> dict[str, str]:
    """Return the session and the work unit of a record, which may be none, by the names of its fields."""
    session_id, wu_id = hot.belongs(str(session.root), args.session_id, args.wu_id, os.environ)
    place = places.of_note(session.root, by=args.by or session.operator, wu_id=wu_id, session=session_id)
    return {"session_id": place.session_id, "wu_id": place.wu_id}


def run_inbox(session: Session, args: Namespace) -> int:
    if args.words:
        raise ActionError("inbox takes options only: what it shows is read then, with --no-mark it is not")
    if args.signal_ids or args.read_all:
        marked = ReadSignals(signal_ids=args.signal_ids) if args.signal_ids else ReadAllSignals()
        return print_outcome(session.perform(marked, by=args.reader), as_json=args.json)
    options = inbox.InboxOptions()
    reader = args.reader or plain.reader_name(str(session.root), session.operator, os.environ)
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
