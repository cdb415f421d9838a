"""`doctor`: what is wrong with the state folder, and what was done about it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table
from lumen_tui.engine.doctor.examine import examine
from lumen_tui.engine.doctor.finding import NOTE, DoctorReport, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lumen_tui.cli.parser import Group
    from lumen_tui.tools.sandbox.selftest import TierTest


def declare(commands: Group) -> None:
    """The command of this module."""
    doctor = commands.add("doctor", run, "Look through the state folder for what is wrong.", "doctor --fix")
    doctor.add_argument("--fix", action="store_true", help="mend what can be mended, and say what was done")
    doctor.add_argument("--sandbox", action="store_true", help="test the sandbox now, and say which tier holds")
    doctor.add_argument("--json", action="store_true", help="one JSON document")
    doctor.set_defaults(without_state=True)  # a folder that is not to be trusted is what the doctor is for


def run(session: Session, args: Namespace) -> int:
    if why := session.layout.absent():
        raise ActionError(why)
    report = examine(session.store, now=session.now, fix=args.fix)
    tier, walls, tested = examined_sandbox(session, now=args.sandbox)
    if args.json:
        facts = msgspec.to_builtins(report)
        tests = msgspec.to_builtins(tested)
        left = len(report.left)
        document({**facts, "healthy": not left, "problems_left": left, "sandbox": tier, "sandbox_tests": tests})
        return 1 if report.left else 0
    table([_row(one) for one in report.findings])
    if walls:
        say(walls)
    if args.sandbox:
        table([row for one in tested for row in _tries(one)])
    say(_verdict(report, args.fix))
    return 1 if report.left else 0


def _verdict(report: DoctorReport, fixed: bool) -> str:
    left, can = len(report.left), sum(one.mendable for one in report.left)
    parts = [f"{sum(bool(one.mended) for one in report.findings)} mended"] if fixed else []
    parts.append(f"{left} problem{'' if left == 1 else 's'} left" if left else "healthy")
    return ", ".join(parts) + (f"; `doctor --fix` mends {can}" if can and not fixed else "")


def examined_sandbox(session: Session, *, now: bool) -> tuple[str, str, tuple[TierTest, ...]]:
    """The tier in force, a sentence on it, and the tests."""
    from lumen_tui.engine.sandboxing import examined

    return examined(session.layout, now=now)


def _tries(one: TierTest) -> Iterator[tuple[str, ...]]:
    """A tier's test: the verdict, and each thing that was tried from inside."""
    yield one.tier, "holds" if one.holds else "does not hold", one.reason
    for name in one.tried:
        yield "", "got through" if name in one.through else "held", name


def _row(one: Finding) -> tuple[str, ...]:
    state = "mended" if one.mended else "note" if one.level == NOTE else "problem"
    said = one.what + (f" — {one.mended}" if one.mended else f" ({one.hint})" if one.hint else "")
    return state, one.check, one.where, said
