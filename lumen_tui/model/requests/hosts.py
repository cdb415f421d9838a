"""Requests about the hosts on which tasks may run."""

from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class CordonHost(Request, tag="host.cordon", frozen=True, kw_only=True):
    """Let no new task begin on a host; what runs there goes on."""

    name: Annotated[str, Arg("the host, as `hosts list` names it", place="NAME")]
    reason: Annotated[str, Arg("why, for everybody to see", "-r")] = ""


class UncordonHost(Request, tag="host.uncordon", frozen=True, kw_only=True):
    """Let tasks begin on a host again, also on one that was to leave."""

    name: Annotated[str, Arg("the host, as `hosts list` names it", place="NAME")]


class DrainHost(Request, tag="host.drain", frozen=True, kw_only=True):
    """Let no new task begin on a host, and its service end once nothing runs there any more."""

    name: Annotated[str, Arg("the host, as `hosts list` names it", place="NAME")]
    reason: Annotated[str, Arg("why, for everybody to see", "-r")] = ""


class RemoveHost(Request, tag="host.remove", frozen=True, kw_only=True):
    """Forget a host: nobody speaks to it any more. Refused while a task runs there."""

    name: Annotated[str, Arg("the host, as `hosts list` names it", place="NAME")]
