"""Import data of other tools, as one entry that can be undone as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lumen_tui.actions import acting, edits
from lumen_tui.actions.edits import Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.work import file_side
from lumen_tui.model import times
from lumen_tui.model.digests import sha256
from lumen_tui.model.records import Change
from lumen_tui.model.requests.work import ImportBeads, ImportLumenFlow
from lumen_tui.storage import directories, files, locks, rewriting
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import import_beads, import_lumenflow, import_ranges
from lumen_tui.store.memory.import_ranges import LineRange
from lumen_tui.store.memory.importing import Destination, ImportReport, PlannedWrite

LINES_KIND = "imported lines"  # of a change
FILE_KIND = "imported file"
UNIT_KIND = "imported unit"  # one that was here: both texts of its file
_AT = "@"  # in the key of lines: between the journal and where they begin
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
    """Run an import as one action: each of its writes is recorded beforehand, so that undo knows of all that came.

    An import that ends in the middle, at a full disk or a kill, resumes when it is repeated.
    """
    begun: list[str] = []

    @contextmanager
    def writing(upcoming: PlannedWrite) -> Iterator[None]:
        changes = _changes(upcoming)
        action = edits.new_action("import", changes, summary=f"import from {path}", by=by, now=now, target=str(path))
        with journal.Transaction(store.layout) as transaction:
            transaction.announce(action)
            begun.append(action.group or action.id)
            if len(changes) > 1:
                transaction.partly_done()  # an error may come after the first file
            yield

    report = take(Destination(store.layout, times.iso(now), writing, acting.caller().watch), path.absolute())
    summary = f"{report.added} records imported from {path}"
    return Imported(summary=summary, target=str(path), action_id=begun[0] if begun else "", report=report)


def _changes(upcoming: PlannedWrite) -> list[Change]:
    changes = [Change(FILE_KIND, name, None, {"sha256": sha256(data)}) for name, data in upcoming.made.items()]
    changes += [
        Change(UNIT_KIND, name, {"text": _decoded(before)}, {"text": _decoded(after)})
        for name, (before, after) in upcoming.replaced.items()
    ]
    if upcoming.lines is not None:
        key = f"{upcoming.journal}{_AT}{upcoming.lines.at}"  # an import may add to one journal twice
        changes.append(Change(LINES_KIND, key, None, msgspec.to_builtins(upcoming.lines)))
    return changes


def _journal(store: Store, change: Change) -> Path:
    return store.root / change.key.partition(_AT)[0]


def _line_range(change: Change) -> LineRange:
    return msgspec.convert(change.after or change.before or {}, LineRange)


def lines_now(store: Store, change: Change) -> Side | None:
    """For undo: whether the imported lines are still together as they came."""
    present = import_ranges.find_range(_journal(store, change), _line_range(change)) >= 0
    return (change.after or change.before) if present else None


def may_lines(store: Store, change: Change) -> None:
    """For undo: refuse if something that the lines hold was changed since."""
    if change.after is not None:
        raise ActionError(_AGAIN)
    path = _journal(store, change)
    lines = _line_range(change)
    _later(store, path, import_ranges.find_range(path, lines), lines.size)


def _later(store: Store, path: Path, at: int, size: int) -> import_ranges.Later:
    later = import_ranges.later_changes(path, at, size) if path == store.layout.memory else import_ranges.Later()
    if later.changed:
        raise ActionError(f"{later.changed} was changed since it was imported: undo that first")
    return later


def put_lines(store: Store, change: Change) -> None:
    """For undo: remove the lines again, unless something they hold was changed since."""
    path = _journal(store, change)
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


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")


def unit_now(store: Store, change: Change) -> Side | None:
    """For undo: the text of a work unit's file."""
    return {"text": _decoded(files.read(store.root / change.key) or b"")}


def put_unit(store: Store, change: Change) -> None:
    """For undo: give a work unit's file the text that it had."""
    with locks.waiting_lock(store.layout.lock("work")):
        files.replace(store.root / change.key, str((change.after or {}).get("text", "")).encode())
