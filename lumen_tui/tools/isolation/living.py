"""The life of a folder apart: taken before a task's first step, settled after its last, swept after a kill.

Each step leaves what says how far it came, so that it can be made again: `isolation.json` first names the slot and then
says that it is ready; the change list is there before the worktree is cleaned; `settled` comes last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import structs

from lumen_tui.model import ids
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, locks
from lumen_tui.storage.git import GitFailed
from lumen_tui.storage.layout import Layout
from lumen_tui.store.tasks import change_records
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.isolation import base, capture, copies, pool, records
from lumen_tui.tools.isolation.base import Base, Unfit

TREE = "files"  # in the task's folder: where it may always write


class IsolationRequest:
    """What a task asks for: how it is to work apart, from which folder, and what must stay out of a copy."""

    def __init__(self, layout: Layout, task: Path, mode: str, folder: str, hidden: tuple[str, ...], path: str) -> None:
        """`task` is the task's folder, `folder` the operator's, `path` the PATH in which git is found."""
        self.layout, self.task, self.mode, self.hidden, self.path = layout, task, mode, hidden, path
        self.source = os.path.realpath(os.path.expanduser(folder)) if folder else ""

    def check(self) -> None:
        """Raise Unfit for a folder that no task may have."""
        if not self.source:
            raise Unfit("a task that works apart needs the folder that it is about: give one (`--folder DIR`)")
        if not os.path.isdir(self.source):
            raise Unfit(f"{one_line(self.source, 200)} is not a folder")
        root = os.path.realpath(self.layout.root)
        if is_below(self.source, root) or self.source == "/":
            raise Unfit(f"{one_line(self.source, 200)} cannot be worked on apart: give a folder of yours")
        if is_below_any(self.source, self.hidden):
            raise Unfit(f"{one_line(self.source, 200)} is where keys or private data are kept")


def take(order: IsolationRequest, check: Callable[[], None]) -> Isolation:
    """Give the task its folder, `files`; one from an earlier attempt stays as it is. Raise Unfit, OSError."""
    earlier = records.read_isolation(order.task)
    if earlier is not None and earlier.state == "ready":
        return earlier
    order.check()
    with locks.shared_lock(order.layout.trees_lock):
        return _take(order, earlier, check)


def take_again(order: IsolationRequest, before: Isolation) -> Isolation:
    """Make the worktree again that a task began with, from the same commit. Raise Unfit, OSError."""
    order.check()
    worktree_base = base.find(order.source, order.path)
    if worktree_base is None or before.kind != "worktree":
        raise Unfit(f"{one_line(order.source, 200)} is no repository any more")
    with locks.shared_lock(order.layout.trees_lock):
        worktree_base = structs.replace(worktree_base, commit=before.commit, branch=before.branch)
        return _take_worktree(order, worktree_base, order.task / TREE, "")


def _take(order: IsolationRequest, earlier: Isolation | None, check: Callable[[], None]) -> Isolation:
    worktree_base = base.find(order.source, order.path) if order.mode == "worktree" else None
    tree = order.task / TREE
    if worktree_base is None:
        return _take_copy(order, tree, check)
    slot = (
        earlier.slot
        if earlier is not None and earlier.state == "preparing" and earlier.pool == worktree_base.key
        else ""
    )
    return _take_worktree(order, worktree_base, tree, slot)


def _take_worktree(order: IsolationRequest, worktree_base: Base, tree: Path, slot: str) -> Isolation:
    place = pool.Pool(order.layout, worktree_base.key, path=order.path)
    below = os.path.relpath(order.source, worktree_base.top)
    isolation = Isolation(
        kind="worktree",
        top=worktree_base.top,
        below="" if below == os.curdir else below,
        pool=worktree_base.key,
        objects=os.path.join(worktree_base.common, "objects"),
        commit=worktree_base.commit,
        branch=worktree_base.branch,
    )
    try:
        place.prepare(worktree_base)
        if not slot:
            _discard(order, tree)
        with place.lock():
            isolation = structs.replace(isolation, slot=slot or place.choose())
            records.write_isolation(order.task, isolation)
            place.hand_over(isolation.slot, tree)
        directories.make_folder(tree)
        record = place.check_out(isolation.slot, tree, worktree_base.commit, branch_of(order.task.name))
    except GitFailed as error:
        raise Unfit(_why_not(worktree_base, error)) from error
    notes = []
    if record.pointers:
        notes.append(f"{record.pointers:,} files are pointers of Git LFS: no filter of the repository is run here.")
    isolation = structs.replace(isolation, state="ready", notes=tuple(notes))
    records.write_isolation(order.task, isolation)
    return isolation


def _why_not(worktree_base: Base, error: GitFailed) -> str:
    return (
        f"no worktree of {one_line(worktree_base.top, 200)} can be made: {error}. "
        'isolate = "copy" copies its files as they are'
    )


def _take_copy(order: IsolationRequest, tree: Path, check: Callable[[], None]) -> Isolation:
    isolation = Isolation(kind="copy", top=order.source)
    _discard(order, tree)
    records.write_isolation(order.task, isolation)
    directories.make_folder(tree)
    manifest, notes = copies.make(order.source, tree, (*order.hidden, os.path.realpath(order.layout.root)), check)
    copies.write_manifest(order.task, manifest)
    isolation = structs.replace(isolation, state="ready", notes=notes)
    records.write_isolation(order.task, isolation)
    return isolation


def _discard(order: IsolationRequest, tree: Path) -> None:
    """Take away what an attempt that never began its first step left, so that the folder begins empty."""
    if tree.is_dir() and any(tree.iterdir()):
        aside = order.task / f"files.{ids.new_id('old')}"
        directories.move(tree, aside)
        if records.read_isolation(order.task) is not None:
            pool.remove_tree(aside)


def branch_of(task_id: str) -> str:
    """Return the name of a task's own branch."""
    return f"lumen/{task_id}"


