"""`triage`: open discoveries, and what becomes of them."""

from __future__ import annotations

from argparse import Namespace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lumen_tui.cli.session import Session, document, table, talk, told
from lumen_tui.engine.actions import fields, places
from lumen_tui.engine.outcome import ActionError, Done
from lumen_tui.model import times
from lumen_tui.model.snapshot import DiscoveryRow
from lumen_tui.store.memory.nodeindex import NodeIndex

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Group


def declare(commands: Group) -> None:
    """The commands of this module."""
    triage = commands.add(
        "triage", run, "Open discoveries by priority, or the judgement of some.",
        'triage --promote mem-7f2 --lane "Framework: Core"',
    )  # fmt: skip
    what = triage.add_mutually_exclusive_group()
    what.add_argument("--promote", nargs="+", metavar="ID", help="make a work unit of each (with --lane)")
    what.add_argument("--archive", nargs="+", metavar="ID", help="close them (with --reason)")
    what.add_argument("--keep", nargs="+", metavar="ID", help="list them again later (with --days)")
    what.add_argument("--merge", nargs="+", metavar="ID", help="close them in favour of another (with --into)")
    what.add_argument("--list", action="store_true", help="list them, as without a word")
    what.add_argument("--undo", action="store_true", help="take back your last action")
    triage.add_argument(
        "-l", "--lane", default="", help="where the new work unit goes; of a listing: found on this lane"
    )
    triage.add_argument("--title", default="", help="of the new work unit [the first line]")
    triage.add_argument("--wu-id", default="", help="of the new work unit [the next free number]")
    triage.add_argument("-r", "--reason", default="", help="why it is closed")
    triage.add_argument("--days", type=float, default=7.0, help="how long to keep [7]")
    triage.add_argument("--into", default="", metavar="ID", help="the discovery that stays")
    triage.add_argument("--wu", default="", help="list: of this work unit, or `unlinked`")
    triage.add_argument("--tag", default="", help="list: with this tag")
    triage.add_argument("-p", "--priority", default="", help="list: of this priority")
    triage.add_argument("--limit", type=int, default=100, help="list: at most so many [100]")
    triage.add_argument("--all", action="store_true", help="list: without a limit")
    triage.add_argument("--json", action="store_true", help="one JSON document")


def run(session: Session, args: Namespace) -> int:
    if done := _judge(session, args):
        return told(done, as_json=args.json)
    rows, more = _open(session, args)
    if args.json:
        document([msgspec.to_builtins(row.node) for row in rows])
        return 0
    table([_row(row, session.now) for row in rows])
    if more:
        talk("more were left out: --limit N or --all")
    if not rows:
        talk("nothing to triage")
    return 0


def _judge(session: Session, args: Namespace) -> Done | None:
    if args.promote:
        if not args.lane:
            raise ActionError("--promote needs --lane: the stream of work it goes to")
        given = {"lane": args.lane, "title": args.title, "wu_id": args.wu_id}
        return session.perform("triage.promote", node_ids=args.promote, **given)
    if args.archive:
        return session.perform("triage.archive", node_ids=args.archive, reason=args.reason)
    if args.keep:
        return session.perform("triage.keep", node_ids=args.keep, days=args.days)
    if args.merge:
        if not args.into:
            raise ActionError("--merge needs --into: the discovery that stays")
        return session.perform("triage.merge", node_ids=args.merge, into=args.into)
    return session.perform("undo") if args.undo else None


def _open(session: Session, args: Namespace) -> tuple[list[DiscoveryRow], bool]:
    """The rows to show, and whether there are more."""
    if args.limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    index = NodeIndex(session.layout)
    while index.refresh():
        pass
    unlinked = args.wu == "unlinked"
    wanted = {"wu_id": "" if unlinked else _known(session, args.wu), "priority": fields.priority(args.priority)}
    every = index.discoveries(session.now)
    limit = len(every) if args.all else args.limit
    fitting = (row for row in every if _fits(row, wanted, args.tag, unlinked))
    found = list(islice(fitting, limit + 1))
    return found[:limit], len(found) > limit


def _known(session: Session, wu_id: str) -> str:
    return places.work_at(session.root, wu_id) if wu_id else ""


def _fits(row: DiscoveryRow, wanted: dict[str, Any], tag: str, unlinked: bool) -> bool:
    if unlinked and row.node.wu_id:
        return False
    if tag and tag not in row.node.tags:
        return False
    return all(not value or getattr(row.node, name) == value for name, value in wanted.items())


def _row(row: DiscoveryRow, now: float) -> tuple[str, ...]:
    node = row.node
    tags = " ".join(f"#{tag}" for tag in node.tags)
    return node.id, node.priority or "-", node.wu_id or "-", times.age(now - row.created), f"{node.title}  {tags}"
