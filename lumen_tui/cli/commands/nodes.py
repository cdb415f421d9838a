"""`archive`, `unarchive`, `pin`, `touch`, `delete`, `promote`: single memory nodes by hand."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import nodes
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, say, table, talk
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
    from lumen_tui.cli.parser import CommandGroup, Parser


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    commands.verb(
        "archive", ArchiveNodes, "Put nodes away; unarchive or undo brings them back.", "archive mem-7f2 -r duplicate"
    )
    commands.verb(
        "unarchive", UnarchiveNodes, "Bring archived nodes back; their age counts from now.", "unarchive mem-7f2"
    )
    commands.verb("pin", PinNodes, "Keep nodes from ever decaying.", "pin mem-7f2")
    commands.verb("touch", TouchNodes, "Let the age of nodes count from now.", "touch mem-7f2")
    delete = commands.add(
        "delete", run_delete, "Mark nodes as deleted; undo brings them back.", "delete --tag scratch --older-than 7d"
    )
    delete.fields(DeleteNodes)
    _declare_preview(delete)
    promote = commands.add(
        "promote", run_promote, "Keep what a node says for the whole project.", "promote mem-7f2 --tag pattern"
    )
    promote.fields(PromoteNodes)
    _declare_preview(promote)


def _declare_preview(command: Parser) -> None:
    command.add_argument("--dry-run", action="store_true", help="only look")
    command.json()


def run_delete(session: Session, args: Namespace) -> int:
    request = request_of(DeleteNodes, args)
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
    node_ids = nodes.sources(session.store, args.node_ids, args.wu_id)
    done = None if args.dry_run else session.perform(PromoteNodes(tag=args.tag, node_ids=node_ids))
    if args.json:
        created = {"id": done.target if done else ""}
        document({"dry_run": args.dry_run, "from": node_ids, "tag": args.tag, **created, **_action_field(done)})
        return 0
    say(done.target if done else f"would be kept as {args.tag}: {', '.join(node_ids)}")
    if done:
        talk(done.summary)
    return 0
