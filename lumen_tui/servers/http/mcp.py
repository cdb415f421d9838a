"""MCP over streamable HTTP: one path, both generations of the protocol, and the handlers of `servers.mcp`.

What is soon answered is answered as JSON. A request becomes a stream of events where something is told or asked before
its answer, or that takes long; in the stateless protocol closing the stream is what cancels it.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counted
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from lumen_tui.model.access import Principal, Scope
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.toolservers import HANDSHAKE, MODERN, OLDER
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.servers.http.door import Door, body_of
from lumen_tui.servers.http.problems import HEADERS, METHOD, HttpProblem
from lumen_tui.servers.http.sessions import McpSession, Outbox, Sessions
from lumen_tui.servers.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    AnsweringThreads,
    error_of,
    invalid,
)
from lumen_tui.servers.mcp.handlers import Handlers
from lumen_tui.servers.mcp.wire import (
    MISSING_CAPABILITY,
    Exchange,
    greeting,
    legacy_client,
    may_wait,
    modern_client,
    modern_version,
)
from lumen_tui.tools.mcp.http import header_value
from lumen_tui.tools.mcp.messages import META, METHOD_NOT_FOUND, UNSUPPORTED_VERSION, JsonRpcError, Message

SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
_HEADER_MISMATCH = -32020
_NAMED = {  # method -> what Mcp-Name repeats
    **dict.fromkeys(("tools/call", "prompts/get"), "name"),
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}
_STATUS = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, _HEADER_MISMATCH), 400),
    **dict.fromkeys((MISSING_CAPABILITY, UNSUPPORTED_VERSION), 400),
    METHOD_NOT_FOUND: 404,
}
_SOON = 5.0  # seconds until an answer becomes a stream
_MOST_LONG = 8  # requests of one program that listen or wait for a task, so that others can, too
_SILENCE = 15.0  # seconds after which a stream says that it lives
_JSON, _STREAM = "application/json", "text/event-stream"


class McpStream(StreamingResponse):
    """A stream of messages, and what is done when it has ended, also where it never began."""

    def __init__(self, parts: AsyncIterator[bytes], finish: Callable[[], None] = lambda: None) -> None:
        super().__init__(parts, media_type=_STREAM, headers={**HEADERS, "x-accel-buffering": "no"})
        self._finish = finish

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._finish()


class McpEndpoint:
    """The path `/mcp`. `handlers` makes those of one client."""

    def __init__(self, counter: Counter, desk: FollowingDesk, door: Door, handlers: Callable[[], Handlers]) -> None:
        self._counter = counter
        self._desk = desk
        self._door = door
        self._handlers = handlers
        self._shared: Handlers | None = None  # for the requests of the stateless protocol that do not listen
        self._sessions = Sessions()
        self._threads = AnsweringThreads()
        self._streams: set[Outbox] = set()
        self._long: Counted[str] = Counted()  # requests of each program that listen or wait for a task

    async def answer(self, request: Request) -> Response:
        """Answer one HTTP request. HttpProblem where it is none of MCP."""
        who = self._door.principal(request, self._desk.now, "mcp")
        version = request.headers.get(VERSION, "")
        if request.method == "POST":
            return await self._post(request, who, await body_of(request))
        if version == MODERN or SESSION not in request.headers:
            raise HttpProblem(METHOD, "this path takes POST, and more within a session only", {"allow": "POST"})
        session = self._session(request, who)
        if request.method == "DELETE":
            self._sessions.end(session)
            return Response(status_code=204)
        outbox, reader = _read_on(session, request.headers.get("last-event-id", ""))
        return McpStream(self._sent(outbox, reader, request, session))

    def end(self) -> None:
        """End all streams and sessions; called in the loop."""
        self._sessions.close()
        for outbox in [*self._streams]:
            outbox.end()

    async def _post(self, request: Request, who: Principal, body: bytes) -> Response:
        request_id = None
        try:
            message = _message(body)
            request_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
            if not isinstance(method, str) or "id" not in message:
                self._take(message, request, who)
                return Response(status_code=202)
            if not isinstance(request_id, (str, int)) or isinstance(request_id, bool):
                request_id = None
                raise JsonRpcError(INVALID_REQUEST, "id must be a text or a whole number")
            if not isinstance(params, dict):
                raise invalid("params must be an object")
            if method != "tools/call":  # which is counted by its scope
                self._counter.count(who, Scope.READ)
            return await self._request(method, request_id, params, request, who)
        except JsonRpcError as error:
            always = error.code in (PARSE_ERROR, INVALID_REQUEST, _HEADER_MISMATCH, UNSUPPORTED_VERSION)
            is_modern = always or request.headers.get(VERSION) == MODERN
            return _json(error_of(request_id, error), _STATUS.get(error.code, 200) if is_modern else 200)

    def _take(self, message: Message, request: Request, who: Principal) -> None:
        """Take a notification, or an answer to what a client was asked."""
        if request.headers.get(VERSION) == MODERN:
            return  # the stateless protocol has none: a client cancels by closing its stream
        session = self._session(request, who)
        params = message.get("params")
        if "method" not in message:
            session.response(message)
        elif message["method"] == "notifications/cancelled" and isinstance(params, dict):
            session.cancel(params.get("requestId"))

    def _session(self, request: Request, who: Principal) -> McpSession:
        """Return the session that a request belongs to. HttpProblem where there is none."""
        version = request.headers.get(VERSION, HANDSHAKE)
        if version not in (HANDSHAKE, *OLDER):
            raise HttpProblem(("unknown", 400), "this version of the protocol is not spoken here")
        session_id = request.headers.get(SESSION, "")
        if not session_id:
            raise HttpProblem(("invalid", 400), "send `initialize` first, and then the Mcp-Session-Id that it gave")
        session = self._sessions.find(session_id, who, self._desk.clock.running())
        if session is None:
            raise HttpProblem(("missing", 404), "this session is over: send `initialize` again")
        return session

    async def _request(
        self, method: str, request_id: str | int, params: Message, request: Request, who: Principal
    ) -> Response:
        outbox = Outbox(asyncio.get_running_loop())
        if version := modern_version(params):
            _check_headers(version, method, params, request)
        client = modern_client(params)
        session = None
        if client is None and request.headers.get(VERSION) == MODERN:
            raise invalid(f"_meta lacks {META}protocolVersion")
        if client is None and method == "initialize":
            client = legacy_client(params)
            session = self._begin(who, client)
        elif client is None:
            session = self._session(request, who)
            client, outbox.name = session.client, session.stream_name()
        exchange = Exchange(request_id, params, who, client, partial(_tell, outbox, session))
        if session is not None:
            exchange.ask = partial(session.ask, exchange, outbox.put)
        if (result := greeting(method, exchange)) is not None:
            headers = {SESSION: session.id} if session is not None and method == "initialize" else {}
            return _json(exchange.answer(result), headers=headers)
        return await self._carry_out(method, exchange, session, outbox, request)

    def _begin(self, who: Principal, client: Message) -> McpSession:
        now = self._desk.clock.running()
        session = McpSession(who, client, self._handlers(), Outbox(asyncio.get_running_loop(), "0"), now)
        self._sessions.add(session)
        return session

    async def _carry_out(
        self, method: str, exchange: Exchange, session: McpSession | None, outbox: Outbox, request: Request
    ) -> Response:
        listens = method == "subscriptions/listen"
        if session is not None:
            handlers = session.handlers
        elif listens:
            handlers = self._handlers()  # its subscriptions end with the stream
        else:
            handlers = self._shared = self._shared or self._handlers()
        is_long = listens or may_wait(method, exchange.params)
        if is_long and self._long[exchange.who.by] >= _MOST_LONG:
            raise JsonRpcError(INTERNAL_ERROR, f"{_MOST_LONG} requests of this program wait or listen: end some first")
        work = partial(_work, handlers, method, exchange, outbox)
        if not self._threads.take(work, is_long=is_long and not listens):
            raise JsonRpcError(INTERNAL_ERROR, "too many requests are under way: wait for some of them")
        finish = self._begun(exchange, session, handlers, is_long=is_long)
        first = await outbox.take(_SOON)
        if first is not None and "method" not in first[1] and not listens:
            finish()
            return _json(first[1], self._status(first[1], exchange))
        if session is not None:
            session.keep(outbox)
        return McpStream(self._sent(outbox, outbox.begin(), request, session, first), finish)

    def _begun(
        self, exchange: Exchange, session: McpSession | None, handlers: Handlers, *, is_long: bool
    ) -> Callable[[], None]:
        """Note a request that is under way; return what ends it. A stateless one ends with its stream."""
        by = exchange.who.by
        self._long[by] += is_long
        if session is not None:
            session.begin(exchange)

        def finish() -> None:
            self._long[by] -= is_long
            if session is not None:
                session.finish(exchange)
                return
            exchange.cancelled.set()
            if handlers is not self._shared:
                handlers.subscriptions.close()

        return finish

    @staticmethod
    def _status(answer: Message, exchange: Exchange) -> int:
        error = answer.get("error")
        return _STATUS.get(error["code"], 200) if error and exchange.modern else 200

    async def _sent(
        self,
        outbox: Outbox,
        reader: int,
        request: Request,
        session: McpSession | None,
        first: tuple[int, Message] | None = None,
    ) -> AsyncIterator[bytes]:
        """Yield the messages of an outbox as events, until they end, another reader begins, or the token ends."""
        self._streams.add(outbox)
        try:
            yield b": open\n\n" if first is None else _event(outbox, *first)
            while not outbox.is_over(reader):
                taken = await outbox.take(_SILENCE, reader)
                self._door.principal(request, self._desk.now)
                yield b": alive\n" if taken is None else _event(outbox, *taken)
            if session is not None and outbox is not session.outbox and outbox.is_sent:
                session.drop(outbox)
        except HttpProblem:
            return  # the token was revoked, or its time is over
        finally:
            self._streams.discard(outbox)


def _read_on(session: McpSession, event_id: str) -> tuple[Outbox, int]:
    """Return what a GET of a session reads, and its reader: the session's own stream, or one that was cut off."""
    if not event_id:
        return session.outbox, session.outbox.begin()
    try:
        return session.resume(event_id)
    except LookupError as error:
        text = "this place of a stream is not kept any more: ask without Last-Event-ID"
        raise HttpProblem(("invalid", 400), text) from error


