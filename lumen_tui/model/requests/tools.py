"""Requests about tools that are not ours."""

from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class AcceptTool(Request, tag="tool.accept", frozen=True, kw_only=True):
    """Accept the tools of an MCP server as they were seen last, or a Python tool as its file is now."""

    name: Annotated[str, Arg("the server, or the Python tool", place="NAME")]
    hash: Annotated[str, Arg("only if this is the hash of what is accepted, as `tool show` prints it")] = ""


class WithdrawTool(Request, tag="tool.withdraw", frozen=True, kw_only=True):
    """Take the acceptance of a server or a Python tool back: no task of a role that names it can begin."""

    name: Annotated[str, Arg("the server, or the Python tool", place="NAME")]
