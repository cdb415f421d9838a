"""Finds and keeps repositories, .env files and editors' settings below the folders that a task may change.

A task scans the folders completely once, and again where that is quick; its other commands rely on that scan and look
at the top levels only. What any task found is remembered in `index/`, out of a worker's reach: one task could bury
something under so many folders that the next misses it. Files that a command makes where other programs would run or
obey them are quarantined: renamed, at once or after the command.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.tools.files import opening
from lumen_tui.tools.files.opening import is_below_any
from lumen_tui.tools.sandbox import secrets
from lumen_tui.tools.sandbox.secrets import FolderWalk

if TYPE_CHECKING:
    from lumen_tui.tools.base import Context, TaskMemo


class Quarantine:
    """Watches paths that must stay absent and links that must keep their target. `moved` holds the new paths."""

    def __init__(self, absent: tuple[str, ...] = (), links: tuple[tuple[str, str], ...] = ()) -> None:
        self._absent = absent
        self._links = links
        self._seen: set[str] = set()
        self.moved: list[str] = []

    def check(self) -> str:
        """Move away what appeared; return why the command must end where it made the same path again."""
        appeared = [path for path in self._absent if os.path.lexists(path)]
        appeared += [path for path, target in self._links if link_target(path) != target]
        if not appeared:
            return ""
        repeated = [path for path in appeared if path in self._seen]
        self._seen.update(appeared)
        for path in appeared:
            self.moved += move_away(path, dict(self._links).get(path, ""))
        return f"it made again what other programs would run or obey: {one_line(repeated[0], 200)}" if repeated else ""


def link_target(path: str) -> str:
    """Return the target of a link as it is written; empty where the path is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def move_away(path: str, link: str) -> list[str]:
    """Rename what is at `path` and return the new path, if any; where `link` is given, put a link to it in its place.

    Nothing is lost, and nothing runs it under the new name.
    """
    above, name = os.path.split(path)
    new_name = f"{name}.aside-{os.urandom(3).hex()}"
    moved = []
    try:
        with opening.folder(above) as fd:
            if os.path.lexists(path):
                os.rename(name, new_name, src_dir_fd=fd, dst_dir_fd=fd)
                moved.append(os.path.join(above, new_name))
            if link:
                os.symlink(link, name, dir_fd=fd)
    except OSError:
        pass  # it is gone, or the folder is closed to us as well
    return moved


def report(context: Context, moved: Iterable[str]) -> None:
    """Report each moved file as progress of the task."""
    for path in moved:
        context.progress(f"quarantined as {one_line(path, 300)}: other programs would run or obey it by its name")


REMEMBERED = "guarded.json"  # below index/
_MOST_SEEN = 5000  # names that are remembered
# What editors and agents run or obey when they are started in a folder.
OF_ANY_FOLDER = (
    ".vscode",
    ".idea",
    ".mcp.json",
    ".claude",
    ".agents",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".zed",
    ".helix",
)
# In a writable folder: what the operator's own programs run when they are started there.
RUN_LATER = (*OF_ANY_FOLDER, ".gitmodules", ".pre-commit-config.yaml", ".husky")
_OBEYED = frozenset(OF_ANY_FOLDER)
_TICK = 0.02  # seconds: files get the time of the kernel's last tick, which was a little earlier
_MOST_TIMES = 500
_REST = 20  # complete scans take at most one part in so many of a task's time


class RememberedPaths(Struct, frozen=True):
    """The real paths that any task found, as stored in `index/`."""

    env: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()


class ProtectedPaths(NamedTuple):
    """The real paths found for one command."""

    env: list[str]  # files behind .env names
    repositories: list[str]
    obeyed: list[str]  # editors' settings that no command made; those that are gone as well: nobody makes them again


def find(context: Context, roots: tuple[str, ...], cwd: str, own: str) -> ProtectedPaths:
    """Return the paths to protect below these folders, and the .env files below `cwd` and the task's own roots.

    `own` is the task's own folder, if any.
    """
    memo = context.memo
    memo.roots = roots
    if own and roots and not memo.times:  # from an earlier attempt at the task
        for folder, entries in FolderWalk(own, deep=True):
            for name in _OBEYED.intersection(entries):
                _judge_settings(context, os.path.join(folder, name), granted=False)
    _scan(context, deep=bool(roots) and context.monotonic() >= memo.look_again)
    for folder in (cwd, *(os.path.realpath(os.path.expanduser(root)) for root in context.spec.roots)):
        if not is_below_any(folder, roots):
            _record(context, FolderWalk(folder, deep=False), granted=False)
    return ProtectedPaths(_existing(memo.env_files), _existing(memo.repositories), sorted(memo.obeyed))


def command_begins(context: Context) -> None:
    """Note that a sandboxed command begins: its files are searched for afterwards."""
    times = context.memo.times
    if context.rules.write:
        times.append((context.now() - _TICK, math.inf))
    if len(times) > _MOST_TIMES:
        times[:2] = [(times[0][0], times[1][1])]


