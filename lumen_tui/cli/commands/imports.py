"""`import lumenflow PATH`, `import beads FILE`: the data of other tools; repeated imports change nothing."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model.requests.work import ImportBeads, ImportLumenFlow
from lumen_tui.storage.files import NotWritten
from lumen_tui.storage.redaction import PROCESS
from lumen_tui.store.memory.importing import ImportPart, ImportReport

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("import", "Take over the data of another tool; twice changes nothing.")
    for name, kind, text, example in (
        ("lumenflow", ImportLumenFlow, "A .lumenflow folder.", "~/project"),
        ("beads", ImportBeads, "The issues of beads.", ".beads/issues.jsonl"),
    ):
        command = group.add(name, run, text, f"import {name} {example}")
        command.fields(kind)
        command.set_defaults(kind=kind)
        command.add_argument("--json", action="store_true", help="the report as one JSON document")


def run(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.imports import Imported

    try:
        done = session.perform(args.kind(path=str(Path(args.path).expanduser())))
    except OSError as error:
        raise NotWritten(
            f"{error.filename or args.path}: {error.strerror}; run the import again when that is fixed"
        ) from error
    assert isinstance(done, Imported)  # noqa: S101 - what the verb gives
    report = done.report
    if args.json:
        document(
            {
                **msgspec.to_builtins(report),
                "added": report.added,
                "quarantined": report.quarantined,
                "masked": PROCESS.rules,
            }
        )
        return _code(report)
    for part in report.parts:
        _show(part)
    total = f"{report.added} added, {report.quarantined} could not be used"
    say(total + (" (kept in quarantine/)" if report.quarantined else ""))
    _report_triage(session)
    return _code(report)


def _code(report: ImportReport) -> int:
    """Return the exit code: 2 where not one line of the file can be used."""
    used = report.added + sum(part.present for part in report.parts)
    return 2 if report.quarantined and not used else 0


def _report_triage(session: Session) -> None:
    """Report how many discoveries wait for triage after the import."""
    waiting = len(session.snapshot().discoveries)
    if waiting:
        sentence = "1 discovery waits" if waiting == 1 else f"{waiting} discoveries wait"
        talk(f"{sentence} in triage: `lumen-tui triage` goes through them, `lumen-tui` shows them")


def _show(part: ImportPart) -> None:
    name = Path(part.source).name
    say(
        f"{name} → {part.target}: {part.read} read, {part.added} added, {part.present} there already"
        + (f", {part.kept} kept as they are here" if part.kept else "")
    )
    for problem in part.problems:
        talk(f"  {problem}")
