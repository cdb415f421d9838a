"""`doctor`: what is wrong with the state folder, and what was repaired."""

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

    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.tools.sandbox.tiers import TierTest


def declare(commands: CommandGroup) -> None:
    """Add the command of this module."""
    doctor = commands.add("doctor", run, "Look through the state folder for what is wrong.", "doctor --fix")
    doctor.add_argument("--fix", action="store_true", help="fix what can be fixed, and say what was done")
    doctor.add_argument("--sandbox", action="store_true", help="test the sandbox now, and say which tier holds")
    doctor.json()
    doctor.set_defaults(without_state=True)  # a folder that is not to be trusted is what the doctor is for


def run(session: Session, args: Namespace) -> int:
    if reason := session.layout.absent():
        raise ActionError(reason)
    report = examine(session.store, now=session.now, fix=args.fix)
    tier, sandbox, tested = examined_sandbox(session, now=args.sandbox)
    if args.json:
        facts = msgspec.to_builtins(report)
        tests = msgspec.to_builtins(tested)
        remaining = len(report.left)
        document(
            {**facts, "healthy": not remaining, "problems_left": remaining, "sandbox": tier, "sandbox_tests": tests}
        )
        return 1 if report.left else 0
    table([_row(entry) for entry in report.findings])
    if sandbox:
        say(sandbox)
    if args.sandbox:
        table([row for entry in tested for row in _tries(entry)])
    say(_verdict(report, args.fix))
    return 1 if report.left else 0


def _verdict(report: DoctorReport, fixed: bool) -> str:
    remaining = len(report.left)
    fixable = sum(finding.repairable for finding in report.left)
    parts = [f"{sum(bool(finding.repaired) for finding in report.findings)} fixed"] if fixed else []
    parts.append(f"{remaining} problem{'' if remaining == 1 else 's'} left" if remaining else "healthy")
    return ", ".join(parts) + (f"; `doctor --fix` mends {fixable}" if fixable and not fixed else "")


def examined_sandbox(session: Session, *, now: bool) -> tuple[str, str, tuple[TierTest, ...]]:
    """Return the sandbox tier in force, a sentence on it, and its tests."""
    from lumen_tui.engine.settings import examined

    return examined(session.layout, now=now)


def _tries(test: TierTest) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a tier's test: the verdict, and each attempt from inside."""
    yield test.tier, "holds" if test.holds else "does not hold", test.reason
    for name in test.tried:
        yield "", "got through" if name in test.through else "held", name


def _row(finding: Finding) -> tuple[str, ...]:
    state = "fixed" if finding.repaired else "note" if finding.level == NOTE else "problem"
    text = finding.what + (
        f" — {finding.repaired}" if finding.repaired else f" ({finding.hint})" if finding.hint else ""
    )
    return state, finding.check, finding.where, text
