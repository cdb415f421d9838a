"""`replay TASK`: the recorded calls of a task, judged again by the rules as they are now."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import checks
from lumen_tui.cli.session import Session, document, say
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


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= _LONGEST:
        raise ValueError(text)
    return seconds


def run_replay(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.replaying import replayed

    session.must_exist()
    task = checks.task_id(session.store, args.task)
    role = checks.role_name(session.layout, args.role) if args.role else ""
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


def _progress(done: int, total: int) -> None:
    """Show on a terminal how far it is; with 0 take that away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kreplays call {done + 1:,} of {total:,}" if total else "\r\x1b[K")
        sys.stderr.flush()