def settle(layout: Layout, task: Path, at: str, *, path: str = "") -> bool:
    """Keep what the task changed, then give its folder back; return whether anything was to be done.

    Call it while no worker is alive, as often as needed: what was done already is not done again. OSError where there
    is no room; the folder stays as it is then.
    """
    isolation = records.read_isolation(task)
    if isolation is None or isolation.state == "settled":
        return False
    tree = task / TREE
    place = pool.Pool(layout, isolation.pool, path=path) if isolation.kind == "worktree" else None
    if isolation.state == "ready" and tree.is_dir():
        git = place.git(isolation.slot, tree) if place is not None else None
        change_records.write_list(layout, task, capture.capture(task, isolation, git, at))
        isolation = structs.replace(isolation, state="captured")
        records.write_isolation(task, isolation)
    if place is not None:
        place.give_back(isolation.slot, tree, branch_of(task.name))
    elif tree.is_dir():
        pool.remove_tree(tree)
        copies.discard(task)
    records.write_isolation(task, structs.replace(isolation, state="settled"))
    return True


def is_settled(task: Path) -> bool:
    """Return whether nothing is to be done for a task that ended."""
    try:
        isolation = records.read_isolation(task)
    except OSError:
        return True  # damaged: `doctor` names it, and the folder stays as it is
    return isolation is None or isolation.state == "settled"


def sweep(layout: Layout, *, path: str = "") -> None:
    """After a start, remove what no task has and what is not kept whole: leavings of kills."""
    if not layout.trees.is_dir():
        return
    lock = locks.try_lock(layout.trees_lock)
    if lock is None:
        return  # a worker is taking one now: the next start looks again
    try:
        _sweep(layout, path)
    finally:
        os.close(lock)


def _sweep(layout: Layout, path: str) -> None:
    used: dict[str, set[str]] = {}
    branches: set[str] = set()
    for task, isolation in _unsettled(layout):
        used.setdefault(isolation.pool, set()).add(isolation.slot)
        branches.add(branch_of(task.name))
    for folder in layout.trees.iterdir():
        if folder.is_dir():
            pool.Pool(layout, folder.name, path=path).sweep(used.get(folder.name, set()), branches)
            directories.remove_folder(folder)


def _unsettled(layout: Layout) -> Iterator[tuple[Path, Isolation]]:
    for task in layout.tasks.iterdir():
        try:
            isolation = records.read_isolation(task)
        except OSError:
            continue
        if isolation is not None and isolation.state != "settled":
            yield task, isolation
