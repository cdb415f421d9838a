"""One conversation with an MCP server: which protocol it speaks, which tools it has, and calls of them.

A server is asked for nothing but its tools, and is given nothing it asks for: no sampling, no elicitation, no roots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from lumen_tui.model.text import one_line
from lumen_tui.model.toolservers import HANDSHAKE, MODERN, OLDER, ToolDefinition, definition
from lumen_tui.tools.mcp.messages import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    JsonRpcError,
    Message,
    ServerFailed,
    Transport,
    client_info,
    result_of,
    with_meta,
)

_POLL = 0.1  # seconds between two looks at whether the task was asked to stop
_MOST_TOOLS = 500
_MOST_PAGES = 50
_MOST_UNSOLICITED = 10_000  # messages that nobody asked for, during one request
_CHANGED = "notifications/tools/list_changed"


class McpClient:
    """A client over one transport. ServerFailed where the server cannot be used; whoever gets it closes the client.

    `check` is called again and again while something is awaited, `note` with what the server tries that is refused.
    """

    def __init__(
        self,
        transport: Transport,
        monotonic: Callable[[], float],
        check: Callable[[], None],
        note: Callable[[str], None],
    ) -> None:
        self._transport = transport
        self._monotonic = monotonic
        self.check = check
        self._note = note
        self._number = 0
        self._refused: set[str] = set()
        self.protocol = ""
        self.title = ""
        self._list_changed = False  # whether it said so
        self._fresh_until = math.inf  # by the ttlMs of its list

    @property
    def tools_outdated(self) -> bool:
        """Whether it may declare other tools now: it said so, or the time for which its list holds is over."""
        return self._list_changed or self._monotonic() >= self._fresh_until

    def close(self, *, failed: bool = False) -> None:
        """Let the server go, at once where it has failed."""
        self._transport.close(failed=failed)

    def connect(self, wanted: str, seconds: float) -> None:
        """Agree on a protocol. The stateless one is tried first, where the settings leave it open."""
        ends = self._monotonic() + seconds
        if wanted != HANDSHAKE and self._discover(seconds / 2 if wanted == "auto" else seconds, must=wanted == MODERN):
            return
        try:
            self._initialize(max(0.1, ends - self._monotonic()))
        except JsonRpcError as error:
            # a server that was slow to begin has taken the question as the beginning of the stateless protocol
            again = wanted == "auto" and error.code == UNSUPPORTED_VERSION
            if not again or not self._discover(max(0.1, ends - self._monotonic()), must=False):
                raise ServerFailed(f"it refused to begin: {one_line(str(error), 200)}") from error

    def _discover(self, seconds: float, *, must: bool) -> bool:
        """Return whether the server speaks the stateless protocol."""
        self._transport.version = MODERN
        try:
            found = self._send_request("server/discover", with_meta({}), seconds)
        except JsonRpcError as error:
            if must:
                raise ServerFailed(f"it does not speak {MODERN}: {one_line(str(error), 200)}") from error
            return False
        except _RequestTimeout:
            if must:
                raise
            return False
        versions = found.get("supportedVersions")
        if not isinstance(versions, list) or MODERN not in versions:
            return False
        self.protocol = MODERN
        info = found.get("_meta", {})
        self._set_server_info(info.get("io.modelcontextprotocol/serverInfo") if isinstance(info, dict) else None)
        return True

    def _initialize(self, seconds: float) -> None:
        self._transport.version = ""
        params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client_info()}
        found = self._send_request("initialize", params, seconds)
        version = found.get("protocolVersion")
        if version not in (HANDSHAKE, *OLDER):
            raise ServerFailed(f"it speaks version {one_line(str(version), 40)}: {MODERN} or {HANDSHAKE} is needed")
        self.protocol = self._transport.version = str(version)
        self._set_server_info(found.get("serverInfo"))
        self._transport.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, seconds)

    def _set_server_info(self, info: object) -> None:
        if isinstance(info, dict):
            self.title = one_line(f"{info.get('name', '')} {info.get('version', '')}".strip(), 80)

    def list_tools(self, seconds: float) -> tuple[ToolDefinition, ...]:
        """Return what it declares now, by name. ServerFailed where a name comes twice, or there is no end of them."""
        self._list_changed, self._fresh_until = False, math.inf
        ends = self._monotonic() + seconds
        found: dict[str, ToolDefinition] = {}
        params: dict[str, object] = {}
        for _ in range(_MOST_PAGES):
            page = self.request("tools/list", params, max(0.1, ends - self._monotonic()))
            for raw in page.get("tools") or ():
                tool = definition(raw)
                if tool.name in found:
                    raise ServerFailed(f"it declares {tool.name!r} twice")
                found[tool.name] = tool
                if len(found) > _MOST_TOOLS:
                    raise ServerFailed(f"it declares more than {_MOST_TOOLS} tools")
            self._fresh_until = min(self._fresh_until, self._monotonic() + _seconds_fresh(page))
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                return tuple(found[name] for name in sorted(found))
            params = {"cursor": cursor}
        raise ServerFailed(f"its list of tools has no end after {_MOST_PAGES} pages")

    def call_tool(
        self, name: str, arguments: Mapping[str, object], seconds: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Call a tool and return the result as the server has it. JsonRpcError where it answers with an error."""
        result = self.request("tools/call", {"name": name, "arguments": dict(arguments)}, seconds, headers)
        kind = result.get("resultType", "complete")
        if kind != "complete":
            asked = one_line(", ".join(_asked_for(result)) or str(kind), 200)
            self._note(f"asks for more ({asked}) before it answers: refused")
            raise JsonRpcError(0, f"it asks for more before it answers ({asked}), which no server gets here")
        return result

    def request(
        self, method: str, params: Mapping[str, object], seconds: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Make a request in the protocol that was agreed on, and return its result."""
        is_modern = self.protocol == MODERN
        try:
            return self._send_request(
                method, with_meta(params) if is_modern else dict(params), seconds, headers if is_modern else None
            )
        except JsonRpcError as error:
            if method == "tools/list":
                raise ServerFailed(f"it does not tell its tools: {one_line(str(error), 200)}") from error
            raise

    def _send_request(
        self, method: str, params: Mapping[str, object], seconds: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        self._number += 1
        number, ends, unsolicited = self._number, self._monotonic() + seconds, 0
        self._transport.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, seconds, headers)
        while (left := ends - self._monotonic()) > 0:
            self.check()
            message = self._transport.receive(min(_POLL, left))
            if message is None:
                continue
            if "method" not in message and message.get("id") == number:
                return result_of(message)
            unsolicited += 1
            if unsolicited > _MOST_UNSOLICITED:
                raise ServerFailed(f"it sent {_MOST_UNSOLICITED:,} messages that nobody asked for")
            self._handle_unsolicited(message, left)
        noise = self._transport.noise
        said = f"; of its lines {noise:,} are no messages, which belong to standard error" if noise else ""
        raise _RequestTimeout(f"it gave no answer to {method} within {seconds:g} s{said}")

    def _handle_unsolicited(self, message: Message, seconds: float) -> None:
        """Take a message that is no answer: a request is refused, of notices only that of other tools matters."""
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if number is not None and not (isinstance(number, int) and 0 < number < self._number):
                raise ServerFailed(f"it answered request {one_line(str(number), 40)}, which was never made")
            return  # an answer that comes too late, or to something that it could not read
        if number is None:
            self._list_changed = self._list_changed or method == _CHANGED
            return
        if method == "ping":
            self._transport.send({"jsonrpc": "2.0", "id": number, "result": {}}, seconds)
            return
        shown = one_line(method, 60)
        if shown not in self._refused and len(self._refused) < 20:
            self._refused.add(shown)
            self._note(f"asks for {shown}: refused")
        error = {"code": METHOD_NOT_FOUND, "message": "this client offers nothing: no sampling, elicitation or roots"}
        self._transport.send({"jsonrpc": "2.0", "id": number, "error": error}, seconds)


class _RequestTimeout(ServerFailed):
    """No answer came in time."""


def _seconds_fresh(page: Message) -> float:
    """Return how long a page of a list holds; without end where the server does not say."""
    milliseconds = page.get("ttlMs")
    return milliseconds / 1000 if isinstance(milliseconds, int) and milliseconds >= 0 else math.inf


def _asked_for(result: Message) -> list[str]:
    asked = result.get("inputRequests")
    methods = (
        [entry.get("method") for entry in asked.values() if isinstance(entry, dict)] if isinstance(asked, dict) else []
    )
    return [method for method in methods if isinstance(method, str)]
