"""`export`: memory nodes as one Markdown or JSON document."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lumen_tui.actions import cleanup, edits, fields
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model.records import LIFECYCLES, NODE_TYPES
from lumen_tui.model.summary import meta
from lumen_tui.model.text import one_line, safe
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_NOTHING = 3


def declare(commands: CommandGroup) -> None:
    """Add the command of this module."""
    export = commands.add("export", run, "Memory nodes as one document.", "export --wu WU-042 -f markdown")
    export.add_argument("--wu", default="", help="of this work unit")
    export.add_argument(
        "-t", "--type", default="", choices=("", *NODE_TYPES), metavar="TYPE", help=", ".join(NODE_TYPES)
    )
    export.add_argument(
        "-l", "--lifecycle", default="", choices=("", *LIFECYCLES), metavar="LIFECYCLE", help=", ".join(LIFECYCLES)
    )
    export.add_argument("-f", "--format", default="markdown", choices=("markdown", "json"), help="[markdown]")
    export.add_argument("--json", action="store_true", help="as -f json")


def run(session: Session, args: Namespace) -> int:
    wu_id = fields.work_unit(args.wu)
    nodes = [
        node
        for node in newest_nodes(session.layout)
        if edits.status_of(node) != "deleted"
        and (not wu_id or node.get("wu_id") == wu_id)
        and (not args.type or node.get("type") == args.type)
        and (not args.lifecycle or cleanup.lifecycle_of(node) == args.lifecycle)
    ]
    if args.json or args.format == "json":
        document(nodes)
    else:
        _markdown(nodes)
    if not nodes:
        talk("no node fits")
    return 0 if nodes else _NOTHING


def _markdown(nodes: Iterable[Raw]) -> None:
    for node in nodes:
        title = one_line(edits.title_of(node), 120)
        tags = " ".join(f"#{one_line(tag, 60)}" for tag in node.get("tags") or () if isinstance(tag, str))
        facts = [
            str(node["id"]),
            str(node.get("type", "")),
            meta(node, "priority"),
            edits.status_of(node),
            str(node.get("wu_id") or ""),
            str(node.get("created_at", "")),
            str(node.get("created_by") or ""),
        ]
        say(f"## {title}\n\n{' · '.join(one_line(fact, 80) for fact in facts if fact)}{'  ' + tags if tags else ''}\n")
        body = safe(str(node.get("content", ""))).partition("\n")[2].strip()
        if body:
            say(body + "\n")
