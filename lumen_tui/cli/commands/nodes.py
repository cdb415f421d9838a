"""Memory nodes by hand (`archive`, `pin`, `touch` ...), and what leaves the active memory (`decay`, `cleanup` ...)."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lumen_tui.actions import decay as decay_actions
from lumen_tui.actions.decay import ArchiveCandidate
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_outcome, read_text, report_news, say, table, talk
from lumen_tui.model import decay, times
from lumen_tui.model.decay import Aging, DecayRule
from lumen_tui.model.requests.engine import ChangeSettings
from lumen_tui.model.requests.memory import (
    ApplyDecay,
    ArchiveNodes,
    CleanUpNodes,
    DeleteNodes,
    PinNodes,
    PromoteNodes,
    RewriteSummary,
    Summarize,
    TouchNodes,
    UnarchiveNodes,
)
from lumen_tui.model.requests.signals import CleanUpSignals
from lumen_tui.model.text import one_line
from lumen_tui.store.memory.node_index import AgeIndex
from lumen_tui.store.memory.nodes import Raw

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.store.signals.retention import CleanupCounts


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_nodes(commands)
    _declare_decay(commands)


def _declare_nodes(commands: CommandGroup) -> None:
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
    promote = commands.add(
        "promote", run_promote, "Keep a node for the whole project.", "promote mem-7f2 --tag pattern"
    )
    promote.fields(PromoteNodes)
    for command in (delete, promote):
        command.dry_run()
        command.json()


def run_delete(session: Session, args: Namespace) -> int:
    request = request_of(DeleteNodes, args)
    try:
        from lumen_tui.actions import nodes

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
    from lumen_tui.actions import nodes

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


_MOST_SHOWN = 100  # of a list for people; --json has all of them
_NOTHING = 3
_FEW_STEPS = 20  # per cent of the first step; smaller ones are worth showing


def _declare_decay(commands: CommandGroup) -> None:
    fade = commands.add(
        "decay", run_decay, "Archive what nobody has touched for a long time.", "decay --dry-run --at 2027-01-31"
    )
    fade.add_argument("set", nargs="?", default="", choices=("", "set"), metavar="set", help="change the rule instead")
    fade.fields(ApplyDecay, "half_life_days", type=str, default="")  # days, or a duration such as 45d
    fade.fields(ApplyDecay, "threshold")
    fade.add_argument("--at", default="", metavar="DATE", help="with --dry-run: at that date, or so far ahead (30d)")
    fade.fields(ApplyDecay, "force")
    conclude = commands.add("summarize", run_summarize, "Conclude the work on a work unit.", "summarize --wu WU-001")
    conclude.fields(Summarize)
    text = "Say a summary in other words; undo brings the old ones back."
    commands.verb("rewrite", RewriteSummary, text, "rewrite mem-7f2 - < summary.txt", request=_rewriting)
    clean = commands.add(
        "cleanup",
        run_cleanup,
        "Archive nodes whose lifecycle is over; active work stays.",
        "cleanup --dry-run --ttl 30d",
    )
    clean.fields(CleanUpNodes)
    signals = commands.add(
        "signal-cleanup",
        run_signals,
        "Move old signals to memory/archive.jsonl (also: signal cleanup).",
        "signal-cleanup --dry-run",
    )
    signals.fields(CleanUpSignals)
    for command in (fade, conclude, clean, signals):
        command.dry_run()
        command.json()


def _days(text: str) -> float:
    """Return days from `45` or `45d`; 0 for an empty text. Raise ActionError."""
    if not text:
        return 0.0
    try:
        days = float(text)
    except ValueError:
        days = _duration(text) / times.DAY
    if days <= 0:
        raise ActionError(f"--half-life {text!r} makes no rule: a number of days above 0")
    return days


def _duration(text: str) -> float:
    try:
        return times.parse_duration(text)
    except ValueError as error:
        raise ActionError(str(error)) from error


def _date_ahead(text: str, now: float) -> float:
    """Return seconds since 1970 of a date, or of a time ahead such as 30d. Raise ActionError."""
    try:
        return times.parse_iso(text)
    except ValueError:
        pass
    try:
        return now + times.parse_duration(text)
    except ValueError:
        raise ActionError(f"--at {text!r} is neither a date such as 2027-01-31 nor a time ahead such as 30d") from None


def run_decay(session: Session, args: Namespace) -> int:
    half_life = _days(args.half_life_days)
    if args.set:
        return _set_rule(session, args, half_life)
    if args.at and not args.dry_run:
        raise ActionError("--at is a look ahead: use it with --dry-run")
    now = session.now
    at = _date_ahead(args.at, now) if args.at else now
    rule = _decay_rule(session, half_life, args.threshold)
    index = AgeIndex(session.layout).load()
    report_news(index.kept)
    count = index.count_untouched(decay.due_before(rule, at))
    leaving = decay_actions.due(index, rule, at, None if args.json else _MOST_SHOWN)
    rows = _leaving(index, leaving, rule)
    done = None
    if not args.dry_run:
        done = session.perform(request_of(ApplyDecay, args, half_life_days=half_life))
    head = {"rule": rule, "at": times.iso(at), "protected": index.decay_view(rule, at).protected}
    return _report_leaving(rows, count, done, args, head)


def _decay_rule(session: Session, half_life: float, threshold: float) -> DecayRule:
    try:
        return decay_actions.rule_of(session.store, half_life, threshold)
    except ValueError as error:
        raise ActionError(str(error)) from error


def _set_rule(session: Session, args: Namespace, half_life: float) -> int:
    settings = {"half_life_days": half_life, "threshold": args.threshold}
    changes = {f"memory.decay.{name}": value for name, value in settings.items() if value}
    if not changes:
        raise ActionError("decay set needs --half-life or --threshold")
    return print_outcome(session.perform(ChangeSettings(changes=changes)), as_json=args.json)


class LeavingNode(Struct, frozen=True):
    """What is listed of a node that leaves: score and date only of what decayed."""

    id: str
    type: str
    wu_id: str
    reason: str
    last_touch: str
    title: str
    score: float | UnsetType = UNSET
    fades_at: str | UnsetType = UNSET


def _leaving(index: AgeIndex, leaving: list[ArchiveCandidate], rule: DecayRule | None) -> list[LeavingNode]:
    by_id = {node.node_id: node for node in leaving}
    rows = sorted((Aging(node.node_id, node.touched) for node in leaving), key=lambda row: row.touched)
    return [_leaving_node(by_id[row.node_id], record, rule) for row, record in index.records(rows)]


def _leaving_node(node: ArchiveCandidate, record: Raw, rule: DecayRule | None) -> LeavingNode:
    decayed = rule is not None and node.score >= 0
    return LeavingNode(
        id=node.node_id,
        type=str(record.get("type") or ""),
        wu_id=str(record.get("wu_id") or ""),
        reason=node.reason,
        last_touch=times.iso(node.touched),
        title=str(record.get("content", "")).partition("\n")[0],
        score=round(node.score, 6) if decayed else UNSET,
        fades_at=times.iso(decay.fades_at(node.touched, rule)) if rule is not None and decayed else UNSET,
    )


def _report_leaving(
    rows: list[LeavingNode], count: int, done: Done | None, args: Namespace, head: dict[str, object]
) -> int:
    """Print what would leave, or what left, `count` nodes; return the exit code."""
    nothing = done is not None and not done.action_id
    if args.json:
        document({**head, "dry_run": done is None, "nodes": rows, **_done_facts(done)})
        return _NOTHING if nothing else 0
    table([(row.id, row.last_touch[:10], row.reason, row.title) for row in rows[:_MOST_SHOWN]])
    if count > _MOST_SHOWN:
        talk(f"and {count - _MOST_SHOWN} more: --json has all of them")
    if done is None:
        say(f"{count} would be archived" if count else "nothing would be archived")
    else:
        say(done.summary)
    return _NOTHING if nothing else 0


def _done_facts(done: Done | None) -> dict[str, object]:
    return {} if done is None else {"summary": done.summary, "action_id": done.action_id}


def run_summarize(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import finishing

    draft = finishing.summary_draft(session.store, args.wu_id)
    if args.dry_run:
        if args.json:
            document({"dry_run": True, **finishing.draft_json(draft)})
        else:
            say(draft.content)
        return 0
    done = session.perform(request_of(Summarize, args))
    if args.json:
        document(
            {
                "dry_run": False,
                "id": done.target,
                "summary": done.summary,
                "action_id": done.action_id,
                "draft": finishing.draft_json(draft),
            }
        )
        return 0
    say(done.target)
    talk(done.summary)
    if draft.left_out:
        talk(f"{draft.left_out} sensitive node(s) were left out")
    return 0


def _rewriting(_: Session, args: Namespace) -> RewriteSummary:
    return request_of(RewriteSummary, args, text=read_text("-") if args.text == "-" else args.text)


def run_cleanup(session: Session, args: Namespace) -> int:
    from lumen_tui.actions import cleanup

    try:
        options = cleanup.cleanup_options(args.ttl, args.session_id)
    except ValueError as error:
        raise ActionError(str(error)) from error
    if options.session_id:
        options = options._replace(session_id=cleanup.known_session(session.store, options.session_id))
    index = AgeIndex(session.layout).load()
    report_news(index.kept)
    leaving = cleanup.due(session.store, index, options, session.now)
    chosen = {node.node_id for node in leaving}
    rule = decay_actions.rule_of(session.store)
    leaving += [
        node for node in decay_actions.due(index, rule, session.now) if args.decay and node.node_id not in chosen
    ]
    done = None
    if not args.dry_run:
        done = session.perform(request_of(CleanUpNodes, args))
    rows = _leaving(index, leaving, rule)
    return _report_leaving(rows, len(rows), done, args, {"retention": options.retention})


class ImportProgress:
    """A progress line on a terminal, in per cent; nothing for work of a few steps."""

    def __init__(self) -> None:
        self._shown = -1 if sys.stderr.isatty() else 100

    def __call__(self, share: float) -> None:
        percent = int(share * 100)
        if percent <= self._shown or (self._shown < 0 and percent > _FEW_STEPS):
            return
        self._shown = percent
        print(f"\r{percent} %" if percent < 100 else "\r     \r", end="", file=sys.stderr, flush=True)


def _planned(session: Session, request: CleanUpSignals) -> CleanupCounts:
    from lumen_tui.actions import cleanup

    try:
        return cleanup.signal_plan(session.store, request, now=session.now, watch=ImportProgress())
    except ValueError as error:
        raise ActionError(str(error)) from error


def run_signals(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.cleanup import Cleaned
    from lumen_tui.store.signals.retention import CleanupCounts

    request = request_of(CleanUpSignals, args)
    done = None
    if args.dry_run:
        counts = _planned(session, request)
    else:
        done = session.perform(request, watch=ImportProgress())
        counts = done.counts if isinstance(done, Cleaned) else CleanupCounts()
    facts = {**msgspec.to_builtins(counts), "removed": counts.removed}
    if args.json:
        document({"dry_run": args.dry_run, **facts, **({} if done is None else {"summary": done.summary})})
    elif done is None:
        table([(name.replace("_", " "), str(value)) for name, value in facts.items()])
    else:
        say(done.summary)
    return _NOTHING if done is not None and not done.target else 0
