"""The policy of one command, the same for both tiers: derived from the role, the task and the operator's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

import lumen_tui
from lumen_tui.model.skills import PLACES as SKILL_PLACES
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.grants import grant
from lumen_tui.tools.files.opening import is_below, is_below_any
from lumen_tui.tools.sandbox import protected_paths, secrets
from lumen_tui.tools.sandbox.limits import Caps, caps
from lumen_tui.tools.sandbox.protected_paths import link_target

if TYPE_CHECKING:
    from lumen_tui.model.config import SandboxConfig
    from lumen_tui.tools.base import Context

FILES = "files"  # in the task's folder: where its commands leave their files
# The part of the state folder that a command sees. Nothing else of it is there for the command.
_SHOWN = (
    "memory", "work", "stamps", "loops", "sessions", "tasks", "trees", "custom-tools", *SKILL_PLACES, "wake-state.md",
    "loop-state.json", "heartbeat.json",
)  # fmt: skip
# In a repository: what git runs or obeys when the operator uses it later.
_OBEYED_BY_GIT = ("hooks", "config", "config.worktree", "commondir", "info/attributes", "modules")
_OF_A_TREE = ("commondir", "config.worktree")
_MOST_PROTECTED = 600  # folders and files: each is a mount, and more would take seconds
_MOST_IN_PARTS = 30  # repositories of which only the files that git obeys are protected, not the whole


class Cover(Struct, frozen=True):
    """A folder of which only the named entries are visible; a name may lead two levels down."""

    folder: str
    shown: tuple[str, ...]


class Policy(Struct, frozen=True):
    """What a command may do: everything is readable except `hidden`, nothing writable except `writable`. Real paths."""

    writable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()  # below writable folders, and read-only all the same
    absent: tuple[str, ...] = ()  # the same, not there now: quarantined where a command makes it
    links: tuple[tuple[str, str], ...] = ()  # the same, links now, with their targets
    pinned: tuple[str, ...] = ()  # folders below writable ones that cannot be moved, so that `protected` holds
    hidden: tuple[str, ...] = ()
    covers: tuple[Cover, ...] = ()
    scratch: str = ""  # the task's own writable folder; empty for commands that only read
    shown: tuple[str, ...] = ()  # what must be visible, also where a private folder covers it
    temporary: str = ""  # another one for temporary files, where what is left in `scratch` counts as a change
    network: bool = False
    hosts: tuple[str, ...] = ()  # without it: where it goes through the task's proxy, under bubblewrap
    caps: Caps = Caps()
    not_granted: tuple[tuple[str, str], ...] = ()  # folders that were requested and not granted, each with the reason


def workspace(context: Context) -> str:
    """Return the folder in which a task may always write."""
    return os.path.join(os.path.realpath(context.folder), FILES)


def task_folder(context: Context) -> str:
    """Return the real path of the folder that the task is about; empty where none was named and none follows.

    It is the one that names in the task count from, else the only one that its constraints or its role leave it.
    """
    roots = context.rules.roots or (
        writable_roots(context, sandbox_settings(context))[0] if context.rules.write else ()
    )
    named = context.spec.folder or (roots[0] if len(roots) == 1 else "")
    path = os.path.realpath(os.path.expanduser(named)) if os.path.isabs(os.path.expanduser(named)) else ""
    return path if path and os.path.isdir(path) else ""


def sandbox_settings(context: Context) -> SandboxConfig:
    """Return the settings of [sandbox] in force."""
    return load_config(context.store.layout)[0].sandbox


def ready_workspace(context: Context) -> str:
    """Return the folder of the task in which it may always write, made if missing."""
    directories.make_folder(workspace(context))
    return workspace(context)


def _temporary(context: Context) -> str:
    """Return the folder for temporary files of a task whose own one holds a worktree, made if missing."""
    path = os.path.join(os.path.realpath(context.folder), "tmp")
    directories.make_folder(path)
    return path


def skill_folders(context: Context) -> tuple[str, ...]:
    """Return the real folders of the task's skills, whose scripts its commands read."""
    task_skills = context.memo.skills
    return tuple(skill.folder for skill in task_skills.skills) if task_skills is not None else ()


def _borrowed(context: Context) -> tuple[str, ...]:
    """Return the folder of the operator's objects, which git in a worktree of the task's own reads."""
    if not context.spec.isolate:
        return ()
    from lumen_tui.tools.isolation.records import read_isolation  # few tasks work apart

    isolation = read_isolation(context.folder)
    return (isolation.objects,) if isolation is not None and isolation.objects else ()


def policy(context: Context, settings: SandboxConfig, cwd: str, *, reading: bool = False) -> Policy:
    """Return the policy for a command of this task that starts in `cwd`.

    A `reading` command gets nothing writable and no network, whatever the role grants. As no list says what it reads,
    the folders that the operator named are searched for .env files all the same.
    """
    may_write = context.rules.write and not reading
    roots, narrowed = writable_roots(context, settings) if context.rules.write or reading else ((), ())
    scratch = workspace(context) if may_write else ""
    temporary = _temporary(context) if scratch and context.spec.isolate else ""
    home = context.environ.get("HOME", "")
    env, repositories, obeyed = protected_paths.find(context, roots, cwd, scratch)
    if reading:
        roots, narrowed, repositories, obeyed = (), (), [], []
    hidden = sorted({*secrets.existing(home, settings.hidden), *env})
    guards, pinned = _protected_paths(roots, _nearest_first(repositories, cwd), obeyed)
    protected = [path for path in guards if os.path.lexists(path) and not os.path.islink(path)]
    parents = sorted({*pinned, *_parents_on_the_way(roots, [*protected, *hidden])})
    _check_count(parents, protected, env)
    return Policy(
        writable=tuple(filter(None, (*roots, scratch, temporary))),
        protected=tuple(protected),
        absent=tuple(path for path in guards if not os.path.lexists(path)),
        links=tuple((path, link_target(path)) for path in guards if os.path.islink(path)),
        pinned=tuple(parents),
        hidden=tuple(hidden),
        covers=(state_cover(context),),
        scratch=scratch,
        shown=tuple(filter(None, (*_borrowed(context), *skill_folders(context), task_folder(context)))),
        temporary=temporary,
        network=context.rules.network and not reading,
        hosts=(*context.rules.command_hosts, *context.memo.hosts) if context.rules.proxied and not reading else (),
        caps=caps(settings, context.role.limits),
        not_granted=narrowed,
    )


