"""MCP servers as the operator names them, and the definitions of tools that were accepted.

A definition is known by the hash of all that its server said of it: a server that says something else later has to be
accepted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.text import is_safe, one_line

MODERN = "2026-07-28"  # stateless: every request carries its version
HANDSHAKE = "2025-11-25"  # the newest that begins with `initialize`
OLDER = ("2025-06-18", "2025-03-26", "2024-11-05")  # what a server may answer `initialize` with
BETWEEN = "__"  # in the full name of a tool: server__tool
FIND, CALL = "find_tools", "call_tool"  # with which a model looks tools up and calls them
_SERVER = lazy_re(r"[a-z0-9][a-z0-9-]{0,30}")
_TOOL = lazy_re(r"[A-Za-z0-9_.-]{1,128}")
_DECLARED = lazy_re(r"[A-Za-z0-9_-]{1,64}")  # what the APIs of models take
_VARIABLE = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_DESCRIPTION = 10_000  # characters
_MOST_DEFINITION = 64 * 1024  # bytes


class ToolServer(Struct, frozen=True, forbid_unknown_fields=True):
    """[mcp.servers.NAME]: a program that speaks MCP, by `command` or at `url`. A role's `mcp` names those it has."""

    command: tuple[str, ...] = ()  # run in the sandbox; it speaks on stdin and stdout
    url: str = ""  # streamable HTTP
    env: tuple[str, ...] = ()  # variables of the worker that the command gets, besides PATH, HOME and the like
    token_env: str = ""  # the variable whose value is sent to `url` as a bearer token
    writes: bool = True  # whether a call may change anything: then only roles with write = true may have it
    network: bool = False  # whether the command needs the network: then only roles with network = true may have it
    risk: Literal["low", "high"] = "high"  # high: [approvals] ask knows its calls as custom:high
    protocol: Literal["auto", "2026-07-28", "2025-11-25"] = "auto"
    start_seconds: Annotated[float, Meta(gt=0, le=600)] = 30.0  # until it has named its tools
    timeout_seconds: Annotated[float, Meta(gt=0, le=7200)] = 120.0  # of one call


class McpConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """[mcp]: the servers whose tools roles may have"""

    servers: dict[str, ToolServer] = {}


class ToolDefinition(Struct, frozen=True, omit_defaults=True):
    """A tool as its server declares it."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    hash: str = ""  # of all that the server said of it
    problem: str = ""  # why it cannot be used


class ServerTools(Struct, frozen=True, omit_defaults=True):
    """The tools of one server. accepted/<server>.seen.json, and accepted/definitions/"""

    server: str
    protocol: str = ""
    title: str = ""  # what the server calls itself
    tools: tuple[ToolDefinition, ...] = ()
    at: str = ""
    schema: int = 1

    @property
    def hash(self) -> str:
        """The hash of all definitions together, as a person compares it."""
        return short(",".join(sorted(f"{tool.name}={tool.hash}" for tool in self.tools)))

    def named(self) -> dict[str, ToolDefinition]:
        """Return the tools by name."""
        return {tool.name: tool for tool in self.tools}


class PinDecision(Struct, frozen=True, omit_defaults=True):
    """What a person accepted: the tools of a server, or the file of a Python tool, by their hash."""

    hash: str
    at: str = ""
    by: str = ""


class Accepted(Struct, frozen=True, omit_defaults=True):
    """accepted/accepted.json"""

    servers: dict[str, PinDecision] = {}
    tools: dict[str, PinDecision] = {}
    schema: int = 1


def short(text: str | bytes) -> str:
    """Return the first 16 digits of the SHA-256 of a text."""
    return sha256(text.encode("utf-8", "replace") if isinstance(text, str) else text)[:16]


def server_fault(name: str, server: ToolServer) -> str:
    """Return why a server cannot be used as it is configured, or an empty string."""
    if not _SERVER.fullmatch(name):
        return "its name must be 1 to 31 of a-z, 0-9 and '-', beginning with a letter or digit"
    if bool(server.command) == bool(server.url):
        return "it needs either a command or a url"
    if strange := [part for part in server.command if not part or "\0" in part]:
        return f"command: {strange[0]!r} is no argument"
    if server.command and server.command[0].startswith(("./", "../")):
        return "command: a server is started in a folder of the task: name its program with its whole path"
    if server.url and (fault := _url_fault(server)):
        return fault
    if server.command and server.token_env:
        return "token_env is for a url: give a command its variables with env"
    named = (*server.env, *((server.token_env,) if server.token_env else ()))
    wrong = next((variable for variable in named if not _VARIABLE.fullmatch(variable)), "")
    return f"{wrong!r} is no name of a variable" if wrong else ""


def _url_fault(server: ToolServer) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server.url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return "url: it cannot be read"
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.fragment:
        return "url: an address such as https://example.org/mcp is needed, without a password in it"
    local = host in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not local:
        return "url: http is taken for this machine alone (127.0.0.1, localhost): use https"
    if server.env:
        return "env is for a command: a url gets its token with token_env"
    return ""


def rights_fault(server: ToolServer, *, write: bool, network: bool) -> str:
    """Return what a role with these rights lacks to have the server, or an empty string."""
    if server.writes and not write:
        return "it may change something, and the role has no write = true (writes = false says that it does not)"
    if server.network and not network:
        return "it needs the network, and the role has no network = true"
    return ""


def full_name(server: str, tool: str) -> str:
    return f"{server}{BETWEEN}{tool}"


def parts_of(name: str) -> tuple[str, str]:
    """Return server and tool of a full name; the tool is empty where it names a server alone."""
    server, _, tool = name.partition(BETWEEN)
    return server, tool


def grants(entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return by server the tools that a role's `mcp` names singly; empty for those of which it has all tools."""
    whole = {server for server, tool in map(parts_of, entries) if not tool}
    named: dict[str, tuple[str, ...]] = {}
    for server, tool in map(parts_of, entries):
        named[server] = (*named.get(server, ()), tool) if tool else named.get(server, ())
    return {server: () if server in whole else tools for server, tools in named.items()}


