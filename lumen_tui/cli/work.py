"""`wu list | show | new`."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.cli.session import Session, document, read_text, say, table, talk
from lumen_tui.engine.actions import checks
from lumen_tui.engine.actions.work import TYPES
from lumen_tui.engine.outcome import ActionError
from lumen_tui.store import work

if TYPE_CHECKING:
    from lumen_tui.cli.parser import Group


def declare(commands: Group) -> None:
    """The commands of this module."""
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


def run_list(session: Session, args: Namespace) -> int:
    units, problems = work.list_units(session.layout)
    lanes = {unit.lane for unit in units}
    if args.lane and args.lane not in lanes:
        near = checks.nearest(args.lane, lanes)
        raise ActionError(f"there is no lane {args.lane!r}", candidates=near, missing=not near)
    chosen = [unit for unit in units if args.lane in ("", unit.lane) and args.status in ("", unit.status)]
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
    unit = work.read_unit(session.layout, name)
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
        "wu.new", title=args.title, lane=args.lane, type=args.type, priority=args.priority, body=body, id=args.id
    )
    say(done.target)
    return 0