def _check_count(parents: list[str], protected: list[str], env: list[str]) -> None:
    """Raise ToolError for so many mounts that a command would need seconds to begin: a worker may have made them."""
    if (count := len(parents) + len(protected) + len(env)) > _MOST_PROTECTED:
        from lumen_tui.tools.base import ToolError  # not imported at the start of an engine

        deepest = one_line(max([*protected, *env], key=lambda path: path.count("/")), 200)
        raise ToolError(
            f"no command is run: {count:,} folders and files would have to be guarded, {_MOST_PROTECTED} at most: "
            f"grant folders with fewer repositories and .env files, or take away what is none ({deepest} is one)"
        )


def state_cover(context: Context) -> Cover:
    """Return the part of the state folder that a command sees."""
    return Cover(os.path.realpath(context.store.root), _SHOWN)


def writable_roots(context: Context, settings: SandboxConfig) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the granted folders that the task wants, and pairs of a refused folder and the reason.

    Only lumen.toml and the role grant. A task's own roots can only narrow: its spec may come from a model.
    """
    if context.spec.isolate or context.role.own_files_only:
        return (), ()  # it works in a folder of its own; what a person wants of it is brought in by them
    home = context.environ.get("HOME") or os.path.expanduser("~")
    state = context.store.root
    granted, refused = [], []
    for named in settings.granted(context.role.writable):
        path, reason = grant(named, os.path.realpath(home), os.path.realpath(state))
        if reason:
            refused.append((path, reason))
        else:
            granted.append(path)
    requested = [os.path.realpath(os.path.expanduser(root)) for root in (*context.spec.roots, *context.rules.roots)]
    if not requested:
        return tuple(granted), tuple(refused)
    chosen = [path for path in requested if os.path.isdir(path) and is_below_any(path, granted)]
    chosen += [root for root in granted if any(is_below(root, path) for path in requested)]
    refused += [(path, "not granted to this role") for path in requested if path not in chosen]
    return tuple(dict.fromkeys(chosen)), tuple(refused)


def own_code() -> list[str]:
    """Return the folders of this program and its interpreter."""
    own = (os.path.dirname(lumen_tui.__file__), sys.prefix, sys.base_prefix)
    return [os.path.realpath(path) for path in own if path not in ("/", "/usr")]


def obeyed_by_git(below: str) -> bool:
    """Return whether git runs or obeys the file at `below` in a `.git` folder or in one of its worktrees."""
    parts = below.split("/")
    if parts[0] == "worktrees" and len(parts) > 2:
        below = "/".join(parts[2:])
    return is_below_any(below, _OBEYED_BY_GIT)


def _files_obeyed_by_git(git: str) -> list[str]:
    """Return the paths of all such files in one `.git` folder."""
    trees = [f"worktrees/{tree}/{name}" for tree in _names(git, "worktrees") for name in _OF_A_TREE]
    return [os.path.join(git, name) for name in (*_OBEYED_BY_GIT, *trees)]


def _names(*parts: str) -> list[str]:
    try:
        return os.listdir(os.path.join(*parts))
    except OSError:
        return []


def _protected_paths(roots: tuple[str, ...], repositories: list[str], obeyed: list[str]) -> tuple[list[str], list[str]]:
    """Return the paths below the roots that must stay as they are, and the repositories that must not move."""
    tops = dict.fromkeys([*roots, *map(os.path.dirname, repositories)])
    guards = [*own_code(), *(os.path.join(top, name) for top in tops for name in protected_paths.RUN_LATER), *obeyed]
    pinned: list[str] = []
    for git in repositories:
        if len(pinned) < _MOST_IN_PARTS and _is_plain(git, "hooks") and _is_plain(git, "config"):
            pinned.append(git)
            guards += _files_obeyed_by_git(git)
        else:
            guards.append(git)  # whole: missing files and links cannot be mounted singly, and each mount costs time
    with_targets = [*guards, *map(os.path.realpath, filter(os.path.islink, guards))]
    return [path for path in dict.fromkeys(with_targets) if is_below_any(path, roots)], pinned


def _nearest_first(repositories: list[str], cwd: str) -> list[str]:
    """Sort repositories: those around the working folder first, innermost first; then by depth."""

    def distance(git: str) -> tuple[bool, int, str]:
        inside = is_below(cwd, os.path.dirname(git))
        return not inside, -git.count("/") if inside else git.count("/"), git

    return sorted(repositories, key=distance)


def _parents_on_the_way(roots: tuple[str, ...], paths: list[str]) -> Iterator[str]:
    """Yield the folders between a granted root and a protected path: moving one would move that path too."""
    for root, path in ((root, path) for root in roots for path in paths if is_below(path, root)):
        folder = os.path.dirname(path)
        while folder != root and is_below(folder, root):
            yield folder
            folder = os.path.dirname(folder)


def _is_plain(git: str, name: str) -> bool:
    path = os.path.join(git, name)
    return not os.path.islink(git) and os.path.exists(path) and not os.path.islink(path)
