"""One file of a change list line by line: what became of each hunk, and the other side where one does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from lumen_tui.actions import change_views, changelists
from lumen_tui.actions.changelists import KIND, ChangeListing
from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import ids
from lumen_tui.model.changelist import Decision, FileChange, is_text, unified
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.isolation import placing, records
from lumen_tui.tools.isolation.placing import Unplaceable

_LOOKED_THROUGH = 1000  # of the newest actions, for who changed a file
OPEN, CLASH, ACCEPTED, DROPPED = "open", "conflict", "accepted", "dropped"


class DiffLine(Struct, frozen=True):
    """One line, safe to show. `hunk` is 0 for what is about the file; the first line of a hunk has its `state`."""

    number: int
    hunk: int
    text: str
    state: str = ""


class FileLines(Struct, frozen=True):
    """A file of a change list, whole."""

    listing: ChangeListing
    change: FileChange
    lines: tuple[DiffLine, ...]
    open_hunks: tuple[int, ...]
    clashes: frozenset[int]


def reader(root: Path, task_id: str, path: str) -> Callable[[], FileLines]:
    """Return what reads one file of a list. ActionError where it is not there any more."""

    def read() -> FileLines:
        store = Store(root)
        listing = changelists.listing_of(store, task_id)
        change = listing.changes.find(path)
        if change is None:
            raise ActionError(f"{path} is not in the change list any more", missing=True)
        return _file(store, listing, change)

    return read


def _file(store: Store, listing: ChangeListing, change: FileChange) -> FileLines:
    decision, chosen = listing.decision(change), changelists.open_part(listing, change)
    clashes = changelists.clashing(listing, chosen) if chosen else frozenset()
    lines: list[tuple[int, str, str]] = [(0, text, "") for text in _about(store, listing, change)]
    before = 0
    for hunk, text in change_views.diff(listing, change):
        lines.append((hunk, text, _state(decision, hunk, clashes) if hunk != before else ""))
        before = hunk
    if chosen and change_views.conflict(listing, change):
        lines += [(0, text, "") for text in other_side(store, listing, change)]
    shown = tuple(DiffLine(number, *line) for number, line in enumerate(lines))
    return FileLines(listing, change, shown, chosen.hunks if chosen else (), clashes)


def _state(decision: Decision, hunk: int, clashes: frozenset[int]) -> str:
    """Return what stands beside a hunk: what was decided on it, or on the file."""
    if hunk in decision.accepted:
        return ACCEPTED
    if hunk in decision.dropped:
        return DROPPED
    if decision.whole:
        return decision.whole
    return CLASH if hunk in clashes else OPEN


def _about(store: Store, listing: ChangeListing, change: FileChange) -> Iterator[str]:
    try:
        spec = task_files.read_spec(store.layout, listing.task_id)
    except BadFile:
        spec = None
    yield f"{change.kind} by task {ids.short(listing.task_id)}: {one_line(spec.objective if spec else '', 200)}"
    if conflict := change_views.conflict(listing, change):
        yield f"does not fit: {conflict}"
    if remark := change_views.remark(change, listing.changes.files):
        yield remark
    yield from (safe(note) for note in listing.changes.notes)


def other_side(store: Store, listing: ChangeListing, change: FileChange) -> Iterator[str]:
    """Yield what became of the file since the task began, and by whom as far as that is known."""
    yield f"what is there now, since the task began: {_who(store, listing, change)}"
    try:
        there = placing.side_there(placing.target_of(listing.changes.top, change))
        now = records.current(placing.target_of(listing.changes.top, change), there) if there else b""
        before = records.content(listing.folder, change.before) if change.known else b""
    except (Unplaceable, OSError) as error:
        yield safe(str(error))
        return
    if there is None:
        yield "the file is gone"
    elif there.link or not (change.text and is_text(now)):
        yield "no text that could be shown"
    else:
        yield from (safe(text).partition(" hunk ")[0] if number else text for number, text in _heads(before, now))


def _heads(before: bytes, now: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of a diff; only the head of a hunk has its number."""
    last = 0
    for number, text in unified(before, now):
        yield (number if number != last else 0), safe(text)
        last = number


def _who(store: Store, listing: ChangeListing, change: FileChange) -> str:
    """Return who brought in the newest change of the file from another list, or that it is not known."""
    for action in islice(journal.newest_first(store.layout), _LOOKED_THROUGH):
        for other in action.changes:
            task_id, _, path = other.key.partition(" ")
            another = path == change.path and task_id != listing.task_id
            if other.kind != KIND or not another or "there" not in (other.after or {}):
                continue
            if _top(store, task_id) == listing.changes.top:
                return f"{one_line(action.by, 40)} brought in task {ids.short(task_id)}, {action.at[:16]}"
    return "changed outside of change lists"


def _top(store: Store, task_id: str) -> str:
    try:
        return changelists.listing_of(store, task_id).changes.top
    except ActionError:
        return ""
