"""`wu list | show | new | split | claim | block | unblock | release | done | lanes`, and `link`: the backlog."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import checks, lanes, refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.parser import request_of
from lumen_tui.cli.session import Session, document, print_id, print_id_and_outcome, read_text, say, table, talk
from lumen_tui.model import lanes as names
from lumen_tui.model.requests.work import (
    AddRelation,
    BlockWorkUnit,
    ClaimWorkUnit,
    FinishWorkUnit,
    NewWorkUnit,
    ReleaseWorkUnit,
    RemoveRelation,
    SplitWorkUnit,
    UnblockWorkUnit,
)
from lumen_tui.store.work import work_units

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("wu", "Work units: the backlog.", alone="list")
    listing = group.add("list", run_list, "Work units by number.", 'wu list --lane "Framework: Core"')
    listing.add_argument("-l", "--lane", default="", help="only of this lane")
    listing.add_argument("--status", default="", help="only in this state, such as ready or blocked")
    show = group.add("show", run_show, "One work unit.", "wu show WU-042")
    show.fields(ClaimWorkUnit, "wu_id")
    new = group.verb(
        "new",
        NewWorkUnit,
        "Write a work unit; prints its id.",
        'wu new "Session manager loses a lock" --type bug',
        prints=print_id,
        request=_new,
    )
    new.add_argument(
        "--body-file", default="", metavar="FILE", help="the description from a file (- for standard input)"
    )
    _declare_moves(group)
    lanes = group.add("lanes", run_lanes, "Lanes with their limits and who holds a slot.", "wu lanes")
    for command in (listing, show, lanes):
        command.json()
    link = commands.verb(
        "link",
        AddRelation,
        "Relate two work units or nodes: what blocks what.",
        "link WU-041 blocks WU-042",
        request=lambda _, args: request_of(RemoveRelation if args.remove else AddRelation, args),
    )
    link.add_argument("--remove", action="store_true", help="take the relation away")
    link.author()


def _declare_moves(group: CommandGroup) -> None:
    """Add what becomes of a work unit."""
    split = group.verb(
        "split",
        SplitWorkUnit,
        "Make work units of its parts; it waits for them. Prints the id of the first.",
        'wu split WU-042 "Write the parser" "Write the printer" --in-order',
        prints=print_id_and_outcome,
        request=_split,
    )
    split.add_argument("titles", nargs="+", metavar="TITLE", help="what a part is about, in a line each")
    split.author()
    for name, kind, text, more in (
        ("claim", ClaimWorkUnit, "Take a work unit on, within the limit of its lane.", ""),
        ("block", BlockWorkUnit, "Stop work on it; its lane becomes free.", ' --reason "no key"'),
        ("unblock", UnblockWorkUnit, "Make it ready again.", ""),
        ("release", ReleaseWorkUnit, "Release it, or free what another left.", ""),
        ("done", FinishWorkUnit, "Finish it: stamp, broadcast, lane free.", ""),
    ):
        request = _claim if kind is ClaimWorkUnit else None
        group.verb(name, kind, text, f"wu {name} WU-042{more}", request=request).author()


def _new(_: Session, args: Namespace) -> NewWorkUnit:
    return request_of(NewWorkUnit, args, body=read_text(args.body_file) if args.body_file else args.body)


def _split(_: Session, args: Namespace) -> SplitWorkUnit:
    return request_of(SplitWorkUnit, args, parts=[{"title": title} for title in args.titles])


def _claim(_: Session, args: Namespace) -> ClaimWorkUnit:
    session_id = args.session or os.environ.get("LUMEN_SESSION", "")
    return request_of(ClaimWorkUnit, args, session=session_id, pid=args.pid or _shell())


def _shell() -> int:
    """Return the process that represents a person at a terminal: the leader of the login session."""
    return os.getsid(0) if sys.stdin.isatty() else 0


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
        name = checks.known_unit(session.layout, args.wu_id)
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
