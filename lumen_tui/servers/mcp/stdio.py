"""The MCP server on its own pipes. Started by an editor or an agent for each of its sessions: its first answer loads
next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lumen_tui.model.access import Principal
from lumen_tui.model.toolservers import HANDSHAKE
from lumen_tui.servers.jsonrpc import IncomingCall, JsonRpcServer, answer_of, invalid, own_pipes
from lumen_tui.servers.mcp.wire import VERSIONS, Exchange, greeting, legacy_client, may_wait, modern_client, stamped
from lumen_tui.tools.mcp.messages import META, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lumen_tui.servers.mcp.handlers import Handlers


class StdioServer(JsonRpcServer):
    """One client's requests, in either generation. `principal` makes one of a client's name."""

    name = "mcp"

    def __init__(self, root: Path, principal: Callable[[str], Principal], source: int, sink: int) -> None:
        super().__init__(source, sink)
        self._root = root
        self._principal = principal
        self._client: Message | None = None  # what `initialize` said
        self._handlers: Handlers | None = None

    def request(self, method: str, request_id: str | int, params: Message) -> None:
        exchange = self._exchange(method, request_id, params)
        if (result := greeting(method, exchange)) is not None:
            self.send(exchange.answer(result))
            return
        self.hand_out(method, exchange, is_long=may_wait(method, params))

    def notification(self, method: str, params: Message) -> None:
        if method == "notifications/cancelled":
            self._cancel(params.get("requestId"))

    def _exchange(self, method: str, request_id: str | int, params: Message) -> Exchange:
        """Return the request with its generation: by its own `_meta`, else by the handshake before it."""
        client = modern_client(params)
        if client is None and method == "initialize":
            client = self._client = legacy_client(params)
        client = client or self._client
        if client is None and method == "ping":
            client = {"version": HANDSHAKE, "capabilities": {}}
        if client is None:
            raise invalid(f"send `initialize` first, or {META}protocolVersion in _meta: {', '.join(VERSIONS)}")
        return Exchange(request_id, params, self._principal(str(client.get("name", ""))), client, self.notify)

    def answer(self, method: str, call: IncomingCall) -> Message | None:
        if call.cancelled.is_set() or not isinstance(call, Exchange):
            return None
        result = self._loaded().answer(method, call)
        if result is None:
            return None  # it stays open until it is cancelled
        return call.answer(result)

    def _loaded(self) -> Handlers:
        with self._turn:
            if self._handlers is None:
                from lumen_tui.servers.catalogue import Counter
                from lumen_tui.servers.desk import Desk
                from lumen_tui.servers.mcp.handlers import Handlers

                self._handlers = Handlers(Counter(Desk(self._root)))
            return self._handlers

    def _cancel(self, request_id: object) -> None:
        """Stop a request; one that is unknown or over is passed over."""
        call = self.open_call(request_id)
        if call is not None:
            self.close_call(call)
            call.cancelled.set()
            if self._handlers is not None:
                self._handlers.subscriptions.cancel(call.id)

    def response(self, message: Message) -> None:
        """Pass over it: this server asks nothing."""

    def farewell(self) -> None:
        """Say that subscriptions are over."""
        if self._handlers is not None:
            for request_id in self._handlers.subscriptions.close():
                meta = {"_meta": {f"{META}subscriptionId": request_id}}
                self.send(answer_of(request_id, stamped(meta)))


def serve(root: Path, principal: Callable[[str], Principal]) -> int:
    """Serve on stdin and stdout until the client closes them."""
    StdioServer(root, principal, *own_pipes()).serve()
    return 0
