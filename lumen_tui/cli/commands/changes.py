"""`changes`: what tasks changed that worked apart; brought into your files, dropped, committed, pushed."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from lumen_tui.actions import change_views, changelists
from lumen_tui.actions.changelists import Listed
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
    found = change_views.lists(session.store, all=args.all)
    if args.json:
        document([change_views.facts(one) for one in found])
    else:
        table([_row(one, session.now) for one in found])
    if not found:
        talk("no change list is open: `task new --isolate worktree` has a task hand one in")
    return 0 if found else 3


def _row(one: change_views.ListView, now: float) -> tuple[str, ...]:
    files = f"{plural(len(one.changes.files), 'file')} +{one.added:,} -{one.removed:,}"
    ago = times.age(now - times.epoch(one.changes.at))
    return one.task_id, one.state, files, ago, one_line(one.objective, 60), safe(one.changes.top)


def run_show(session: Session, args: Namespace) -> int:
    found = changelists.listed(session.store, args.task_id)
    if args.json:
        document(_described(found))
        return 0
    changes = found.changes
    origin = f" from commit {changes.commit[:12]} of {changes.branch or 'no branch'}" if changes.commit else ""
    say(f"{found.task_id}  {state_of(changes, found.decisions)}  {safe(changes.top)}{origin}")
    for note in changes.notes:
        talk(note)
    if not args.paths:
        table([_file_row(found, change) for change in changes.files])
        if not changes.files:
            talk("it changed nothing")
        return 0
    for change in change_views.below(changes, args.paths):
        _say_diff(found, change, whole=args.all)
    return 0


def _file_row(found: Listed, change: FileChange) -> tuple[str, ...]:
    state = found.decision(change).state(change)
    conflict = change_views.conflict(found, change)
    size = (
        f"+{change.added:,} -{change.removed:,}, {plural(change.hunks, 'hunk')}"
        if change.text
        else change_views.sizes(change)
    )
    words = f"does not fit: {conflict}" if conflict else change_views.remark(change, found.changes.files)
    return state, change.kind, safe(change.path), size, words


def _described(found: Listed) -> dict[str, object]:
    facts: dict[str, object] = msgspec.to_builtins(found.changes)
    facts["state"] = state_of(found.changes, found.decisions)
    facts["decisions"] = msgspec.to_builtins(found.decisions)
    return facts


def _say_diff(found: Listed, change: FileChange, *, whole: bool) -> None:
    decision = found.decision(change)
    say(f"--- {safe(change.path)}  {change.kind}, {decision.state(change)}  {change_views.remark(change)}".rstrip())
    lines = change_views.diff(found, change)
    for number, line in lines if whole else lines[:_MOST_LINES]:
        mark = "✓" if number in decision.accepted else "✗" if number in decision.dropped else " "
        say(f"{mark} {line}" if line.startswith("@@") else f"  {line}")
    if not whole and len(lines) > _MOST_LINES:
        talk(f"{len(lines) - _MOST_LINES:,} more lines: --all")


def run_edit(session: Session, args: Namespace) -> int:
    found = changelists.listed(session.store, args.task_id)
    change = found.changes.find(args.path)
    if change is None:
        raise ActionError(f"{one_line(args.path, 200)} is not in the change list", missing=True)
    with edited(change_views.proposal(found, change), os.path.basename(change.path) or "text") as after:
        sha256 = change_views.keep_edited(found, after)
    request = WriteChange(task_id=found.task_id, path=change.path, sha256=sha256)
    return print_outcome(session.perform(request), as_json=args.json)
