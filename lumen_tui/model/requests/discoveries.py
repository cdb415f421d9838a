"""Requests that judge discoveries."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.kinds import DISCOVERY_ALIASES
from lumen_tui.model.requests.base import Arg, Request


class PromoteDiscoveries(Request, tag="triage.promote", frozen=True, kw_only=True):
    """Make a work unit of each discovery, linked both ways, and close the discovery."""

    node_ids: Annotated[str | Sequence[str], Arg("make a work unit of each (with --lane)", "--promote", metavar="ID")]
    lane: Annotated[str, Arg("where the new work unit goes; of a listing: found on this lane", "-l")]
    title: Annotated[str, Arg("of the new work unit [the first line]")] = ""
    wu_id: Annotated[str, Arg("of the new work unit [the next free number]")] = ""
    reason: Annotated[str, Arg("why", "-r")] = ""


class ArchiveDiscoveries(Request, tag="triage.archive", frozen=True, kw_only=True):
    """Close discoveries that will not be worked on."""

    node_ids: Annotated[str | Sequence[str], Arg("close them (with --reason)", "--archive", metavar="ID")]
    reason: Annotated[str, Arg("why it is closed", "-r")]


class PostponeDiscoveries(Request, tag="triage.keep", frozen=True, kw_only=True):
    """Postpone the judgement: the discovery stays open and is not listed for that many days."""

    node_ids: Annotated[str | Sequence[str], Arg("list them again later (with --days)", "--keep", metavar="ID")]
    days: Annotated[float, Arg("how long to keep")] = 7


class MergeDiscoveries(Request, tag="triage.merge", frozen=True, kw_only=True):
    """Close duplicates in favour of one discovery, which gets their tags, units, relations and highest priority."""

    node_ids: Annotated[
        str | Sequence[str], Arg("close them in favour of another (with --into)", "--merge", metavar="ID")
    ]
    into: Annotated[str, Arg("the discovery that stays", metavar="ID")]
    reason: Annotated[str, Arg("why", "-r")] = ""


class EditDiscoveries(Request, tag="triage.edit", frozen=True, kw_only=True):
    """Change how urgent open discoveries are, what sort they are of, or the title of one; empty fields stay."""

    node_ids: Annotated[
        str | Sequence[str], Arg("change them (with --priority, --type or --title)", "--edit", metavar="ID")
    ]
    priority: Annotated[str, Arg("list: of this priority; edit: the new one", "-p")] = ""
    type: Annotated[str, Arg("edit: the sort of discovery", choices=DISCOVERY_ALIASES)] = ""
    title: Annotated[str, Arg("of the new work unit [the first line]; edit: the new one")] = ""