def grant_fault(entry: str) -> str:
    """Return what is wrong with an entry of a role's `mcp`, or an empty string."""
    server, tool = parts_of(entry)
    if not _SERVER.fullmatch(server) or (BETWEEN in entry and not _TOOL.fullmatch(tool)):
        return f"{one_line(entry, 80)!r} is no server and no tool of one, such as git or git__git_log"
    return ""


def can_be_declared(name: str) -> bool:
    """Return whether models take a tool under this full name."""
    return _DECLARED.fullmatch(name) is not None


def definition(declared: object) -> ToolDefinition:
    """Return what a server said of one tool. What cannot be used has a `problem`, and the hash all the same."""
    raw = declared if isinstance(declared, dict) else {}
    declaration = {key: value for key, value in raw.items() if key != "_meta"}
    encoded = msgspec.json.encode(declaration, order="deterministic")
    name, description, schema = (
        raw.get("name"),
        raw.get("description") or raw.get("title") or "",
        raw.get("inputSchema"),
    )
    if not isinstance(name, str) or not _TOOL.fullmatch(name):
        shown = one_line(name, 60) if isinstance(name, str) else "(no name)"
        return ToolDefinition(shown, hash=short(encoded), problem="its name is not made of A-Z, a-z, 0-9, _ . -")
    problem = _fault(description, schema, encoded)
    if problem or not isinstance(description, str) or not isinstance(schema, dict):
        return ToolDefinition(name, hash=short(encoded), problem=problem)
    return ToolDefinition(name, description.strip(), schema, short(encoded))


def _fault(description: object, schema: object, encoded: bytes) -> str:
    if len(encoded) > _MOST_DEFINITION:
        return f"its definition has {len(encoded):,} bytes: {_MOST_DEFINITION:,} at most"
    if not isinstance(description, str) or not isinstance(schema, dict) or schema.get("type") != "object":
        return "it has no description in words, or no schema of type object"
    if len(description) > _MOST_DESCRIPTION:
        return f"its description has {len(description):,} characters: {_MOST_DESCRIPTION:,} at most"
    if not all(is_safe(text) for text in _texts([description, schema])):
        return "its definition hides text: it has characters that nobody sees"
    return ""


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part.replace("\r\n", "\n")
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part


def differences(accepted: ServerTools | None, seen: ServerTools) -> dict[str, str]:
    """Return by tool how it differs from what was accepted: new, changed, or gone."""
    before, after = accepted.named() if accepted else {}, seen.named()
    changed = {
        name: "new" if name not in before else "changed"
        for name, tool in after.items()
        if name not in before or before[name].hash != tool.hash
    }
    return changed | dict.fromkeys((name for name in before if name not in after), "gone")


def in_words(changed: Mapping[str, str]) -> str:
    """Return differences as a person reads them: `changed: a, b; new: c`."""
    by_kind = {
        kind: sorted(name for name, difference in changed.items() if difference == kind)
        for kind in ("changed", "new", "gone")
    }
    return "; ".join(f"{kind}: {one_line(', '.join(names), 200)}" for kind, names in by_kind.items() if names)