def check_afterwards(context: Context, *, last: bool = False) -> None:
    """Quarantine files that commands made where editors would obey them.

    The scan is complete where it is time for that, and at the `last` check of the task.
    """
    memo = context.memo
    if not (memo.times and memo.roots):
        return
    if not any(job.exit_code is None for job in memo.running.values()):
        memo.times[:] = [(began, min(ended, context.now() + _TICK)) for began, ended in memo.times]
    _scan(context, deep=last or context.monotonic() >= memo.look_again)


def _scan(context: Context, *, deep: bool) -> None:
    memo = context.memo
    if not deep:
        for root in memo.roots:
            _record(context, FolderWalk(root, deep=False))
        return
    _scan_deep(context, memo.roots)


def _existing(paths: set[str]) -> list[str]:
    return sorted(path for path in paths if os.path.lexists(path))


def _scan_deep(context: Context, roots: tuple[str, ...]) -> None:
    memo, began = context.memo, context.monotonic()
    remembered = _load(context)
    _remember(memo, [path for path in remembered.env if is_below_any(path, roots)])
    memo.repositories.update(path for path in remembered.repositories if is_below_any(path, roots))
    memo.obeyed.update(path for path in remembered.obeyed if is_below_any(path, roots))
    names: set[str] = set()
    for root in roots:
        walk = FolderWalk(root, deep=True)
        names.update(_record(context, walk))
        if walk.truncated:
            _report_too_large(context, root)
    now = context.monotonic()
    memo.look_again = now + _REST * (now - began)
    repositories, obeyed = (
        (*remembered.repositories, *_existing(memo.repositories)),
        (*remembered.obeyed, *_existing(memo.obeyed)),
    )
    _store(context, RememberedPaths((*remembered.env, *names), repositories, obeyed), remembered)


def _record(context: Context, walk: FolderWalk, *, granted: bool = True) -> list[str]:
    """Record what a walk finds; return the paths of .env files."""
    memo, names, candidates = context.memo, [], []
    for folder, entries in walk:
        names += [os.path.join(folder, name) for name in entries if secrets.is_env_file(name)]
        if granted:
            memo.repositories.update(secrets.repositories_in(folder, entries))
            candidates += [os.path.join(folder, name) for name in _OBEYED.intersection(entries)]
    _remember(memo, names)
    for path in candidates:
        if path not in memo.obeyed:
            _judge_settings(context, path, granted=not secrets.is_in_build_folder(os.path.relpath(path, walk.top)))
    return names


def _judge_settings(context: Context, path: str, *, granted: bool) -> None:
    """Quarantine new settings that appeared while a command ran, or that were moved here from an ungranted folder."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    changed = status.st_ctime  # when it was made or moved: no program can set it
    left_alone = context.memo.left_alone
    if not granted:
        left_alone.add((status.st_dev, status.st_ino))
    elif (status.st_dev, status.st_ino) in left_alone or any(a <= changed <= b for a, b in context.memo.times):
        report(context, move_away(path, ""))
    else:
        context.memo.obeyed.add(path)


def _remember(memo: TaskMemo, names: list[str]) -> None:
    """Hide the targets of these .env names for the rest of the task, even if a link is removed."""
    memo.env_files.update(filter(None, map(secrets.env_file_behind, names)))


def _report_too_large(context: Context, root: str) -> None:
    if root not in context.memo.too_large:
        context.memo.too_large.add(root)
        context.progress(
            f"{one_line(root, 200)} has more folders than are looked through: repositories, .env files and editors' "
            "settings deep in it are not guarded; name those folders themselves in [sandbox] writable"
        )


def _load(context: Context) -> RememberedPaths:
    try:
        return msgspec.json.decode(files.read(context.store.layout.index / REMEMBERED) or b"{}", type=RememberedPaths)
    except (*UNDECODABLE, files.StoreError, OSError):
        return RememberedPaths()  # damaged: it is written again


def _store(context: Context, seen: RememberedPaths, previous: RememberedPaths) -> None:
    """Store what still exists. Two workers at once may lose a path: the next scan finds it again."""
    remembered = RememberedPaths(_pruned(seen.env), _pruned(seen.repositories), _pruned(seen.obeyed))
    if remembered == previous:
        return
    try:
        with context.guard():
            files.replace(context.store.layout.index / REMEMBERED, msgspec.json.encode(remembered))
    except files.StoreError:
        return  # the task itself knows them


def _pruned(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the existing paths, earliest first, so that new ones by the thousand push none out."""
    encodable = (path for path in dict.fromkeys(paths) if _is_text(path) and os.path.lexists(path))
    return tuple(itertools.islice(encodable, _MOST_SEEN))


def _is_text(path: str) -> bool:
    """Return whether a path is valid UTF-8; others are not stored, and each task finds them again."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
