"""`triage`: open discoveries, and what becomes of them."""

from __future__ import annotations

from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_outcome, report_news, say, table, talk
from lumen_tui.engine.near_doubles import NearDoubles
from lumen_tui.model import analytics, fields, ids, times
from lumen_tui.model.analytics import Stats
from lumen_tui.model.kinds import discovery_kind
from lumen_tui.model.records import DiscoveryRow, Node, node_of
from lumen_tui.model.requests.discoveries import (
    ArchiveDiscoveries,
    EditDiscoveries,
    MergeDiscoveries,
    PostponeDiscoveries,
    PromoteDiscoveries,
)
from lumen_tui.model.requests.engine import Undo
from lumen_tui.model.text import one_line
from lumen_tui.queries import judged
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.memory.node_rows import DiscoveryList

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


Like = tuple[str, int] | None
_COMPARED = 200  # rows for which a near double is looked for
UNLINKED = "unlinked"  # in place of a work unit
_REVISION = 1  # of what is read once, for one command


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    triage = commands.add(
        "triage",
        run,
        "Open discoveries by priority, or the judgement of some.",
        'triage --promote mem-7f2 --lane "Framework: Core"',
    )
    choice = triage.add_mutually_exclusive_group()
    for kind, name in (
        (PromoteDiscoveries, "promote"),
        (ArchiveDiscoveries, "archive"),
        (PostponeDiscoveries, "keep"),
        (MergeDiscoveries, "merge"),
        (EditDiscoveries, "edit"),
    ):
        triage.fields(kind, "node_ids", into=choice, dest=name, required=False)
    choice.add_argument("--list", action="store_true", help="list them (the default)")
    choice.add_argument("--judged", action="store_true", help="how often each author's were promoted, by week")
    choice.add_argument("--undo", action="store_true", help="undo your last action")
    triage.fields(PromoteDiscoveries, "lane", required=False, default="")
    triage.fields(PromoteDiscoveries, "wu_id")
    triage.fields(EditDiscoveries, "title", "priority", "type", required=False)
    triage.fields(ArchiveDiscoveries, "reason", required=False, default="")
    triage.fields(PostponeDiscoveries, "days")
    triage.fields(MergeDiscoveries, "into", required=False, default="")
    triage.add_argument("--wu", default="", help="list: of this work unit, or `unlinked`")
    triage.add_argument("--tag", default="", help="list: with this tag")
    triage.add_argument("--limit", type=int, default=100, help="list: at most so many [100]")
    triage.add_argument("--all", action="store_true", help="list: without a limit")
    triage.json()
    triage.add_argument("--documented", action="store_true", help=SUPPRESS)  # how `mem:triage` lists


def run(session: Session, args: Namespace) -> int:
    if args.judged:
        return _show_judged(session, as_json=args.json)
    if done := _judge(session, args):
        return print_outcome(done, as_json=args.json)
    index = _index(session)
    every = index.discoveries(session.now)
    found, more = _open(session, args, every)
    rows = [row for _, row in found]
    likes = _likes(session, index, every, found) if every else {}
    if args.json:
        document([_facts(row.node, likes.get(row.node.id)) for row in rows])
        return 0
    if args.documented:
        say("\n".join(line for row in rows for line in _block(row.node, likes.get(row.node.id))))
    else:
        table([_row(row, session.now, likes.get(row.node.id)) for row in rows])
    if more:
        talk("more were left out: --limit N or --all")
    if len(rows) > _COMPARED:
        talk(f"only the first {_COMPARED} were compared with the others")
    if not rows:
        talk("nothing to triage")
    return 0


def _judge(session: Session, args: Namespace) -> Done | None:
    if args.promote:
        if not args.lane:
            raise ActionError("--promote needs --lane: the stream of work it goes to")
        report_alike(session, args.promote)
        return session.perform(request_of(PromoteDiscoveries, args, node_ids=args.promote))
    if args.archive:
        return session.perform(ArchiveDiscoveries(node_ids=args.archive, reason=args.reason))
    if args.keep:
        return session.perform(PostponeDiscoveries(node_ids=args.keep, days=args.days))
    if args.merge:
        if not args.into:
            raise ActionError("--merge needs --into: the discovery that stays")
        return session.perform(MergeDiscoveries(node_ids=args.merge, into=args.into, reason=args.reason))
    if args.edit:
        return session.perform(request_of(EditDiscoveries, args, node_ids=args.edit))
    return session.perform(Undo()) if args.undo else None


def discoveries(session: Session) -> Sequence[DiscoveryRow]:
    """Return the open discoveries by priority, each read on access."""
    return _index(session).discoveries(session.now)


def _index(session: Session) -> NodeIndex:
    index = NodeIndex(session.layout)
    while index.refresh():
        pass
    report_news(index.kept)
    return index


