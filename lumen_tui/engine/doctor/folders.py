"""Modes, links, foreign owners, and what interrupted replacements left behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.engine.doctor.finding import NOTE, Finding
from lumen_tui.engine.doctor.journals import kinds
from lumen_tui.model.snapshot import Problem
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, misplaced, repair, sweeping
from lumen_tui.storage.layout import Layout
from lumen_tui.tools.files.paths import OWN_FILES


def places(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report folders where a state file belongs; `modes` reports links and the like."""
    for problem in _folders(layout):
        yield Finding("places", problem.where, problem.what, problem.hint)


def _folders(layout: Layout) -> list[Problem]:
    return [
        problem for problem in misplaced.problems(layout) if stat.S_ISDIR(os.lstat(layout.root / problem.where).st_mode)
    ]


def modes(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report modes wider than 0600 and 0700, folders and journals not writable, links, foreign owners."""
    elsewhere = {str(layout.root / problem.where) for problem in _folders(layout)}  # their modes are not what is wrong
    shared = frozenset(kinds(layout))
    if above := directories.shared_above(layout.root):
        fault = f"stands in {one_line(above, 200)}, which other users can write: they can put another in its place"
        yield Finding("modes", ".", fault, f"`chmod o-w {one_line(above, 200)}`, or move it")
    for path in _everything(layout.root):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if str(path) in elsewhere:
            continue
        yield from _check_path(layout, path, status, fix, shared)


def _everything(root: Path) -> Iterator[Path]:
    """Yield every path but those that commands of tasks made in their own folders."""
    yield root
    tasks = str(root / "tasks")
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            yield Path(folder, name)
        if "spec.json" in names and OWN_FILES in folders and folder.startswith(tasks):
            folders.remove(OWN_FILES)


def _check_path(
    layout: Layout, path: Path, status: os.stat_result, fix: bool, shared: frozenset[Path]
) -> Iterator[Finding]:
    where = str(path.relative_to(layout.root)) if path != layout.root else "."
    if status.st_uid != os.geteuid():
        hint = "give it to the user who runs the agent, or move it away"
        yield Finding("owners", where, f"belongs to user {status.st_uid}", hint)
    if stat.S_ISLNK(status.st_mode):
        yield Finding("links", where, f"is a link to {path.readlink()}", "put a plain file or folder in its place")
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        yield Finding("links", where, "is neither a file nor a folder", "move it away")
        return
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        yield Finding("links", where, f"has {status.st_nlink} hard links", "copy it, so that it has one")
        return
    if status.st_mode & 0o077:
        yield _open_to_others(path, where, status, fix)
    if (stat.S_ISDIR(status.st_mode) or path in shared) and not os.access(path, os.W_OK):
        hint = f"`chmod u+rwx {one_line(str(path), 200)}`, or have what it stands on mounted writable"
        yield Finding("modes", where, "cannot be written to: no verb and no engine can keep anything there", hint)


def _open_to_others(path: Path, where: str, status: os.stat_result, fix: bool) -> Finding:
    mode = stat.S_IMODE(status.st_mode)
    private = mode & 0o700
    fault = f"mode {mode:04o}: other users can use it"
    if not fix:
        return Finding("modes", where, fault, "doctor --fix closes it", mendable=True)
    try:
        repair.make_private(path, private)
    except OSError as error:
        return Finding("modes", where, fault, f"could not be closed: {error.strerror}", mendable=True)
    return Finding("modes", where, fault, mendable=True, mended=f"mode is {private:04o} now")


def leftovers(layout: Layout, now: float, fix: bool) -> Iterator[Finding]:
    """Report temporary files and half-made task folders of killed writers: harmless, so notes."""
    for path in list(repair.leftovers(layout.root, now - sweeping.OLD_SECONDS)):
        kind = "an unfinished replacement" if not path.is_dir() else "a task folder that was never finished"
        if fix:
            repair.sweep(path)
        where = str(path.relative_to(layout.root))
        yield Finding("leftovers", where, kind, level=NOTE, mendable=True, mended="removed" if fix else "")
