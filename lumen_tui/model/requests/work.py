"""Requests about work units, imports and relations."""

from __future__ import annotations

from lumen_tui.model.requests.base import Request


class NewWorkUnit(Request, tag="wu.new", frozen=True, kw_only=True):
    """Write work/WU-NNN.md under the next free number, or under `id`. The same `key` makes one."""

    title: str
    lane: str = ""
    type: str = "task"
    priority: str = "P2"
    body: str = ""
    id: str = ""
    key: str = ""


class ClaimWorkUnit(Request, tag="wu.claim", frozen=True, kw_only=True):
    """Claim a work unit, within the limit of its lane. `pid` is a process that stands for the holder."""

    wu_id: str
    lane: str = ""
    session: str = ""
    pid: int = 0


class BlockWorkUnit(Request, tag="wu.block", frozen=True, kw_only=True):
    """Block a work unit; its place in the lane becomes free."""

    wu_id: str
    reason: str


class UnblockWorkUnit(Request, tag="wu.unblock", frozen=True, kw_only=True):
    """Make a blocked unit ready again; it must be claimed again, as its place may be taken."""

    wu_id: str


class ReleaseWorkUnit(Request, tag="wu.release", frozen=True, kw_only=True):
    """Release a claimed unit. Anybody may; the summary says whose it was."""

    wu_id: str
    reason: str = ""


class FinishWorkUnit(Request, tag="wu.done", frozen=True, kw_only=True):
    """Finish a work unit: end its sessions, summarize its checkpoints, free its lane, and tell everybody."""

    wu_id: str
    no_checkpoint_check: bool = False


class ImportLumenFlow(Request, tag="import.lumenflow", frozen=True, kw_only=True):
    """Import a .lumenflow folder."""

    path: str


class ImportBeads(Request, tag="import.beads", frozen=True, kw_only=True):
    """Import the issues of beads."""

    path: str


class AddRelation(Request, tag="relation.add", frozen=True, kw_only=True):
    """Add an edge; both ends must exist, and `blocks` must not form a cycle."""

    from_id: str
    to_id: str
    type: str


class RemoveRelation(Request, tag="relation.remove", frozen=True, kw_only=True):
    """Remove an edge by appending a line that says so; the earlier line stays."""

    from_id: str
    to_id: str
    type: str
