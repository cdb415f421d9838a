"""`archive`, `unarchive`, `pin`, `touch`, `delete`, `promote`: single memory nodes by hand."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from lumen_tui.actions import nodes
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.memory import (
    ArchiveNodes,
    DeleteNodes,
    PinNodes,
    PromoteNodes,
    TouchNodes,
    UnarchiveNodes,
)
from lumen_tui.model.text import one_line

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_PLAIN: tuple[tuple[str, Callable[[Namespace], Request], str, str], ...] = (
    (
        "archive", lambda args: ArchiveNodes(node_ids=args.ids, reason=args.reason),
        "Put nodes away; unarchive or undo brings them back.", "archive mem-7f2 -r duplicate",
    ),
    (
        "unarchive", lambda args: UnarchiveNodes(node_ids=args.ids),
        "Bring archived nodes back; their age counts from now.", "unarchive mem-7f2",
    ),
    (
        "pin", lambda args: PinNodes(node_ids=args.ids, pinned=not args.off), "Keep nodes from ever fading.",
        "pin mem-7f2",
    ),
    ("touch", lambda args: TouchNodes(node_ids=args.ids), "Let the age of nodes count from now.", "touch mem-7f2"),
)  # fmt: skip


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    for name, request, text, example in _PLAIN:
        command = commands.add(name, run_plain, text, example)
        command.add_argument("ids", nargs="+", metavar="ID")
        command.set_defaults(request=request)
        if name == "archive":
            command.add_argument("-r", "--reason", default="", help="why")
        if name == "pin":
            command.add_argument("--off", action="store_true", help="let them fade again")
    _declare_delete(commands)
    _declare_promote(commands)


def _declare_delete(commands: CommandGroup) -> None:
    delete = commands.add(
        "delete", run_delete, "Mark nodes as deleted; undo brings them back.", "delete --tag scratch --older-than 7d"
    )
    delete.add_argument("ids", nargs="*", metavar="ID")
    delete.add_argument("--tag", default="", help="all with this tag that are not protected")
    delete.add_argument(
        "--older-than", default="", metavar="AGE", help="all untouched for so long, such as 12h, 7d, 2w"
    )
    delete.add_argument("--dry-run", action="store_true", help="only look")
    delete.add_argument("--json", action="store_true", help="one JSON document")


def _declare_promote(commands: CommandGroup) -> None:
    tags = ", ".join(nodes.TAGS)
    promote = commands.add(
        "promote", run_promote, "Keep what a node says for the whole project.", "promote mem-7f2 --tag pattern"
    )
    promote.add_argument("ids", nargs="*", metavar="ID")
    promote.add_argument("--wu", default="", help="the summaries of this work unit instead of nodes")
    promote.add_argument("-t", "--tag", required=True, help=tags)
    promote.add_argument("--dry-run", action="store_true", help="only look")
    promote.add_argument("--json", action="store_true", help="one JSON document")


def run_plain(session: Session, args: Namespace) -> int:
    say(session.perform(args.request(args)).summary)
    return 0


def run_delete(session: Session, args: Namespace) -> int:
    request = DeleteNodes(node_ids=args.ids, tag=args.tag, older_than=args.older_than)
    try:
        chosen, spared = nodes.plan_delete(session.store, request, now=session.now)
    except ValueError as error:
        raise ActionError(str(error)) from error
    done = None if args.dry_run else session.perform(request)
    rows = [(str(node["id"]), str(node.get("type", "")), str(node.get("content", ""))) for node in chosen]
    if args.json:
        chosen_nodes = [{"id": row[0], "type": row[1], "title": row[2].partition("\n")[0]} for row in rows]
        document({"dry_run": args.dry_run, "nodes": chosen_nodes, "protected": spared, **_action_field(done)})
        return 0
    if done is None:
        table([(row[0], row[1], one_line(row[2], 100)) for row in rows])
    say(done.summary if done else f"{len(rows)} would be deleted")
    if spared:
        talk(f"{spared} protected node(s) stay: name them by id to delete them")
    return 0


def _action_field(done: Done | None) -> dict[str, str]:
    """Return the action id, with which a program can undo it."""
    return {"action_id": done.action_id} if done else {}


def run_promote(session: Session, args: Namespace) -> int:
    nodes.check_tag(args.tag)
    node_ids = nodes.sources(session.store, args.ids, args.wu)
    done = None if args.dry_run else session.perform(PromoteNodes(tag=args.tag, node_ids=node_ids))
    if args.json:
        created = {"id": done.target if done else ""}
        document({"dry_run": args.dry_run, "from": node_ids, "tag": args.tag, **created, **_action_field(done)})
        return 0
    say(done.target if done else f"would be kept as {args.tag}: {', '.join(node_ids)}")
    if done:
        talk(done.summary)
    return 0
