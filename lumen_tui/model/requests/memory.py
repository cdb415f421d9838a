"""Requests about nodes of the memory: notes, decay, cleanup, archive."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class CreateNode(Request, tag="node.create", frozen=True, kw_only=True):
    """Append a node; `discovered_from` links it to the node that was being worked on when it was noticed."""

    content: str
    type: str = "discovery"
    tags: Sequence[str] = ()
    priority: str = ""
    wu_id: str = ""
    discovered_from: str = ""
    session_id: str = ""
    key: str = ""


class ArchiveNodes(Request, tag="node.archive", frozen=True, kw_only=True):
    """Archive nodes of any type; `unarchive` brings them back."""

    node_ids: str | Sequence[str]
    reason: str


class UnarchiveNodes(Request, tag="node.unarchive", frozen=True, kw_only=True):
    """Restore archived nodes; their age counts from now, or decay would archive them again at once."""

    node_ids: str | Sequence[str]


class PinNodes(Request, tag="decay.pin", frozen=True, kw_only=True):
    """Pin nodes, which never decay then, or unpin them."""

    node_ids: str | Sequence[str]
    pinned: bool = True


class TouchNodes(Request, tag="decay.touch", frozen=True, kw_only=True):
    """Append a touch of each node; the nodes themselves stay unchanged."""

    node_ids: str | Sequence[str]


class ApplyDecay(Request, tag="decay.apply", frozen=True, kw_only=True):
    """Archive what has decayed by `now`. Refused within an hour of a clock jump unless `force`."""

    half_life_days: float = 0.0
    threshold: float = 0.0
    force: bool = False


class Summarize(Request, tag="summary.make", frozen=True, kw_only=True):
    """Write the summary and mark its sources. If the same summary exists, that one is returned."""

    wu_id: str
    status: str = ""


class CleanUpNodes(Request, tag="cleanup.nodes", frozen=True, kw_only=True):
    """Archive nodes whose retention is over; with `decay` also those that have decayed."""

    ttl: str = ""
    session_id: str = ""
    decay: bool = False
    force: bool = False


class PromoteNodes(Request, tag="node.promote", frozen=True, kw_only=True):
    """Copy nodes to the project's lasting knowledge under a tag, each linked to its original and only once."""

    tag: str
    node_ids: str | Sequence[str] = ()
    wu_id: str = ""


class DeleteNodes(Request, tag="node.delete", frozen=True, kw_only=True):
    """Mark nodes as deleted: they leave every list; the records stay, and undo brings them back."""

    node_ids: str | Sequence[str] = ()
    tag: str = ""
    older_than: str = ""


class IndexProject(Request, tag="memory.index", frozen=True, kw_only=True):
    """Index the documents of a project as project-wide summaries; unchanged ones are skipped."""

    folder: str


class InsertPassage(Request, tag="archive.insert", frozen=True, kw_only=True):
    """Store a note permanently. The same `key` again means the same note, and nothing is written then."""

    text: str
    tags: Sequence[str] = ()
    importance: float = 0.5
    kind: str = "semantic"
    source: str = ""
    trust: str = ""
    wu_id: str = ""
    lane: str = ""
    key: str = ""
    task_id: str = ""


class WithdrawPassage(Request, tag="archive.withdraw", frozen=True, kw_only=True):
    """Take a note out of the archive and of every search; undo brings it back."""

    passage_id: str
    reason: str = ""
