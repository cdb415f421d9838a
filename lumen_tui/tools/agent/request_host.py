"""request_host: a person lets this task reach one more host, until it ends."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lumen_tui.model import hosts
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.tools.base import ApprovalRequest, Context, Effect, Tool, ToolError, ToolResult

REASON = "each host that a task reaches is a person's decision"
_MOST = 50  # hosts that are added to one task


class HostArguments(Struct, frozen=True, forbid_unknown_fields=True):
    host: Annotated[
        str, Meta(min_length=3, max_length=260, description="a name such as example.org, or example.org:8443")
    ]
    why: Annotated[str, Meta(min_length=1, max_length=300, description="what you need from it")]


def _host(context: Context, arguments: HostArguments) -> str:
    """Return the host as it is compared, so that a yes counts for every spelling of it."""
    return arguments.host.strip().lower()


def request_host(context: Context, arguments: HostArguments) -> ToolResult:
    host = _host(context, arguments)
    if fault := hosts.pattern_fault(host):
        raise ToolError(f"{context.clean(arguments.host)!r} is {fault}")
    if host.startswith("*"):
        raise ToolError("name one host; whole domains are for the operator to allow")
    if context.rules.offline:
        raise ToolError("a constraint of this task says that nothing reaches the network")
    if host in context.memo.hosts:
        return ToolResult(f"{host} is allowed already", summary="allowed already")
    if len(context.memo.hosts) >= _MOST:
        raise ToolError(f"{_MOST} hosts were added to this task: write the result, with what is missing")
    ask_person(context)
    context.memo.hosts = (*context.memo.hosts, host)
    return ToolResult(f"{host} can be reached until this task ends", summary=f"{host} allowed", data={"host": host})


def ask_person(context: Context) -> None:
    """Ask whether the task may reach the host of the call that is made now. ToolError for a no."""
    reply = context.ask(ApprovalRequest(tool=REQUEST_HOST, summary="", reason=REASON))
    if not reply.allowed:
        raise ToolError(f"refused: {reply.reason or 'no reason was given'}")


TOOL = Tool(
    REQUEST_HOST,
    "Ask the operator to let this task reach one more host, with web_fetch and with commands where they have a "
    "network. Use it once a host has been refused and nothing that is allowed serves as well. You wait for the answer; "
    "a yes counts until the task ends. Addresses of this machine and network stay closed.",
    HostArguments,
    request_host,
    lambda a: f"asks to reach {a.host}: {a.why}",
    target=_host,
    risk="What the task knows can be sent to that host, and what comes back is somebody else's text.",
    effect=Effect.NONE,
)
