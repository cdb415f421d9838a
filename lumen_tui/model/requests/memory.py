"""Requests about nodes of the memory: notes, decay, cleanup, archive."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.archive import KINDS
from lumen_tui.model.kinds import DISCOVERY_ALIASES, NODE_TYPES
from lumen_tui.model.requests.base import Arg, Request


class CreateNode(Request, tag="node.create", frozen=True, kw_only=True):
    """Append a node; `discovered_from` links it to the node that was being worked on when it was noticed."""

    content: Annotated[str, Arg("what was noticed, the title first", place="CONTENT")]
    type: Annotated[str, Arg("", choices=(*NODE_TYPES, *DISCOVERY_ALIASES))] = "discovery"
    tags: Annotated[Sequence[str], Arg("short words, such as bug or idea", commas=True)] = ()
    priority: Annotated[str, Arg("P0 to P3", "-p")] = ""
    wu_id: Annotated[
        str, Arg("the work unit it was noticed on, or `none` [of your open session, if there is one]", "--wu")
    ] = ""
    discovered_from: Annotated[str, Arg("the node that led to it", metavar="ID")] = ""
    session_id: Annotated[str, Arg("the session [$LUMEN_SESSION, else yours]", "-s", "--session", metavar="ID")] = ""
    key: Annotated[str, Arg("the same key makes the same note, however often it is asked for")] = ""


class ArchiveNodes(Request, tag="node.archive", frozen=True, kw_only=True):
    """Archive nodes of any type; `unarchive` brings them back."""

    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")]
    reason: Annotated[str, Arg("why", "-r")]


class UnarchiveNodes(Request, tag="node.unarchive", frozen=True, kw_only=True):
    """Restore archived nodes; their age counts from now, or decay would archive them again at once."""

    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")]


class PinNodes(Request, tag="decay.pin", frozen=True, kw_only=True):
    """Pin nodes, which never decay then, or unpin them."""

    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")]
    pinned: Annotated[bool, Arg("let them decay again", "--off")] = True


class TouchNodes(Request, tag="decay.touch", frozen=True, kw_only=True):
    """Append a touch of each node; the nodes themselves stay unchanged."""

    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")]


class ApplyDecay(Request, tag="decay.apply", frozen=True, kw_only=True):
    """Archive what has decayed by `now`. Refused within an hour of a clock jump unless `force`."""

    half_life_days: Annotated[
        float, Arg("days until a score has halved [as configured]", "--half-life", metavar="D")
    ] = 0.0
    threshold: Annotated[float, Arg("archived below it [as configured]", metavar="T")] = 0.0
    force: Annotated[bool, Arg("even right after the clock jumped")] = False


class Summarize(Request, tag="summary.make", frozen=True, kw_only=True):
    """Write the summary and mark its sources. If the same summary exists, that one is returned."""

    wu_id: Annotated[str, Arg("the work unit", "--wu")]
    status: str = ""


class RewriteSummary(Request, tag="summary.rewrite", frozen=True, kw_only=True):
    """Put other words in the place of a summary's. They are the operator's own, unless the agent proposed them.

    `base` is the hash of the text that they were written for: where another one stands there the verb is refused.
    """

    node_id: Annotated[str, Arg("the summary, or the beginning of its id", place="ID")]
    text: Annotated[str, Arg("the new words; - reads them from standard input", place="TEXT")]
    base: str = ""
    proposed: bool = False


class CleanUpNodes(Request, tag="cleanup.nodes", frozen=True, kw_only=True):
    """Archive nodes whose retention is over; with `decay` also those that have decayed."""

    ttl: Annotated[str, Arg("one age for every lifecycle, such as 30d")] = ""
    session_id: Annotated[str, Arg("close this session and archive its nodes", metavar="ID")] = ""
    decay: Annotated[bool, Arg("archive what has decayed, too")] = False
    force: Annotated[bool, Arg("even right after the clock jumped")] = False


class PromoteNodes(Request, tag="node.promote", frozen=True, kw_only=True):
    """Copy nodes to the project's lasting knowledge under a tag, each linked to its original and only once."""

    tag: Annotated[str, Arg("decision, convention, pattern, pitfall, interface, invariant, faq", "-t")]
    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")] = ()
    wu_id: Annotated[str, Arg("the summaries of this work unit instead of nodes", "--wu")] = ""


class DeleteNodes(Request, tag="node.delete", frozen=True, kw_only=True):
    """Mark nodes as deleted: they leave every list; the records stay, and undo brings them back."""

    node_ids: Annotated[str | Sequence[str], Arg("the nodes, or the beginning of their ids", place="ID")] = ()
    tag: Annotated[str, Arg("all with this tag that are not protected")] = ""
    older_than: Annotated[str, Arg("all untouched for so long, such as 12h, 7d, 2w", metavar="AGE")] = ""


class IndexProject(Request, tag="memory.index", frozen=True, kw_only=True):
    """Index the documents of a project as project-wide summaries; unchanged ones are skipped."""

    folder: Annotated[str, Arg("of the project [this one]", place="FOLDER")]


class InsertPassage(Request, tag="archive.insert", frozen=True, kw_only=True):
    """Store a note permanently. The same `key` again means the same note, and nothing is written then."""

    text: Annotated[str, Arg("what to keep, its title first; - reads it from standard input", place="TEXT")]
    tags: Annotated[Sequence[str], Arg("a short word; may be repeated", "-t", "--tag", metavar="TAG")] = ()
    importance: Annotated[float, Arg("how much it matters later, 0 to 1", "-i", metavar="N")] = 0.5
    kind: Annotated[str, Arg("", choices=KINDS)] = "semantic"
    source: Annotated[str, Arg("where it is from", "-s")] = ""
    trust: str = ""
    wu_id: Annotated[str, Arg("the work unit that it belongs to", "--wu")] = ""
    lane: Annotated[str, Arg("the lane that it belongs to", "-l")] = ""
    session_id: Annotated[
        str, Arg("the session it comes from [$LUMEN_SESSION, else yours]", "--session", metavar="ID")
    ] = ""
    key: Annotated[str, Arg("what is inserted twice under one key is one note")] = ""
    task_id: Annotated[str, Arg("the task that found it out", "--task", metavar="ID")] = ""


class WithdrawPassage(Request, tag="archive.withdraw", frozen=True, kw_only=True):
    """Take a note out of the archive and of every search; undo brings it back."""

    passage_id: Annotated[str, Arg("the note, or the beginning of its id", place="ID")]
    reason: Annotated[str, Arg("why", "-r")] = ""
