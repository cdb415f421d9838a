"""What changed in the folder where an agent works, or why that is unknown."""

from __future__ import annotations

import os

from lumen_tui.model.views import NO_REPOSITORY, Changes
from lumen_tui.storage import directories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def detect(folder: str, *, base: str, without: str) -> Changes:
    """Return what differs from `base` (a commit, else HEAD) in the repository around `folder`; never raises.

    git is started only where there is a repository: its start alone costs more than a checkpoint may.
    """
    if not folder or not os.path.isdir(folder):
        return Changes(why="no folder")
    if not directories.holder(folder, ".git"):
        return Changes(why=NO_REPOSITORY)
    from lumen_tui.tools.shell import git_status

    return git_status.changes(folder, base=base, without=without, environ=os.environ)


def change_times(changes: Changes) -> dict[str, str]:
    """Return each changed file with the time of its last change, as `changed_since` compares it."""
    return {name: _changed_at(changes.root, name) for name in changes.files}


def changed_since(changes: Changes, before: dict[str, str]) -> Changes:
    """Return the changes without the files that are as they were then: somebody else had changed them."""
    if changes.why or not before:
        return changes
    files = tuple([name for name in changes.files if before.get(name) != _changed_at(changes.root, name)])
    return Changes(**{**changes.__dict__, "files": files})


def _changed_at(root: str, name: str) -> str:
    """Return the ctime in nanoseconds, as text; `gone` for a missing file."""
    try:
        return str(os.lstat(os.path.join(root, name)).st_ctime_ns)
    except OSError:
        return "gone"


def checkpoint_fields(changes: Changes, diff_stat: str) -> dict[str, Any]:
    """Return the changes as fields of a checkpoint; the agent's own diff stat replaces git's."""
    stat = diff_stat.strip() or changes.stat
    if changes.why:
        return {"gitDiffStat": stat} if stat else {"git": {"why": changes.why}}
    git = {"root": changes.root, "branch": changes.branch, "head": changes.head, "base": changes.base}
    fields: dict[str, Any] = {"git": {key: value for key, value in git.items() if value}}
    more = {"files": list(changes.files), "more_files": changes.more_files, "gitDiffStat": stat}
    return fields | {key: value for key, value in more.items() if value}
