"""Change lists as a person sees them, in the room and on a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from lumen_tui.actions import changelists, refusal
from lumen_tui.actions.changelists import ChangeListing
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model.changelist import ChangeList, Decision, FileChange, FileSide, marked, state_of, unified
from lumen_tui.model.text import safe
from lumen_tui.storage.store import Store
from lumen_tui.store.tasks import change_records, task_files
from lumen_tui.tools.base import size_text
from lumen_tui.tools.isolation import placing, records
from lumen_tui.tools.isolation.placing import Unplaceable
from lumen_tui.tools.sandbox.protected_paths import RUN_LATER

_OPEN = ("open", "part")
_OBEYED = frozenset({*RUN_LATER, ".gitattributes", ".envrc", ".github", "Makefile", "conftest.py", "setup.py"})


class ListView(Struct, frozen=True):
    """One change list among others."""

    task_id: str
    objective: str
    state: str
    changes: ChangeList
    added: int
    removed: int


def lists(store: Store, *, all: bool = False) -> list[ListView]:
    """Return the change lists that are open, newest first; with `all` those that were decided on as well."""
    views: list[ListView] = []
    for task_id in task_files.all_ids(store.layout) if all else change_records.entered(store.layout):
        try:
            listing = changelists.listing_of(store, task_id)
            spec = task_files.read_spec(store.layout, task_id)
        except (ActionError, OSError, ValueError):
            continue  # it has none, or `doctor` names what is wrong with it
        state = state_of(listing.changes, listing.decisions)
        if all or state in _OPEN:
            added, removed = (
                sum(getattr(file, name) for file in listing.changes.files) for name in ("added", "removed")
            )
            views.append(ListView(task_id, spec.objective if spec else "", state, listing.changes, added, removed))
    return sorted(views, key=lambda view: view.changes.at, reverse=True)


class FileView(Struct, frozen=True):
    """One file of an open change list."""

    listing: ChangeListing
    change: FileChange
    state: str
    conflict: str  # why it does not fit what is there now, or empty
    objective: str
    rivals: tuple[str, ...] = ()  # other tasks whose open lists change the same file


def file_reader(root: Path) -> Callable[[], list[FileView]]:
    """Return what reads the files of all open lists that are not decided on, the newest list first."""

    def read() -> list[FileView]:
        store, rows = Store(root), []
        for view in lists(store):
            listing = changelists.listing_of(store, view.task_id)
            for change in listing.changes.files:
                if changelists.open_part(listing, change):
                    state = listing.decision(change).state(change)
                    rows.append(FileView(listing, change, state, conflict(listing, change), view.objective))
        return _with_rivals(rows)

    return read


def _with_rivals(rows: Sequence[FileView]) -> list[FileView]:
    owners: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        owners.setdefault((row.listing.changes.top, row.change.path), []).append(row.listing.task_id)
    return [
        structs.replace(row, rivals=tuple(name for name in names if name != row.listing.task_id))
        for row in rows
        for names in (owners[row.listing.changes.top, row.change.path],)
    ]


def facts(view: ListView) -> dict[str, object]:
    """Return a list as data."""
    return {
        "task": view.task_id,
        "state": view.state,
        "objective": view.objective,
        "top": view.changes.top,
        "at": view.changes.at,
        "files": len(view.changes.files),
        "added": view.added,
        "removed": view.removed,
    }


def below(changes: ChangeList, paths: Sequence[str]) -> list[FileChange]:
    """Return the files that are named, or below a folder that is."""
    chosen = []
    for path in paths:
        folder = path.rstrip("/") + "/"
        named = [change for change in changes.files if change.path == path or change.path.startswith(folder)]
        if not named:
            known = [change.path for change in changes.files]
            raise ActionError(f"{safe(path)} is not in the change list", candidates=refusal.nearest(path, known))
        chosen += named
    return chosen


def conflict(listing: ChangeListing, change: FileChange) -> str:
    """Return why an open change does not fit what is there now, or empty."""
    chosen = changelists.open_part(listing, change)
    try:
        return changelists.conflict_of(listing, chosen) if chosen else ""
    except OSError as error:
        return str(error)


def remark(change: FileChange, among: Iterable[FileChange] = ()) -> str:
    """Return what a person should know before a file is accepted, in a few words; `among` are the files of its list."""
    for other in among:
        if other.path != change.path and other.path.casefold() == change.path.casefold() and other.after is not None:
            return f"beside {other.path}: a file system that ignores case has room for one"
    if any(side is not None and side.link for side in (change.before, change.after)):
        return "a link"
    if _OBEYED & set(change.path.split("/")):
        return "other programs run or obey it"
    if change.before is not None and change.after is not None and change.before.same(change.after) is False:
        return _mode_words(change.before, change.after)
    return ""


def _mode_words(before: FileSide, after: FileSide) -> str:
    was, is_now = bool(before.mode & 0o100), bool(after.mode & 0o100)
    if was == is_now:
        return ""
    return "can be run from now on" if is_now else "can no longer be run"


def sizes(change: FileChange) -> str:
    """Return the sizes of what is taken whole."""
    was = size_text(change.before.size) if change.before else "nothing"
    return f"{was} -> {size_text(change.after.size) if change.after else 'nothing'}"


def diff(listing: ChangeListing, change: FileChange) -> list[tuple[int, str]]:
    """Return the lines of a file's diff, safe to show, each with the number of its hunk (0: of none)."""
    try:
        if change.text:
            before, after = (
                records.content(listing.folder, change.before),
                records.content(listing.folder, change.after),
            )
            return [(number, safe(line)) for number, line in unified(before, after)]
        if any(side is not None and side.link for side in (change.before, change.after)):
            return [(0, f"-{_target(listing, change.before)}"), (0, f"+{_target(listing, change.after)}")]
    except OSError as error:
        return [(0, safe(str(error)))]
    return [(0, f"no text that could be shown: {sizes(change)}")]


def _target(listing: ChangeListing, side: FileSide | None) -> str:
    if side is None or not side.link:
        return "no link"
    return safe(records.content(listing.folder, side).decode("utf-8", "replace"))


def proposal(listing: ChangeListing, change: FileChange) -> bytes:
    """Return what a person edits: the file that is there with what fits, and the rest between marks."""
    if not change.text:
        raise ActionError(f"{change.path} is no text that could be edited: accept or drop it whole")
    try:
        target = placing.target_of(listing.changes.top, change)
        there = placing.side_there(target)
        current = records.current(target, there) if there is not None else b""
        before, after = records.content(listing.folder, change.before), records.content(listing.folder, change.after)
    except Unplaceable as error:
        raise ActionError(f"{change.path}: {error}") from error
    except OSError as error:
        raise ActionError(f"{change.path}: {error}") from error
    open_hunks = listing.decisions.get(change.path, Decision()).open_hunks(change)
    return after if there is None else marked(current, before, after, open_hunks)


def keep_edited(listing: ChangeListing, content: bytes) -> str:
    """Keep what a person edited with the list; return its hash."""
    return records.keep_bytes(listing.folder, content, mode=0o644).sha256