def report_alike(session: Session, texts: Sequence[str]) -> None:
    """Report other open discoveries that are like those about to be promoted."""
    from lumen_tui.actions import checks
    from lumen_tui.engine.likeness import Titles  # rapidfuzz: not for what only lists

    node_ids = checks.node_ids(session.store, texts)
    promoted = [node_of(record) for _, record in nodes.find(session.layout.memory, node_ids).values()]
    new = [DiscoveryRow(node=node, created=times.epoch(node.created_at)) for node in promoted]
    rows = [*new, *(row for row in discoveries(session) if row.node.id not in node_ids)]
    titles = Titles()
    for node in promoted:
        for other in titles.near(node.id, rows, _REVISION):
            talk(f"lumen-tui: {node.id} is like {other.node_id}, {other.score} % (“{one_line(other.title, 80)}”)")


def _likes(
    session: Session, index: NodeIndex, every: DiscoveryList, found: Sequence[tuple[int, DiscoveryRow]]
) -> dict[str, tuple[str, int]]:
    """Return the near double of each row that has one: its id and the likeness in per cent."""
    doubles = NearDoubles(session.layout, index, every)
    if doubles.news:
        talk(f"lumen-tui: {doubles.news}")
    return doubles.of([number for number, _ in found[:_COMPARED]])


class DiscoveryFilter(NamedTuple):
    """What a listing shows; an empty field lets all through."""

    wu_id: str  # UNLINKED: those of no work unit
    priority: str
    tag: str

    def allows(self, node: Node) -> bool:
        wu_id = "" if self.wu_id == UNLINKED else self.wu_id or node.wu_id
        return node.wu_id == wu_id and self.priority in ("", node.priority) and (not self.tag or self.tag in node.tags)


def _open(
    session: Session, args: Namespace, every: Sequence[DiscoveryRow]
) -> tuple[list[tuple[int, DiscoveryRow]], bool]:
    """Return the rows to show with their places in the list, and whether there are more. Raise ActionError."""
    if args.limit < 1:
        raise ActionError("--limit needs a number from 1 up")
    wu_id = args.wu
    if wu_id not in ("", UNLINKED):
        from lumen_tui.actions import places

        wu_id = places.work_at(session.root, wu_id)
    wanted = DiscoveryFilter(wu_id, fields.priority(args.priority), args.tag)
    limit = len(every) if args.all else args.limit
    rows = list(islice(((number, row) for number, row in enumerate(every) if wanted.allows(row.node)), limit + 1))
    return rows[:limit], len(rows) > limit


def _row(row: DiscoveryRow, now: float, like: Like) -> tuple[str, ...]:
    node = row.node
    tags = [f"#{tag}" for tag in node.tags]
    near = [f"(like {ids.short(like[0])}, {like[1]} %)"] if like else []
    kind = discovery_kind(node.tags) or node.type
    age = times.age(now - row.created)
    return node.id, kind, node.priority or "-", node.wu_id or "-", age, "  ".join([node.title, *tags, *near])


def _block(node: Node, like: Like) -> list[str]:
    """Return the lines of a discovery as the documentation of `mem:triage` shows it."""
    kind = discovery_kind(node.tags)
    facts = {
        "Type": f"{node.type} ({kind})" if kind else node.type,
        "Priority": node.priority,
        "Discovered during": node.wu_id,
        "Tags": ", ".join(node.tags),
        "Like": f"{like[0]}, {like[1]} %" if like else "",
    }
    lines = [f"  {name}: {one_line(value)}" for name, value in facts.items() if value]
    return [f"{node.id}: {one_line(node.title)}", *lines]


def _facts(node: Node, like: Like) -> dict[str, object]:
    near = {"like": {"id": like[0], "percent": like[1]}} if like else {}
    return {**msgspec.to_builtins(node), **near}


_JUDGED_HEAD = ("", "judged", "promoted", "archived", "merged", "share", "95 %", "weeks")


def _show_judged(session: Session, *, as_json: bool) -> int:
    """Print how often the discoveries of each author were promoted; return 3 where nothing was judged yet."""
    authors = judged.read(session.layout, session.now).authors
    if as_json:
        document([_judged_facts(author) for author in authors])
    elif authors:
        table([_JUDGED_HEAD, *(_judged_row(author) for author in authors)])
    else:
        say("no discovery was decided yet")
    return 0 if authors else 3


def _judged_facts(stats: Stats) -> dict[str, object]:
    return {
        "name": stats.name,
        "judged": stats.tasks,
        "promoted": stats.done,
        "archived": stats.failed,
        "merged": stats.cancelled,
        "share": stats.rate,
        "low": stats.low,
        "high": stats.high,
        "weeks": stats.weeks,
    }


def _judged_row(stats: Stats) -> tuple[str, ...]:
    known = stats.rate is not None
    share = f"{analytics.percent(stats.rate or 0.0)} %" if known else "–"
    interval = f"{analytics.percent(stats.low)}–{analytics.percent(stats.high)}" if known else "–"
    counts = (stats.tasks, stats.done, stats.failed, stats.cancelled)
    return (stats.name, *(f"{count:,}" for count in counts), share, interval, analytics.spark(stats.weeks))
