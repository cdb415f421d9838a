"""Requests about work units, imports and relations."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Struct

from lumen_tui.model.kinds import RELATION_TYPES, WORK_UNIT_TYPES
from lumen_tui.model.requests.base import Arg, Request


class NewWorkUnit(Request, tag="wu.new", frozen=True, kw_only=True):
    """Write work/WU-NNN.md under the next free number, or under `id`. The same `key` makes one."""

    title: Annotated[str, Arg("what it is about, in a line", place="TITLE")]
    lane: Annotated[str, Arg("the lane, the stream of work", "-l")] = ""
    type: Annotated[str, Arg("", choices=WORK_UNIT_TYPES)] = "task"
    priority: Annotated[str, Arg("P0 to P3", "-p")] = "P2"
    body: Annotated[str, Arg("the description")] = ""
    acceptance: Annotated[Sequence[str], Arg("what must be so before it is done", "--accept", metavar="TEXT")] = ()
    depends_on: Annotated[Sequence[str], Arg("a work unit that must be done first", "--after", metavar="ID")] = ()
    id: Annotated[str, Arg("WU-NNN instead of the next free number")] = ""
    key: Annotated[str, Arg("the same key makes the same work unit, however often it is asked for")] = ""


class UnitPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A part into which a work unit is split; without a lane it goes where the whole is."""

    title: str
    body: str = ""
    acceptance: tuple[str, ...] = ()
    lane: str = ""


class SplitWorkUnit(Request, tag="wu.split", frozen=True, kw_only=True):
    """Make a work unit of each part; the whole waits for all of them. The same `key` splits once."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]
    parts: Sequence[Mapping[str, object]]  # each a UnitPart
    in_order: Annotated[bool, Arg("each part waits for the one before it")] = False
    key: Annotated[str, Arg("the same key makes the same parts, however often it is asked for")] = ""


class ClaimWorkUnit(Request, tag="wu.claim", frozen=True, kw_only=True):
    """Claim a work unit, within the limit of its lane. `pid` is a process that stands for the holder."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]
    lane: Annotated[str, Arg("put it into this lane [its own]", "-l")] = ""
    session: Annotated[str, Arg("the session that works on it", "-s", metavar="ID")] = ""
    pid: Annotated[int, Arg("a process that represents the holder [the login shell, at a terminal]")] = 0


class BlockWorkUnit(Request, tag="wu.block", frozen=True, kw_only=True):
    """Block a work unit; its place in the lane becomes free."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]
    reason: Annotated[str, Arg("why", "-r")]


class UnblockWorkUnit(Request, tag="wu.unblock", frozen=True, kw_only=True):
    """Make a blocked unit ready again; it must be claimed again, as its place may be taken."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]


class ReleaseWorkUnit(Request, tag="wu.release", frozen=True, kw_only=True):
    """Release a claimed unit. Anybody may; the summary says whose it was."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]
    reason: Annotated[str, Arg("why", "-r")] = ""


class FinishWorkUnit(Request, tag="wu.done", frozen=True, kw_only=True):
    """Finish a work unit: end its sessions, summarize its checkpoints, free its lane, and tell everybody."""

    wu_id: Annotated[str, Arg("the work unit", place="ID")]
    no_checkpoint_check: Annotated[bool, Arg("without a look for a checkpoint")] = False
    reason: Annotated[str, Arg("why it is done although its acceptance was disproved", "-r")] = ""


class ImportLumenFlow(Request, tag="import.lumenflow", frozen=True, kw_only=True):
    """Import a .lumenflow folder."""

    path: Annotated[str, Arg("the .lumenflow folder or the one that holds it", place="PATH")]


class ImportBeads(Request, tag="import.beads", frozen=True, kw_only=True):
    """Import the issues of beads."""

    path: Annotated[str, Arg("issues.jsonl or the folder that holds it", place="PATH")]


class AddRelation(Request, tag="relation.add", frozen=True, kw_only=True):
    """Add an edge; both ends must exist, and `blocks` must not form a cycle."""

    from_id: Annotated[str, Arg("one end: a work unit or node", place="ID")]
    type: Annotated[str, Arg("", place="RELATION", choices=RELATION_TYPES)]
    to_id: Annotated[str, Arg("the other end", place="ID")]


class RemoveRelation(Request, tag="relation.remove", frozen=True, kw_only=True):
    """Remove an edge by appending a line that says so; the earlier line stays."""

    from_id: Annotated[str, Arg("one end: a work unit or node", place="ID")]
    type: Annotated[str, Arg("", place="RELATION", choices=RELATION_TYPES)]
    to_id: Annotated[str, Arg("the other end", place="ID")]
