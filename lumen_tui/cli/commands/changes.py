"""`changes`: what tasks changed that worked apart; brought into your files, dropped, committed, pushed."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import change_views, changelists
from lumen_tui.actions.changelists import ChangeListing
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.editing import edited
from lumen_tui.cli.session import Session, document, print_id_and_outcome, print_outcome, say, table, talk
from lumen_tui.model import times
from lumen_tui.model.changelist import FileChange, state_of
from lumen_tui.model.requests.changes import (
    AcceptChanges,
    CommitChanges,
    DropChanges,
    GiveConflicts,
    PushBranch,
    WriteChange,
)
from lumen_tui.model.text import one_line, safe
from lumen_tui.tools.base import plural

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup

_MOST_LINES = 400  # of one file's diff, unless --all


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("changes", "What tasks changed in folders of their own.", alone="list")
    listing = group.add("list", run_list, "The change lists that are open, newest first.", "changes list")
    listing.add_argument("--all", action="store_true", help="those that were decided on as well")
    show = group.add("show", run_show, "The files of a list, or the hunks of some.", "changes show 7f2 src/parser.py")
    show.fields(AcceptChanges, "task_id")
    show.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder: its hunks with their numbers")
    show.add_argument("--all", action="store_true", help="long diffs whole")
    group.verb(
        "accept", AcceptChanges, "Bring them into your files.", "changes accept 7f2 src/parser.py:1,3", judged=True
    )
    group.verb("drop", DropChanges, "Decide against them.", "changes drop 7f2 README.md", judged=True)
    edit = group.add("edit", run_edit, "Open a file in $EDITOR, and bring it in.", "changes edit 7f2 src/parser.py")
    edit.fields(WriteChange, "task_id", "path")
    group.verb(
        "commit", CommitChanges, "Commit them to a new branch.", "changes commit 7f2 --branch parser", judged=True
    )
    group.verb("push", PushBranch, "Push that branch to a server.", "changes push 7f2 --pr", judged=True)
    group.verb(
        "give",
        GiveConflicts,
        "Have a worker bring in what no longer fits; prints the task's id.",
        "changes give 7f2 src/parser.py",
        prints=print_id_and_outcome,
    )
    for command in (listing, show, edit):
        command.json()


def run_list(session: Session, args: Namespace) -> int:
    views = change_views.lists(session.store, all=args.all)
    if args.json:
        document([change_views.facts(view) for view in views])
    else:
        table([_row(view, session.now) for view in views])
    if not views:
        talk("no change list is open: `task new --isolate worktree` has a task hand one in")
    return 0 if views else 3


def _row(view: change_views.ListView, now: float) -> tuple[str, ...]:
    files = f"{plural(len(view.changes.files), 'file')} +{view.added:,} -{view.removed:,}"
    ago = times.age(now - times.epoch(view.changes.at))
    return view.task_id, view.state, files, ago, one_line(view.objective, 60), safe(view.changes.top)


def run_show(session: Session, args: Namespace) -> int:
    listing = changelists.listing_of(session.store, args.task_id)
    if args.json:
        document(_described(listing))
        return 0
    changes = listing.changes
    origin = f" from commit {changes.commit[:12]} of {changes.branch or 'no branch'}" if changes.commit else ""
    say(f"{listing.task_id}  {state_of(changes, listing.decisions)}  {safe(changes.top)}{origin}")
    for note in changes.notes:
        talk(note)
    if not args.paths:
        table([_file_row(listing, change) for change in changes.files])
        if not changes.files:
            talk("it changed nothing")
        return 0
    for change in change_views.below(changes, args.paths):
        _say_diff(listing, change, whole=args.all)
    return 0


def _file_row(listing: ChangeListing, change: FileChange) -> tuple[str, ...]:
    state = listing.decision(change).state(change)
    conflict = change_views.conflict(listing, change)
    size = (
        f"+{change.added:,} -{change.removed:,}, {plural(change.hunks, 'hunk')}"
        if change.text
        else change_views.sizes(change)
    )
    words = f"does not fit: {conflict}" if conflict else change_views.remark(change, listing.changes.files)
    return state, change.kind, safe(change.path), size, words


def _described(listing: ChangeListing) -> dict[str, object]:
    facts: dict[str, object] = msgspec.to_builtins(listing.changes)
    facts["state"] = state_of(listing.changes, listing.decisions)
    facts["decisions"] = msgspec.to_builtins(listing.decisions)
    return facts


def _say_diff(listing: ChangeListing, change: FileChange, *, whole: bool) -> None:
    decision = listing.decision(change)
    say(f"--- {safe(change.path)}  {change.kind}, {decision.state(change)}  {change_views.remark(change)}".rstrip())
    lines = change_views.diff(listing, change)
    for number, line in lines if whole else lines[:_MOST_LINES]:
        mark = "✓" if number in decision.accepted else "✗" if number in decision.dropped else " "
        say(f"{mark} {line}" if line.startswith("@@") else f"  {line}")
    if not whole and len(lines) > _MOST_LINES:
        talk(f"{len(lines) - _MOST_LINES:,} more lines: --all")


def run_edit(session: Session, args: Namespace) -> int:
    listing = changelists.listing_of(session.store, args.task_id)
    change = listing.changes.find(args.path)
    if change is None:
        raise ActionError(f"{one_line(args.path, 200)} is not in the change list", missing=True)
    with edited(change_views.proposal(listing, change), os.path.basename(change.path) or "text") as after:
        sha256 = change_views.keep_edited(listing, after)
    request = WriteChange(task_id=listing.task_id, path=change.path, sha256=sha256)
    return print_outcome(session.perform(request), as_json=args.json)
