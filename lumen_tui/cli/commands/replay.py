"""`replay TASK` judges its recorded calls again, by the rules as they are now; `fork TASK` goes on from one of them."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import checks
from lumen_tui.cli.session import Session, document, say, stoppable, table, talk
from lumen_tui.model.replay import lines

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_LONGEST = 86_400.0


def declare(commands: CommandGroup) -> None:
    """Add the command of this module."""
    command = commands.add(
        "replay", run_replay, "Judge the recorded calls of a task again, by the rules as they are now.", "replay 7f2k"
    )
    command.add_argument("task", metavar="TASK", help="its id, or the beginning of it")
    command.add_argument("--role", default="", metavar="NAME", help="as if it were of this role")
    command.add_argument("--steps", action="store_true", help="every decision, not the first divergence alone")
    command.add_argument(
        "--seconds", type=_seconds, default=600.0, metavar="N", help="for calls that are made again (default: 600)"
    )
    command.json()

    text = "Take a task that is over up again from one of its steps, with another role, model or prompt."
    command = commands.add("fork", run_fork, text, "fork 7f2k --at 4 --role reviewer")
    command.add_argument("task", metavar="TASK", help="its id, or the beginning of it")
    command.add_argument("--at", type=int, required=True, metavar="N", help="after its step N; 0: from the beginning")
    command.add_argument("--role", default="", metavar="NAME", help="with this role")
    command.add_argument("--model", default="", metavar="MODEL", help="with this tier or model")
    command.add_argument("--prompt", default="", metavar="TEXT", help="with this at the end of its role's prompt")
    command.json()


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= _LONGEST:
        raise ValueError(text)
    return seconds


def _checked(session: Session, args: Namespace) -> tuple[str, str]:
    """Return the whole id of the task and the other role. What carries them out is loaded behind that: 100 ms."""
    session.must_exist()
    task = checks.task_id(session.store, args.task)
    return task, checks.role_name(session.layout, args.role) if args.role else ""


def run_replay(session: Session, args: Namespace) -> int:
    task, role = _checked(session, args)
    from lumen_tui.engine.replaying import replayed

    try:
        report = replayed(session.root, task, _progress, seconds=args.seconds, role=role)
    finally:
        _progress(0, 0)
    if args.json:
        document(report)
    else:
        for line in lines(report, steps=args.steps):
            say(line)
    return report.exit_code


def run_fork(session: Session, args: Namespace) -> int:
    task, role = _checked(session, args)
    from lumen_tui.engine.evolution.forking import ForkOrder, fork
    from lumen_tui.model.forks import rows

    with stoppable() as stopped:
        report = fork(session.store, ForkOrder(task, args.at, role, args.model, args.prompt), stopped)
    if args.json:
        document(report)
        return 0
    table(list(rows(report)))
    talk(f"all that the fork did is in {report.folder}, until another trial begins")
    return 0


def _progress(done: int, total: int) -> None:
    """Show on a terminal how far it is; with 0 take that away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kreplays call {done + 1:,} of {total:,}" if total else "\r\x1b[K")
        sys.stderr.flush()
