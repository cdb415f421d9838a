"""`import`, `export`: what comes from other tools, and what goes to them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import cleanup, edits
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.commands.nodes import ImportProgress
from lumen_tui.cli.session import Session, document, say, talk
from lumen_tui.model import fields
from lumen_tui.model.records import LIFECYCLES, NODE_TYPES
from lumen_tui.model.requests.work import ImportBeads, ImportLumenFlow
from lumen_tui.model.summary import meta
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.files import NotWritten
from lumen_tui.storage.redaction import PROCESS
from lumen_tui.store.memory.edges import in_force
from lumen_tui.store.memory.importing import ImportPart, ImportReport
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.nodes import Raw

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup
    from lumen_tui.store.memory.exporting import ExportReport


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    _declare_imports(commands)
    _declare_export(commands)


def _declare_imports(commands: CommandGroup) -> None:
    group = commands.group("import", "Take over the data of another tool; twice changes nothing.")
    for name, kind, text, example in (
        ("lumenflow", ImportLumenFlow, "A .lumenflow folder.", "~/project"),
        ("beads", ImportBeads, "The issues of beads.", ".beads/issues.jsonl"),
    ):
        command = group.add(name, run_import, text, f"import {name} {example}")
        command.fields(kind)
        command.set_defaults(kind=kind)
        command.add_argument("--json", action="store_true", help="the report as one JSON document")


def run_import(session: Session, args: Namespace) -> int:
    from lumen_tui.actions.imports import Imported

    try:
        done = session.perform(args.kind(path=str(Path(args.path).expanduser())), watch=ImportProgress())
    except OSError as error:
        raise NotWritten(
            f"{error.filename or args.path}: {error.strerror}; run the import again when that is fixed"
        ) from error
    assert isinstance(done, Imported)  # noqa: S101 - what the verb gives
    report = done.report
    if args.json:
        facts = {key: value for key, value in msgspec.to_builtins(report).items() if key != "parts"}
        parts = [{**msgspec.to_builtins(part), "replaced": sorted(part.replaced)} for part in report.parts]
        counts = {"added": report.added, "quarantined": report.quarantined, "masked": PROCESS.rules}
        document({**facts, "parts": parts, **counts})
        return _import_code(report)
    for part in report.parts:
        _show_part(part)
    for note in report.notes:
        say(note)
    _show_counts("not taken", report.left_out)
    total = f"{report.added} added, {report.quarantined} could not be used"
    say(total + (" (kept in quarantine/)" if report.quarantined else ""))
    _report_triage(session)
    return _import_code(report)


def _show_counts(words: str, counts: dict[str, int]) -> None:
    if counts:
        talk(f"{words}: {_counted(counts)}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{what} ({count:,})" for what, count in counts.items())


def _import_code(report: ImportReport) -> int:
    """Return the exit code: 2 where not one line of the file can be used."""
    used = report.added + sum(part.present for part in report.parts)
    return 2 if report.quarantined and not used else 0


def _report_triage(session: Session) -> None:
    """Report how many discoveries wait for triage after the import."""
    waiting = len(session.snapshot().discoveries)
    if waiting:
        sentence = "1 discovery waits" if waiting == 1 else f"{waiting} discoveries wait"
        talk(f"{sentence} in triage: `lumen-tui triage` goes through them, `lumen-tui` shows them")


def _show_part(part: ImportPart) -> None:
    name = Path(part.source).name
    say(
        f"{name} → {part.target}: {part.read} read, {part.added} added, {part.present} there already"
        + (f", {part.kept} kept as they are here" if part.kept else "")
    )
    for problem in part.problems:
        talk(f"  {problem}")


_NOTHING = 3
_FORMATS = ("markdown", "json")


def _declare_export(commands: CommandGroup) -> None:
    export = commands.add(
        "export",
        run_export,
        "Memory nodes as one document, or all that another tool can hold: a LumenFlow project, a file for beads.",
        "export lumenflow ../project",
    )
    export.add_argument("kind", nargs="?", default="", choices=("", *_TARGETS), metavar="KIND", help="lumenflow, beads")
    export.add_argument("path", nargs="?", default="", metavar="PATH", help="a new folder; for beads a new file")
    export.add_argument("--wu", default="", help="of this work unit")
    export.add_argument(
        "-t", "--type", default="", choices=("", *NODE_TYPES), metavar="TYPE", help=", ".join(NODE_TYPES)
    )
    export.add_argument(
        "-l", "--lifecycle", default="", choices=("", *LIFECYCLES), metavar="LIFECYCLE", help=", ".join(LIFECYCLES)
    )
    export.add_argument("-f", "--format", default=_FORMATS[0], choices=_FORMATS, help="[markdown]")
    export.add_argument("--all", action="store_true", help="deleted nodes, too")
    export.add_argument("--json", action="store_true", help="as -f json; with KIND the report as one JSON document")


def _lumenflow(session: Session, path: Path) -> ExportReport:
    from lumen_tui.store.memory import export_lumenflow

    return export_lumenflow.export(session.layout, path, ImportProgress())


def _beads(session: Session, path: Path) -> ExportReport:
    from lumen_tui.store.memory import export_beads

    return export_beads.export(session.layout, path, ImportProgress())


_TARGETS = {"lumenflow": _lumenflow, "beads": _beads}


def run_export(session: Session, args: Namespace) -> int:
    if not args.kind:
        return run_export_nodes(session, args)
    from lumen_tui.store.memory.exporting import ExportRefused

    if not args.path:
        raise ActionError(f"name where to: `export {args.kind} PATH`")
    if args.wu or args.type or args.lifecycle or args.all:
        raise ActionError(f"`export {args.kind}` takes the whole folder: leave out --wu, --type, --lifecycle and --all")
    try:
        report = _TARGETS[args.kind](session, Path(args.path).expanduser())
    except ExportRefused as error:
        raise ActionError(str(error)) from error
    if args.json:
        document(report)
        return 0
    say(f"{report.path}: {_counted(report.written) or 'nothing'}")
    for note in report.notes:
        talk(note)
    _show_counts("not in it", report.left_out)
    return 0


def run_export_nodes(session: Session, args: Namespace) -> int:
    wu_id = fields.work_unit(args.wu)
    fitting = [
        node
        for node in newest_nodes(session.layout)
        if (not wu_id or node.get("wu_id") == wu_id)
        and (not args.type or node.get("type") == args.type)
        and (not args.lifecycle or cleanup.lifecycle_of(node) == args.lifecycle)
    ]
    nodes = fitting if args.all else [node for node in fitting if edits.status_of(node) != "deleted"]
    if args.json or args.format == "json":
        document(nodes)
    else:
        _markdown(nodes)
    if deleted := len(fitting) - len(nodes):
        talk(f"not in it: deleted nodes ({deleted:,}), which --all shows")
    if edges := sum(1 for _ in in_force(session.layout)):
        talk(f"not in it: relationships ({edges:,}), which `export lumenflow PATH` writes")
    if not nodes:
        talk("no node fits")
    return 0 if nodes else _NOTHING


def _markdown(nodes: Iterable[Raw]) -> None:
    for node in nodes:
        title = one_line(edits.title_of(node), 120)
        tags = " ".join(f"#{one_line(tag, 60)}" for tag in node.get("tags") or () if isinstance(tag, str))
        facts = [
            str(node["id"]),
            str(node.get("type", "")),
            meta(node, "priority"),
            edits.status_of(node),
            str(node.get("wu_id") or ""),
            str(node.get("created_at", "")),
            str(node.get("created_by") or ""),
        ]
        say(f"## {title}\n\n{' · '.join(one_line(fact, 80) for fact in facts if fact)}{'  ' + tags if tags else ''}\n")
        body = safe(str(node.get("content", ""))).partition("\n")[2].strip()
        if body:
            say(body + "\n")