def _message(body: bytes) -> Message:
    try:
        message = msgspec.json.decode(body)
    except UNDECODABLE as error:
        raise JsonRpcError(PARSE_ERROR, "the body is no JSON in UTF-8") from error
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise JsonRpcError(INVALID_REQUEST, "a body is one JSON-RPC 2.0 message")
    return message


def _check_headers(version: str, method: str, params: Message, request: Request) -> None:
    """Hold what the headers of a stateless request say against its body: who is between reads only the headers."""
    given = [("Mcp-Protocol-Version", version), ("Mcp-Method", method)]
    if isinstance(name := params.get(_NAMED.get(method, "")), str):
        given.append(("Mcp-Name", name))
    for header, value in given:
        if [text.strip(" \t") for text in request.headers.getlist(header)] not in ([value], [header_value(value)]):
            raise JsonRpcError(_HEADER_MISMATCH, f"{header} does not say what the body says")


def _tell(outbox: Outbox, session: McpSession | None, method: str, params: Mapping[str, object]) -> None:
    """Send a notification: what is about a resource in a session belongs to no request."""
    target = session.outbox if session is not None and method.startswith("notifications/resources/") else outbox
    target.put({"jsonrpc": "2.0", "method": method, "params": params})


def _work(handlers: Handlers, method: str, exchange: Exchange, outbox: Outbox) -> None:
    """Answer a request into an outbox; one that stays open has no end here."""
    try:
        result = handlers.answer(method, exchange)
        if result is None:
            return
        outbox.put(exchange.answer(result))
    except JsonRpcError as error:
        outbox.put(error_of(exchange.id, error))
    except Exception as error:  # noqa: BLE001 - one request must not end the server; what was asked stays out of the log
        outbox.put(error_of(exchange.id, JsonRpcError(INTERNAL_ERROR, f"{type(error).__name__} in the server")))
    outbox.end()


def _event(outbox: Outbox, number: int, message: Message) -> bytes:
    """Return a message as an event; with an id where a client can go on behind it."""
    place = f"id: {outbox.name}-{number}\n".encode() if outbox.name else b""
    return b"%sevent: message\ndata: %s\n\n" % (place, msgspec.json.encode(message))


def _json(message: Message, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    data = msgspec.json.encode(message)
    return Response(data, status, media_type=_JSON, headers={**HEADERS, **(headers or {})})
