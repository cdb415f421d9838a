"""What `health` answers: whether the engine is healthy, and what is wrong."""

from __future__ import annotations

from argparse import Namespace

from lumen_tui.cli.session import Session, document, say
from lumen_tui.engine.health import health_report
from lumen_tui.model.health import PASS
from lumen_tui.model.text import one_line


def health(session: Session, args: Namespace) -> int:
    """Print whether the engine is healthy, and what is wrong."""
    report = health_report(session.snapshot())
    if args.json:
        document(report.fields())
    else:
        say(report.status)
        for name, check in report.checks.items():
            if check.status != PASS:
                say(f"  {name}: {check.status}: {one_line(check.output, 300)}")
    return 0 if report.ready or (report.alive and not args.ready) else 1
