"""`archive insert`, `archive list`, `archive search`, `archive withdraw`: notes that are kept for good."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.search import declare_filters, run_search
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, by_agent, document, read_text, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.archive import KINDS, Passage
from lumen_tui.model.requests.memory import InsertPassage, WithdrawPassage
from lumen_tui.store.memory import archive

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module; `archive ID` is another one."""
    insert = commands.add(
        "archive-insert",
        run_insert,
        "`archive insert`: keep a note for good; prints its id.",
        'archive insert "Restart nginx after the certificate" --kind procedural --tag nginx',
    )
    insert.fields(InsertPassage)
    insert.json()
    listing = commands.add("archive-list", run_list, "`archive list`: the notes, the newest first.", "archive list")
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


def run_insert(session: Session, args: Namespace) -> int:
    text = read_text("-") if args.text == "-" else args.text
    done = session.perform(request_of(InsertPassage, args, text=text, trust="agent" if by_agent() else ""))
    if args.json:
        document({"id": done.target, "action_id": done.action_id})
        return 0
    say(done.target)
    if not done.action_id:
        talk(done.summary)
    return 0


def run_list(session: Session, args: Namespace) -> int:
    if args.limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    passages = [passage for passage in archive.passages(session.layout) if _wanted(passage, args)]
    passages.sort(key=lambda passage: times.epoch(passage.created_at), reverse=True)
    shown = passages[: args.limit]
    if args.json:
        document([msgspec.to_builtins(passage) for passage in shown])
    else:
        table([_row(passage, session.now) for passage in shown])
        if len(passages) > len(shown):
            talk(f"… and {len(passages) - len(shown):,} more: --limit shows them")
    if not passages:
        talk(_empty_text(session, args))
    return 0 if passages else 3


def _empty_text(session: Session, args: Namespace) -> str:
    """Return why nothing is listed."""
    filters = [f"kind {args.kind}"] if args.kind else []
    filters += [f"tag {args.tag}"] if args.tag else []
    if filters and any(True for _ in archive.passages(session.layout)):
        return f"no note of the archive has {' and '.join(filters)}; `lumen-tui archive list` names all"
    return "nothing is in the archive; `lumen-tui archive insert TEXT` puts something there"


def _wanted(passage: Passage, args: Namespace) -> bool:
    return (not args.kind or passage.kind == args.kind) and (not args.tag or args.tag in passage.tags)


def _row(passage: Passage, now: float) -> tuple[str, ...]:
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
