"""What is known for good: the archive (`archive insert` ...), `recall`, `profile` and `index`."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui import hot
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.search import declare_filters, head, run_search
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, by_agent, document, read_text, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.archive import KINDS, Passage
from lumen_tui.model.requests.memory import IndexProject, InsertPassage, WithdrawPassage
from lumen_tui.model.searching import described
from lumen_tui.model.text import one_line, safe
from lumen_tui.store.memory import archive

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_archive(commands)
    _declare_recall(commands)
    _declare_knowledge(commands)


def _declare_knowledge(commands: CommandGroup) -> None:
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
    from lumen_tui.actions import knowledge  # loads what `recall` has no use for

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
        talk("nothing is kept for the whole project yet; `promote ID --tag pattern` adds something")
    return 0 if nodes else 3


def run_index(session: Session, args: Namespace) -> int:
    return index_folder(session, args.folder or str(Path.cwd()), args)


def index_folder(session: Session, folder: str, args: Namespace) -> int:
    """Take the documents of a folder in as project-wide nodes, or list what would be; return the exit code."""
    from lumen_tui.actions import knowledge

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


def _declare_archive(commands: CommandGroup) -> None:
    insert = commands.add(
        "archive-insert",
        run_archive_insert,
        "`archive insert`: keep a note for good; prints its id.",
        'archive insert "Restart nginx after the certificate" --kind procedural --tag nginx',
    )
    insert.fields(InsertPassage)
    insert.json()
    listing = commands.add(
        "archive-list", run_archive_list, "`archive list`: the notes, the newest first.", "archive list"
    )
    listing.add_argument("--kind", default="", choices=("", *KINDS), metavar="KIND", help=f"only {', '.join(KINDS)}")
    listing.add_argument("-t", "--tag", default="", help="only with this tag")
    listing.add_argument("-n", "--limit", type=int, default=50, metavar="N", help="at most so many [50]")
    listing.json()
    text = "`archive search`: find notes; the best first, each with why."
    search = commands.add("archive-search", run_search, text, "archive search certificate --since 30d")
    declare_filters(search)
    search.set_defaults(type="archival", conversations=False)
    text = "`archive withdraw`: take a note out; undo brings it back."
    commands.verb("archive-withdraw", WithdrawPassage, text, "archive withdraw arc-7f2")


def run_archive_insert(session: Session, args: Namespace) -> int:
    text = read_text("-") if args.text == "-" else args.text
    session_id, _ = hot.belongs(str(session.root), args.session_id, None, os.environ)
    trust = "agent" if by_agent() else ""
    done = session.perform(request_of(InsertPassage, args, text=text, trust=trust, session_id=session_id))
    if args.json:
        document({"id": done.target, "action_id": done.action_id})
        return 0
    say(done.target)
    if not done.action_id:
        talk(done.summary)
    return 0


def run_archive_list(session: Session, args: Namespace) -> int:
    if args.limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    passages = [passage for passage in archive.passages(session.layout) if _is_wanted(passage, args)]
    passages.sort(key=lambda passage: times.epoch(passage.created_at), reverse=True)
    shown = passages[: args.limit]
    if args.json:
        document([msgspec.to_builtins(passage) for passage in shown])
    else:
        table([_passage_row(passage, session.now) for passage in shown])
        if len(passages) > len(shown):
            talk(f"… and {len(passages) - len(shown):,} more: --limit shows them")
    if not passages:
        talk(_nothing_listed(session, args))
    return 0 if passages else 3


def _nothing_listed(session: Session, args: Namespace) -> str:
    """Return why nothing is listed."""
    filters = [f"kind {args.kind}"] if args.kind else []
    filters += [f"tag {args.tag}"] if args.tag else []
    if filters and any(True for _ in archive.passages(session.layout)):
        return f"no note of the archive has {' and '.join(filters)}; `lumen-tui archive list` names all"
    return "nothing is in the archive; `lumen-tui archive insert TEXT` puts something there"


def _is_wanted(passage: Passage, args: Namespace) -> bool:
    return (not args.kind or passage.kind == args.kind) and (not args.tag or args.tag in passage.tags)


def _passage_row(passage: Passage, now: float) -> tuple[str, ...]:
    age = times.age(now - times.epoch(passage.created_at))
    tags = " ".join(f"#{tag}" for tag in passage.tags)
    whose = f"{passage.trust} ({passage.task_id})" if passage.task_id else passage.trust
    return (
        passage.id,
        passage.kind,
        f"{passage.importance:.2f}",
        age,
        whose,
        tags,
        passage.content.partition("\n")[0][:160],
    )


def _declare_recall(commands: CommandGroup) -> None:
    text = "What matters for a work unit, or for some words: its own notes, how such things are done, what is alike."
    recall = commands.add("recall", run_recall, text, "recall WU-042")
    recall.add_argument(
        "work", nargs="*", metavar="WORK", help="a work unit, or words [the work unit of your open session]"
    )
    recall.add_argument("-n", "--limit", type=int, default=6, metavar="N", help="entries of each part [6]")
    recall.json()


def run_recall(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.recalling import briefing

    if not 1 <= args.limit <= 50:
        raise ActionError("--limit needs a number from 1 to 50")
    recalled = briefing(session.store, by=session.operator, now=session.now, work=" ".join(args.work), limit=args.limit)
    if args.json:
        parts = [{"name": part.name, "hits": [described(hit) for hit in part.hits]} for part in recalled.sections]
        document({"work": recalled.work, "title": recalled.title, "sections": parts})
        return 0
    say(one_line(f"{recalled.work}  {recalled.title}" if recalled.work != recalled.title else recalled.title))
    for part in recalled.sections:
        say(f"\n{part.name}")
        for hit in part.hits:
            say(f"  {head(hit, session.now)}")
            say(f"      {''.join(text for text, _ in hit.excerpt)}")
    if not recalled.sections:
        talk("nothing is known of it yet")
    return 0
