"""`wu list | show | new | claim | block | unblock | release | done | lanes`, and `link`: the backlog."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import checks, lanes, refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.actions.work import TYPES
from lumen_tui.cli.session import Session, document, read_text, say, table, talk
from lumen_tui.model import lanes as names
from lumen_tui.model.records import RELATION_TYPES
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.work import (
    AddRelation,
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    NewWorkUnit,
    ReleaseWorkUnit,
    RemoveRelation,
    UnblockWorkUnit,
)
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("wu", "Work units: the backlog.")
    listing = group.add("list", run_list, "Work units by number.", 'wu list --lane "Framework: Core"')
    listing.add_argument("-l", "--lane", default="")
    listing.add_argument("--status", default="")
    listing.add_argument("--json", action="store_true", help="one JSON document")
    show = group.add("show", run_show, "One work unit.", "wu show WU-042")
    show.add_argument("id")
    show.add_argument("--json", action="store_true", help="one JSON document")
    new = group.add(
        "new", run_new, "Write a work unit; prints its id.", 'wu new "Session manager loses a lock" --type bug'
    )
    new.add_argument("title")
    new.add_argument("-l", "--lane", default="")
    new.add_argument("--type", default="task", choices=TYPES, metavar="TYPE", help=", ".join(TYPES))
    new.add_argument("-p", "--priority", default="P2", help="P0 to P3 [P2]")
    new.add_argument("--body", default="", help="the description")
    new.add_argument(
        "--body-file", default="", metavar="FILE", help="the description from a file (- for standard input)"
    )
    new.add_argument("--id", default="", help="WU-NNN instead of the next free number")
    new.add_argument("--key", default="", help="the same key makes the same work unit, however often it is asked for")
    _declare_moves(group)
    _declare_link(commands)


def _declare_moves(group: CommandGroup) -> None:
    claim = group.add("claim", run_move, "Take a work unit on, within the limit of its lane.", "wu claim WU-042")
    claim.add_argument("-l", "--lane", default="", help="put it into this lane [its own]")
    claim.add_argument("-s", "--session", default="", metavar="ID", help="the session that works on it")
    claim.add_argument(
        "--pid", type=int, default=0, help="a process that stands for the holder [the login shell, at a terminal]"
    )
    block = group.add("block", run_move, "Stop work on it; its lane becomes free.", 'wu block WU-042 --reason "no key"')
    unblock = group.add("unblock", run_move, "Make it ready again.", "wu unblock WU-042")
    release = group.add("release", run_move, "Give it back, or free what somebody else left.", "wu release WU-042")
    done = group.add("done", run_move, "Finish it: stamp, broadcast, lane free.", "wu done WU-042")
    done.add_argument("--no-checkpoint-check", action="store_true", help="without a look for a checkpoint")
    for verb, parser in (
        ("claim", claim),
        ("block", block),
        ("unblock", unblock),
        ("release", release),
        ("done", done),
    ):
        parser.add_argument("id")
        parser.add_argument("--from", dest="by", default="", help="who says so [you]")
        parser.set_defaults(move=verb)
    for parser in (block, release):
        parser.add_argument("-r", "--reason", default="", help="why")
    listing = group.add("lanes", run_lanes, "Lanes with their limits and who holds a place.", "wu lanes")
    listing.add_argument("--json", action="store_true", help="one JSON document")


def _declare_link(commands: CommandGroup) -> None:
    link = commands.add(
        "link", run_link, "Relate two work units or nodes: what blocks what.", "link WU-041 blocks WU-042"
    )
    link.add_argument("first")
    link.add_argument("relation", choices=RELATION_TYPES, metavar="RELATION", help=", ".join(RELATION_TYPES))
    link.add_argument("second")
    link.add_argument("--remove", action="store_true", help="take the relation away")
    link.add_argument("--from", dest="by", default="", help="who says so [you]")


def run_list(session: Session, args: Namespace) -> int:
    units, problems = work_units.list_units(session.layout)
    lane_key = names.key(args.lane)
    lanes = {unit.lane for unit in units}
    if lane_key and lane_key not in map(names.key, lanes):
        near = refusal.nearest(args.lane, lanes)
        raise ActionError(f"there is no lane {args.lane!r}", candidates=near, missing=not near)
    chosen = [unit for unit in units if lane_key in ("", names.key(unit.lane)) and args.status in ("", unit.status)]
    for problem in problems:
        talk(f"{problem.where}: {problem.what}")
    if args.json:
        document(chosen)
        return 0
    table([(unit.id, unit.status, unit.priority, unit.type, unit.lane or "-", unit.title) for unit in chosen])
    if not chosen:
        talk("no work units")
    return 0


def run_show(session: Session, args: Namespace) -> int:
    try:
        name = checks.known_unit(session.layout, args.id)
    except ActionError as error:
        raise ActionError(str(error), candidates=error.candidates, missing=True) from error
    unit = work_units.read_tracked(session.layout, name)
    if unit is None:
        raise ActionError(f"there is no work unit {name}", missing=True)
    if args.json:
        document(unit)
        return 0
    facts = {name: value for name, value in msgspec.to_builtins(unit).items() if name != "body" and value}
    table(
        [(name, "; ".join(value) if isinstance(value, (list, tuple)) else str(value)) for name, value in facts.items()]
    )
    say("\n" + unit.body)
    return 0


def run_new(session: Session, args: Namespace) -> int:
    body = read_text(args.body_file) if args.body_file else args.body
    done = session.perform(
        NewWorkUnit(
            title=args.title,
            lane=args.lane,
            type=args.type,
            priority=args.priority,
            body=body,
            id=args.id,
            key=args.key,
        )
    )
    say(done.target)
    return 0


def _claim(args: Namespace) -> Request:
    session_id = args.session or os.environ.get("LUMEN_SESSION", "")
    return ClaimWorkUnit(wu_id=args.id, lane=args.lane, session=session_id, pid=args.pid or _shell())


_MOVES: dict[str, Callable[[Namespace], Request]] = {
    "claim": _claim,
    "block": lambda args: BlockWorkUnit(wu_id=args.id, reason=args.reason),
    "unblock": lambda args: UnblockWorkUnit(wu_id=args.id),
    "release": lambda args: ReleaseWorkUnit(wu_id=args.id, reason=args.reason),
    "done": lambda args: FinishWorkUnit(wu_id=args.id, no_checkpoint_check=args.no_checkpoint_check),
}


def run_move(session: Session, args: Namespace) -> int:
    done = session.perform(_MOVES[args.move](args), by=args.by)
    say(done.summary)
    if done.aside:
        talk(f"lumen-tui: {done.aside}")
    return 0


def _shell() -> int:
    """Return the process that represents a person at a terminal: the leader of the login session."""
    return os.getsid(0) if sys.stdin.isatty() else 0


def run_lanes(session: Session, args: Namespace) -> int:
    rules = lanes.config_of(session.store).lanes
    by_key = {names.key(unit.lane): unit.lane for unit in work_units.list_tracked(session.layout) if unit.lane}
    every = sorted(by_key.values())
    held = {name: lanes.in_lane(session.store, name) for name in every}
    if args.json:
        document([{"lane": name, "limit": rules.limit(name), "holders": held[name]} for name in every])
        return 0
    for name in every:
        say(f"{name}  {len(held[name])} of {rules.limit(name)}")
        for holder in held[name]:
            stale = "  (stale)" if lanes.is_stale(session.store, holder, rules, now=session.now) else ""
            say(f"  {lanes.holder_text(holder, session.now)}{stale}")
    if not every:
        talk("no lanes")
    return 0


def run_link(session: Session, args: Namespace) -> int:
    kind = RemoveRelation if args.remove else AddRelation
    done = session.perform(kind(from_id=args.first, to_id=args.second, type=args.relation), by=args.by)
    say(done.summary)
    return 0
