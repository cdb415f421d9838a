"""Where repositories, .env files and editors' settings stand below the folders that a task may change.

A task looks through all of them once, and again where that is quickly done; other commands of it go by what was seen
and look at the top of each. Settings that are new after a command are put aside. What any task saw is remembered in
`index/`, out of a worker's reach: one task could bury something under so many folders that the next does not find it.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import files
from lumen_tui.tools.files.below import is_below_any
from lumen_tui.tools.sandbox import quarantine, secrets
from lumen_tui.tools.sandbox.secrets import FolderWalk

if TYPE_CHECKING:
    from lumen_tui.tools.base import Context, TaskMemo

REMEMBERED = "guarded.json"  # below index/
_MOST_SEEN = 5000  # names that are remembered
# What editors and agents run or obey that are started in a folder.
OF_ANY_FOLDER = (
    ".vscode", ".idea", ".mcp.json", ".claude", ".cursor", ".codex", ".gemini", ".windsurf", ".zed", ".helix",
)  # fmt: skip
_OBEYED = frozenset(OF_ANY_FOLDER)
_TICK = 0.02  # seconds: files get the time of the kernel's last tick, which was a little earlier
_MOST_TIMES = 500
_REST = 20  # looking through everything takes at most one part in so many of a task's time


class RememberedPaths(Struct, frozen=True):
    """The real paths that any task found."""

    env: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()


class ProtectedPaths(NamedTuple):
    """Real paths."""

    env: list[str]  # files behind .env names
    repositories: list[str]
    obeyed: list[str]  # editors' settings that no command made; those that are gone as well: nobody makes them again


def find(context: Context, roots: tuple[str, ...], cwd: str, own: str) -> ProtectedPaths:
    """What stands below these folders, and the .env files below `cwd`. `own` is the task's own folder, if any."""
    memo = context.memo
    memo.roots = roots
    if own and roots and not memo.times:  # what an earlier attempt at the task left there
        for folder, entries in FolderWalk(own, deep=True):
            for name in _OBEYED.intersection(entries):
                _judge(context, os.path.join(folder, name), granted=False)
    _look(context, deep=bool(roots) and context.monotonic() >= memo.look_again)
    if not is_below_any(cwd, roots):
        _take(context, FolderWalk(cwd, deep=False), granted=False)
    return ProtectedPaths(_there(memo.env_files), _there(memo.repositories), sorted(memo.obeyed))


def command_begins(context: Context) -> None:
    """A command begins within walls: what it makes is looked for afterwards."""
    times = context.memo.times
    if context.rules.write:
        times.append((context.now() - _TICK, math.inf))
    if len(times) > _MOST_TIMES:
        times[:2] = [(times[0][0], times[1][1])]


def check_afterwards(context: Context, *, last: bool = False) -> None:
    """Put aside what commands have made where editors would obey it. All is looked through where it is time for that,
    and at the task's `last`."""
    memo = context.memo
    if not (memo.times and memo.roots):
        return
    if not _runs(memo):
        memo.times[:] = [(began, min(ended, context.now() + _TICK)) for began, ended in memo.times]
    _look(context, deep=last or context.monotonic() >= memo.look_again)


def _look(context: Context, *, deep: bool) -> None:
    memo = context.memo
    if not deep:
        for root in memo.roots:
            _take(context, FolderWalk(root, deep=False))
        return
    _look_through(context, memo.roots)


def _runs(memo: TaskMemo) -> bool:
    """Whether a command runs in the background."""
    return any(job.exit_code is None for job in memo.running.values())


def _there(paths: set[str]) -> list[str]:
    return sorted(path for path in paths if os.path.lexists(path))


def _look_through(context: Context, roots: tuple[str, ...]) -> None:
    memo, began = context.memo, context.monotonic()
    remembered = _seen(context)
    _remember(memo, [path for path in remembered.env if is_below_any(path, roots)])
    memo.repositories.update(path for path in remembered.repositories if is_below_any(path, roots))
    memo.obeyed.update(path for path in remembered.obeyed if is_below_any(path, roots))
    names: set[str] = set()
    for root in roots:
        walk = FolderWalk(root, deep=True)
        names.update(_take(context, walk))
        if walk.truncated:
            _tell(context, root)
    now = context.monotonic()
    memo.look_again = now + _REST * (now - began)
    repositories, obeyed = (
        (*remembered.repositories, *_there(memo.repositories)),
        (*remembered.obeyed, *_there(memo.obeyed)),
    )
    _keep(context, RememberedPaths((*remembered.env, *names), repositories, obeyed), remembered)


def _take(context: Context, walk: FolderWalk, *, granted: bool = True) -> list[str]:
    """Note what a walk finds; returns the names of .env files."""
    memo, names, candidates = context.memo, [], []
    for folder, entries in walk:
        names += [os.path.join(folder, name) for name in entries if secrets.is_env_file(name)]
        if granted:
            memo.repositories.update(secrets.repositories_in(folder, entries))
            candidates += [os.path.join(folder, name) for name in _OBEYED.intersection(entries)]
    _remember(memo, names)
    for path in candidates:
        if path not in memo.obeyed:
            _judge(context, path, granted=not secrets.is_passed_over(os.path.relpath(path, walk.top)))
    return names


def _judge(context: Context, path: str, *, granted: bool) -> None:
    """Settings that nobody saw before: they are a command's where they came while one ran, or out of a folder in which
    they are left alone."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    changed, left_alone = status.st_ctime, context.memo.left_alone  # made or moved then: no program can set it
    if not granted:
        left_alone.add((status.st_dev, status.st_ino))
    elif (status.st_dev, status.st_ino) in left_alone or any(a <= changed <= b for a, b in context.memo.times):
        quarantine.report(context, quarantine.move_away(path, ""))
    else:
        context.memo.obeyed.add(path)


def _remember(memo: TaskMemo, names: list[str]) -> None:
    """What the names lead to now stays hidden for this task, also where a link is taken away."""
    memo.env_files.update(filter(None, map(secrets.env_file_behind, names)))


def _tell(context: Context, root: str) -> None:
    if root not in context.memo.too_large:
        context.memo.too_large.add(root)
        context.progress(
            f"{one_line(root, 200)} has more folders than are looked through: repositories, .env files and editors' "
            "settings deep in it are not guarded; name those folders themselves in [sandbox] writable"
        )


def _seen(context: Context) -> RememberedPaths:
    try:
        return msgspec.json.decode(files.read(context.store.layout.index / REMEMBERED) or b"{}", type=RememberedPaths)
    except (*UNDECODABLE, files.StoreError, OSError):
        return RememberedPaths()  # damaged: it is made anew


def _keep(context: Context, seen: RememberedPaths, previous: RememberedPaths) -> None:
    """Remember what is still there. Two workers at once may lose a name: the next look finds it again."""
    remembered = RememberedPaths(_pruned(seen.env), _pruned(seen.repositories), _pruned(seen.obeyed))
    if remembered == previous:
        return
    try:
        with context.guard():
            files.replace(context.store.layout.index / REMEMBERED, msgspec.json.encode(remembered))
    except files.StoreError:
        return  # the task itself knows them


def _pruned(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are there, the earliest first: what a worker makes by the thousand pushes nothing out."""
    encodable = (path for path in dict.fromkeys(paths) if _is_text(path) and os.path.lexists(path))
    return tuple(itertools.islice(encodable, _MOST_SEEN))


def _is_text(path: str) -> bool:
    """Whether a name can be written down: those in other encodings are found anew by each task."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
