"""Import data of other tools, as one entry that can be undone as a whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from lumen_tui.actions import acting, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.work import file_side
from lumen_tui.model import times
from lumen_tui.model.records import Change
from lumen_tui.model.requests.work import ImportBeads, ImportLumenFlow
from lumen_tui.storage import directories, files, locks, rewriting
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import import_beads, import_lumenflow, import_ranges
from lumen_tui.store.memory.import_ranges import LineRange
from lumen_tui.store.memory.importing import Destination, ImportPart, ImportReport

LINES_KIND = "imported lines"  # of a change
FILE_KIND = "imported file"
UNIT_KIND = "imported unit"  # one that was here: both texts of its file
_AGAIN = "what an import brought comes again by the same import: `import` is safe to repeat"


class Imported(Done, frozen=True, kw_only=True):
    """The outcome of an import."""

    report: ImportReport


def lumenflow(store: Store, request: ImportLumenFlow, *, by: str, now: float) -> Imported:
    """Find the folder and take it in as one action."""
    folder = import_lumenflow.lumenflow_folder(Path(request.path))
    if folder is None:
        raise ActionError(f"{request.path} is and holds no .lumenflow folder with memory/, state/ or stamps/")
    return _take(store, import_lumenflow.import_lumenflow, folder, by=by, now=now)


def issues(store: Store, request: ImportBeads, *, by: str, now: float) -> Imported:
    """Find issues.jsonl and take it in as one action."""
    file = import_beads.issues_file(Path(request.path))
    if file is None:
        raise ActionError(
            f"{request.path} neither is nor holds an issues.jsonl; its database is not read: "
            "`bd export -o issues.jsonl` writes one"
        )
    return _take(store, import_beads.import_beads, file, by=by, now=now)


def _take(
    store: Store, take: Callable[[Destination, Path], ImportReport], path: Path, *, by: str, now: float
) -> Imported:
    """Run an import as an action, recorded before its first line. An interrupted import resumes when repeated."""
    summary = f"import from {path}"
    action = edits.new_action("import", (), summary=summary, by=by, now=now, target=str(path))
    with journal.Transaction(store.layout) as transaction:
        begin = partial(transaction.announce, action)
        watch = acting.caller().watch
        report = take(Destination(store.layout, times.iso(now), begin, watch), path.absolute())
        changes = [change for part in report.parts for change in _changes(store.layout, part)]
        summary = f"{report.added} records imported from {path}"
        if changes:
            journal.record(store.layout, edits.new_action("import", changes, summary=summary, by=by, now=now))
    return Imported(summary=summary, target=str(path), action_id=action.id if changes else "", report=report)


def _changes(layout: Layout, part: ImportPart) -> list[Change]:
    changes = [Change(FILE_KIND, name, None, file_side(layout.root / name)) for name in part.copied]
    changes += [
        Change(UNIT_KIND, name, {"text": before}, {"text": _text(layout.root / name)})
        for name, before in part.replaced.items()
    ]
    if part.size:
        lines = import_ranges.line_range(layout.root / part.target, part.at, part.size)
        changes.append(Change(LINES_KIND, part.target, None, msgspec.to_builtins(lines)))
    return changes


def _line_range(change: Change) -> LineRange:
    return msgspec.convert(change.after or change.before or {}, LineRange)


def lines_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the imported lines are still together as they came."""
    present = import_ranges.find_range(store.root / change.key, _line_range(change)) >= 0
    return (change.after or change.before) if present else None


def may_lines(store: Store, change: Change) -> None:
    """For undo: refuse if something that the lines hold was changed since."""
    if change.after is not None:
        raise ActionError(_AGAIN)
    path = store.root / change.key
    lines = _line_range(change)
    _later(store, path, import_ranges.find_range(path, lines), lines.size)


def _later(store: Store, path: Path, at: int, size: int) -> import_ranges.Later:
    later = import_ranges.later_changes(path, at, size) if path == store.layout.memory else import_ranges.Later()
    if later.changed:
        raise ActionError(f"{later.changed} was changed since it was imported: undo that first")
    return later


def put_lines(store: Store, change: Change) -> None:
    """For undo: remove the lines again, unless something they hold was changed since."""
    path = store.root / change.key
    lines = _line_range(change)
    at = import_ranges.find_range(path, lines)
    later = _later(store, path, at, lines.size)
    try:
        import_ranges.cut_range(path, at, lines.size, later)
    except rewriting.JournalReplaced as error:
        raise ActionError(f"{change.key} was rewritten at this moment: try again") from error


def file_now(store: Store, change: Change) -> Side | None:
    """For undo: the hash of an imported file."""
    return file_side(store.root / change.key)


def may_file(_: Store, change: Change) -> None:
    """For undo: refuse to import the file again."""
    if change.after is not None:
        raise ActionError(_AGAIN)


def put_file(store: Store, change: Change) -> None:
    """For undo: remove the file; its source still has it."""
    directories.remove(store.root / change.key)


def _text(path: Path) -> str:
    return (files.read(path) or b"").decode(errors="replace")


def unit_now(store: Store, change: Change) -> Side | None:
    """For undo: the text of a work unit's file."""
    return {"text": _text(store.root / change.key)}


def put_unit(store: Store, change: Change) -> None:
    """For undo: give a work unit's file the text that it had."""
    with locks.waiting_lock(store.layout.lock("work")):
        files.replace(store.root / change.key, str((change.after or {}).get("text", "")).encode())
