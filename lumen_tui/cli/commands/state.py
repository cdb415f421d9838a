"""`init`, `status`, `health`, `events`, `undo`, `redo`, `doctor`: the state folder as a whole."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli import following
from lumen_tui.cli.session import Session, document, say, table
from lumen_tui.model import times
from lumen_tui.model.loop import EngineEvent, event_line
from lumen_tui.model.requests.engine import Redo, Undo
from lumen_tui.storage import layout as layouts
from lumen_tui.storage import schema
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.journal import Follower
from lumen_tui.storage.origin import agent_evidence
from lumen_tui.storage.shipped import write_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.engine.doctor.disk import DoctorFinding, DoctorReport
    from lumen_tui.storage.chain_check import ChainReport
    from lumen_tui.tools.sandbox.tiers import TierTest


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_state(commands)
    _declare_doctor(commands)


def _declare_state(commands: CommandGroup) -> None:
    init = commands.add("init", run_init, "Make the state folder; fine where it is there.", "init --state ~/lumen")
    init.set_defaults(without_state=True)
    status = commands.add("status", run_status, "One line of status.", "status -q")
    status.add_argument(
        "-q", "--quiet", action="store_true", help="only the count of what needs a person; exit 1 if any"
    )
    status.add_argument("--short", action="store_true", help="state and counts alone, for the status line of tmux")
    status.json()
    text = "Whether the engine is healthy: exit 0 if so, else 1, as containers and monitors ask."
    health = commands.add("health", run_health, text, "health --ready")
    health.add_argument("--ready", action="store_true", help="ask for more: that it starts the work that it is given")
    health.json()
    events = commands.add("events", run_events, "What the engine did.", "events --follow")
    events.add_argument("-n", "--lines", type=int, default=50, help="how many of the last ones [50]")
    events.add_argument("-f", "--follow", action="store_true", help="follow new ones until interrupted")
    events.add_argument("--json", action="store_true", help="one JSON document (with --follow: JSON lines)")
    commands.verb("undo", Undo, "Take back your last action.", "undo")
    commands.verb("redo", Redo, "Do again what you undid last.", "redo")


def run_init(session: Session, args: Namespace) -> int:
    existed = session.layout.exists()
    if session.root.exists() and (reason := layouts.distrust(session.root)):
        raise StoreError(reason)
    session.layout.create()
    written = write_settings(session.layout)
    say(f"{session.root} {'was there already' if existed else 'is ready'}")
    if written:
        say(f"every setting is in {session.layout.config} with its default: remove the # to change it")
    return 0


def run_status(session: Session, args: Namespace) -> int:
    if args.quiet and not args.json:
        count = len(session.queue().shown)
        say(str(count))
        return 1 if count else 0
    from lumen_tui.cli import status  # which shows what is at work, and what it took so far

    return status.status(session, args)


def run_health(session: Session, args: Namespace) -> int:
    from lumen_tui.cli import health

    return health.health(session, args)


def run_events(session: Session, args: Namespace) -> int:
    if args.lines < 0:
        raise ActionError("--lines needs a number from 0 up")
    follower = Follower(session.layout.events)
    events = following.recent(follower, EngineEvent, args.lines)
    return following.listed(events, follower, EngineEvent, _text_line, args, nothing="no events yet")


def _text_line(event: EngineEvent) -> None:
    say(f"{event.at}  {event.kind:<12} {event_line(event)}".rstrip())


def _declare_doctor(commands: CommandGroup) -> None:
    doctor = commands.add("doctor", run_doctor, "Look through the state folder for what is wrong.", "doctor --fix")
    doctor.add_argument("--fix", action="store_true", help="fix what can be fixed, and say what was done")
    doctor.add_argument("--sandbox", action="store_true", help="test the sandbox now, and say which tier holds")
    text = "the head of the history that you kept elsewhere: exit 1 where it is not in the history"
    doctor.add_argument("--head", default="", metavar="HASH", help=text)
    text = "seal the journals as they are now, as you changed them yourself"
    doctor.add_argument("--accept-history", action="store_true", help=text)
    doctor.json()
    doctor.set_defaults(without_state=True)  # a folder that is not to be trusted is what the doctor is for


def run_doctor(session: Session, args: Namespace) -> int:
    from lumen_tui.engine.doctor.examine import examine
    from lumen_tui.engine.doctor.history import head_words
    from lumen_tui.storage.chain_check import look_through

    if reason := session.layout.absent() or (args.fix and schema.heed(session.layout.schema)):
        raise ActionError(reason)
    if args.accept_history:
        _accept_history(session)
    report = examine(session.store, now=session.now, fix=args.fix)
    chain = look_through(session.root, journals=False)
    is_sound = not report.left and (not args.head or args.head in chain.hashes)
    tier, sandbox, tested = examined_sandbox(session, now=args.sandbox)
    if args.json:
        tests = msgspec.to_builtins(tested)
        document({**_document(report, chain), "healthy": is_sound, "sandbox": tier, "sandbox_tests": tests})
        return 0 if is_sound else 1
    table([_finding_row(entry) for entry in report.findings])
    if sandbox:
        say(sandbox)
    if args.sandbox:
        table([row for entry in tested for row in _attempts(entry)])
    if words := head_words(chain, args.head):
        say(words)
    say(_health(report, args.fix))
    return 0 if is_sound else 1


def _document(report: DoctorReport, chain: ChainReport) -> dict[str, object]:
    """Return what was found as plain values."""
    history = {"seals": chain.seals, "head": chain.head, "at": chain.at}
    return {**msgspec.to_builtins(report), "problems_left": len(report.left), "history": history}


def _accept_history(session: Session) -> None:
    """Seal everything as it is, on the word of the operator alone."""
    from lumen_tui.storage import chain_check

    if evidence := agent_evidence(os.environ):
        raise ActionError(f"only you accept a changed history, at a terminal of your own ({evidence})")
    chain_check.accept(session.root, times.iso(session.now), f"by {session.operator}")


def _health(report: DoctorReport, fixed: bool) -> str:
    remaining = len(report.left)
    fixable = sum(finding.repairable for finding in report.left)
    parts = [f"{sum(bool(finding.repaired) for finding in report.findings)} fixed"] if fixed else []
    parts.append(f"{remaining} problem{'' if remaining == 1 else 's'} left" if remaining else "healthy")
    return ", ".join(parts) + (f"; `doctor --fix` fixes {fixable}" if fixable and not fixed else "")


def examined_sandbox(session: Session, *, now: bool) -> tuple[str, str, tuple[TierTest, ...]]:
    """Return the sandbox tier in force, a sentence on it, and its tests."""
    from lumen_tui.engine.sandbox_tier import examined

    return examined(session.layout, now=now)


def _attempts(test: TierTest) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a tier's test: the verdict, and each attempt from inside."""
    yield test.tier, "holds" if test.holds else "does not hold", test.reason
    for name in test.tried:
        yield "", "got through" if name in test.through else "held", name


def _finding_row(finding: DoctorFinding) -> tuple[str, ...]:
    from lumen_tui.engine.doctor.disk import NOTE

    state = "fixed" if finding.repaired else "note" if finding.level == NOTE else "problem"
    text = finding.what + (
        f" — {finding.repaired}" if finding.repaired else f" ({finding.hint})" if finding.hint else ""
    )
    return state, finding.check, finding.where, text
