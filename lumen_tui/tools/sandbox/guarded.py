"""Where repositories and .env files stand below the folders that a task may change.

A task looks through all of them once, and again where that is quickly done; other commands of it go by what was seen
and look at the top of each. What any task saw is remembered in `index/`, out of a worker's reach: one task could bury a
repository under so many folders that the next does not find it.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.store import files
from lumen_tui.tools.below import is_below_any
from lumen_tui.tools.sandbox import secrets
from lumen_tui.tools.sandbox.secrets import Walk

if TYPE_CHECKING:
    from lumen_tui.tools.base import Context, Kept

SEEN = "guarded.json"  # below index/
_MOST_SEEN = 5000  # names that are remembered
_REST = 20  # looking through everything takes at most one part in so many of a task's time


class Seen(Struct, frozen=True):
    """The real paths that any task found."""

    env: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


def look(context: Context, roots: tuple[str, ...], cwd: str) -> tuple[list[str], list[str]]:
    """The files behind .env names below these folders and `cwd`, and the repositories below the folders; real paths."""
    kept = context.kept
    if roots and context.monotonic() >= kept.look_again:
        _look_through(context, roots)
    else:
        for root in roots:
            _take(kept, Walk(root, deep=False))
    if not is_below_any(cwd, roots):
        _take(kept, Walk(cwd, deep=False), repositories=False)
    return _there(kept.env_files), _there(kept.repositories)


def _there(paths: set[str]) -> list[str]:
    return sorted(path for path in paths if os.path.lexists(path))


def _look_through(context: Context, roots: tuple[str, ...]) -> None:
    kept, began = context.kept, context.monotonic()
    before = _seen(context)
    _remember(kept, [path for path in before.env if is_below_any(path, roots)])
    kept.repositories.update(path for path in before.repositories if is_below_any(path, roots))
    names: set[str] = set()
    for root in roots:
        walk = Walk(root, deep=True)
        names.update(_take(kept, walk))
        if walk.left:
            _tell(context, root)
    now = context.monotonic()
    kept.look_again = now + _REST * (now - began)
    _keep(context, Seen((*before.env, *names), (*before.repositories, *_there(kept.repositories))), before)


def _take(kept: Kept, walk: Walk, *, repositories: bool = True) -> list[str]:
    """Note what a walk finds; returns the names of .env files."""
    names = []
    for folder, entries in walk:
        names += [os.path.join(folder, name) for name in entries if secrets.is_env_file(name)]
        if repositories:
            kept.repositories.update(secrets.repositories_in(folder, entries))
    _remember(kept, names)
    return names


def _remember(kept: Kept, names: list[str]) -> None:
    """What the names lead to now stays hidden for this task, also where a link is taken away."""
    kept.env_files.update(filter(None, map(secrets.meant, names)))


def _tell(context: Context, root: str) -> None:
    if root not in context.kept.too_large:
        context.kept.too_large.add(root)
        context.progress(
            f"{one_line(root, 200)} has more folders than are looked through: repositories and .env files deep in it "
            "are not guarded; name those folders themselves in [sandbox] writable"
        )


def _seen(context: Context) -> Seen:
    try:
        return msgspec.json.decode(files.read(context.store.layout.index / SEEN) or b"{}", type=Seen)
    except (*UNDECODABLE, files.StoreError, OSError):
        return Seen()  # damaged: it is made anew


def _keep(context: Context, found: Seen, before: Seen) -> None:
    """Remember what is still there. Two workers at once may lose a name: the next look finds it again."""
    now = Seen(_pruned(found.env), _pruned(found.repositories))
    if now == before:
        return
    try:
        with context.guard():
            files.replace(context.store.layout.index / SEEN, msgspec.json.encode(now))
    except files.StoreError:
        return  # the task itself knows them


def _pruned(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are there, the earliest first: what a worker makes by the thousand pushes nothing out."""
    written = (path for path in dict.fromkeys(paths) if _is_text(path) and os.path.lexists(path))
    return tuple(itertools.islice(written, _MOST_SEEN))


def _is_text(path: str) -> bool:
    """Whether a name can be written down: those in other encodings are found anew by each task."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
