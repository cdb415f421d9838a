"""Where a task works when it works apart: in a worktree or a copy of its own, never in the operator's files."""

from __future__ import annotations

from msgspec import Struct

from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec

MODES = ("worktree", "copy")
RECORD = "isolation.json"  # in the task's folder


class Isolation(Struct, frozen=True, omit_defaults=True):
    """tasks/<id>/isolation.json: what stands in for the operator's folder, and how far that has come."""

    kind: str  # worktree | copy
    top: str  # the operator's folder, a real path: the top of the repository, or the folder that was copied
    below: str = ""  # the task's own folder in it; empty: the top itself
    state: str = "preparing"  # preparing | ready | captured: the change list is there | settled: the folder is back
    pool: str = ""  # below trees/: the private repository of a worktree
    slot: str = ""  # in the pool
    objects: str = ""  # of the operator's repository, which its commands read
    commit: str = ""  # that it began from
    branch: str = ""  # that the operator's working tree was on
    notes: tuple[str, ...] = ()  # for the worker and for whoever reads the change list
    schema: int = 1


def mode_of(spec: Spec, role: Role, default: str) -> str:
    """Return how a task works: as it says itself, else its role; the default is for roles that may change files."""
    chosen = spec.isolate or role.isolate or (default if role.changes_files else "")
    return chosen if chosen in MODES else ""
