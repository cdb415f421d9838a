"""Finds what a task changed in its worktree or copy, and keeps both sides of each file before that is cleaned."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from pathlib import Path

from lumen_tui.model.changelist import ChangeList, FileChange, FileSide, hunks_of, is_text
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.text import safe
from lumen_tui.storage import directories
from lumen_tui.storage.git import Git
from lumen_tui.store.tasks import change_records
from lumen_tui.tools.isolation import copies, pool, records

_MOST_SIZE = 1024 * 1024  # of a text that is compared by lines


def capture(folder: Path, isolation: Isolation, git: Git | None, at: str) -> ChangeList:
    """Return the change list of the task in `folder`; `git` is on its worktree. OSError where that cannot be kept."""
    notes = list(isolation.notes)
    pairs = _of_copy(folder, isolation) if git is None else _of_worktree(folder, git, notes)
    files = [change for change in (_change(folder, *pair) for pair in pairs) if change is not None]
    return ChangeList(
        task_id=folder.name,
        top=isolation.top,
        kind=isolation.kind,
        at=at,
        commit=isolation.commit,
        branch=isolation.branch,
        files=tuple(sorted(files, key=lambda change: change.path)),
        notes=tuple(notes),
    )


Pair = tuple[bytes, FileSide | None, FileSide | None, bool]  # path, before, after, whether `before` is kept


def _of_worktree(folder: Path, git: Git, notes: list[str]) -> Iterable[Pair]:
    tree = folder / "files"
    paths: list[bytes] = []
    for path in pool.changed_paths(git):
        if path.endswith(b"/"):
            notes.append(
                f"{safe(os.fsdecode(path))} is a repository of its own: its files are in the list, its history is not."
            )
            paths += [
                os.fsencode(os.path.join(os.fsdecode(path), name)) for name in copies.present(tree / os.fsdecode(path))
            ]
        else:
            paths.append(path)
    before = folder / change_records.FOLDER / ".before"
    pool.remove_tree(before)
    directories.make_folder(before)
    _check_out_before(git, before, paths)
    pairs = [(path, _kept(folder, before, path), _kept(folder, tree, path), True) for path in paths]
    pool.remove_tree(before)
    return pairs


def _check_out_before(git: Git, before: Path, paths: list[bytes]) -> None:
    """Have git write the files as they were checked out, with the line ends of the commit's own attributes."""
    then = git.at(GIT_WORK_TREE=str(before))
    then.folder = str(before)
    known = set(then("ls-files", "-z", seconds=pool.SECONDS).split(b"\0"))
    wanted = b"\0".join(path for path in paths if path in known)
    if wanted:
        then("checkout-index", "-q", "-f", "-z", "--stdin", data=wanted + b"\0", seconds=pool.SECONDS)


def _kept(folder: Path, place: Path, path: bytes) -> FileSide | None:
    try:
        return records.keep(folder, os.path.join(os.path.realpath(place), os.fsdecode(path)))
    except IsADirectoryError:
        return None  # a folder, a pipe: no file is there


def _of_copy(folder: Path, isolation: Isolation) -> Iterable[Pair]:
    tree, manifest = folder / "files", copies.read_manifest(folder)
    real = os.path.realpath(tree)
    names = dict.fromkeys([*manifest, *copies.present(tree)])
    for name in names:
        before = manifest.get(name)
        now = records.side_of(os.path.join(real, name)) if os.path.lexists(os.path.join(real, name)) else None
        if before is not None and before.same(now):
            continue
        after = records.keep(folder, os.path.join(real, name)) if now is not None else None
        yield os.fsencode(name), before, after, _keep_original(folder, isolation, name, before)


def _keep_original(folder: Path, isolation: Isolation, name: str, before: FileSide | None) -> bool:
    """Keep the operator's file as it was copied; return whether it still is as it was."""
    if before is None:
        return True
    try:
        stored = records.keep(folder, os.path.join(isolation.top, name))
    except OSError:
        return False
    return stored is not None and stored.sha256 == before.sha256


def _change(
    folder: Path, path: bytes, before: FileSide | None, after: FileSide | None, known: bool
) -> FileChange | None:
    if before is after or (before is not None and before.same(after)):
        return None
    shown, raw = _name(path)
    plain = FileChange(shown, before, after, raw, known=known)
    sides = [side for side in (before, after) if side is not None]
    if not known or any(side.link or side.size > _MOST_SIZE for side in sides):
        return plain
    old, new = records.content(folder, before), records.content(folder, after)
    if not (is_text(old) and is_text(new)):
        return plain
    hunks = hunks_of(old, new)
    return FileChange(
        shown,
        before,
        after,
        raw,
        text=True,
        hunks=len(hunks),
        added=sum(len(hunk.new) for hunk in hunks),
        removed=sum(hunk.last - hunk.first for hunk in hunks),
        known=known,
    )


def _name(path: bytes) -> tuple[str, str]:
    """Return a path as it is shown and given, and in base64 where that is not the name itself."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        text = ""
    shown = safe(text or copies.escaped(os.fsdecode(path))).replace("\n", "␊")
    return shown, "" if shown == text else base64.b64encode(path).decode()
