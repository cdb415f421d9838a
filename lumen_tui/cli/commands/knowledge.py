"""`profile` and `index`: the project-wide nodes, and the project's documents taken in as such."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lumen_tui.actions import knowledge
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model.requests.memory import IndexProject
from lumen_tui.model.text import safe

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    known = commands.add(
        "profile", run_profile, "What the project knows, the most used first.", "profile --tag pattern"
    )
    known.add_argument("-l", "--limit", type=int, default=20, metavar="N", help="at most so many [20]")
    known.add_argument("-t", "--tag", default="", help="only with this tag")
    known.add_argument("--raw", action="store_true", help="only what the nodes say")
    known.json()
    index = commands.add("index", run_index, "Take README and the like in as project-wide nodes.", "index --dry-run")
    index.fields(IndexProject, nargs="?", default="")
    index.add_argument("-n", "--dry-run", action="store_true", help="only look")
    index.json()


def run_profile(session: Session, args: Namespace) -> int:
    nodes = knowledge.profile(session.store, limit=args.limit, tag=args.tag)
    if args.json:
        document(nodes)
    elif args.raw:
        for node in nodes:
            say(safe(node.content) + "\n")
    else:
        table(
            [(node.id, f"{node.uses} uses", node.last_used[:10], " ".join(node.tags), node.content) for node in nodes]
        )
    if not nodes:
        talk("nothing is kept for the whole project; `promote ID --tag pattern` keeps something")
    return 0 if nodes else 3


def run_index(session: Session, args: Namespace) -> int:
    return index_folder(session, args.folder or str(Path.cwd()), args)


def index_folder(session: Session, folder: str, args: Namespace) -> int:
    """Take the documents of a folder in as project-wide nodes, or list what would be; return the exit code."""
    documents = knowledge.documents(session.store, folder)
    fresh = any(file.state != "unchanged" for file in documents)
    done = session.perform(IndexProject(folder=folder)) if fresh and not args.dry_run else None
    if args.json:
        document({"dry_run": args.dry_run, "documents": documents, "action_id": done.action_id if done else ""})
        return 0
    table([(file.name, file.state, file.node_id) for file in documents])
    if done:
        talk(done.summary)
    return 0
