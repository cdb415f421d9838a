"""MCP sessions of clients that begin with `initialize`, and the messages of one answer that is streamed."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
from collections.abc import Callable, Mapping

from lumen_tui.model.access import Principal
from lumen_tui.servers.jsonrpc import IncomingCall
from lumen_tui.servers.mcp.handlers import Handlers
from lumen_tui.tools.mcp.messages import JsonRpcError, Message, ServerFailed, result_of

MOST_SESSIONS = 500
MOST_OF_ONE = 50  # sessions of one program
_MOST_UNSENT = 1_000  # messages
_LOOK = 0.5  # seconds between two looks at whether a question is still one


class Outbox:
    """Messages to a client, put in by any thread and taken out by the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[Message | None] = asyncio.Queue(_MOST_UNSENT)
        self._closed = False  # whether nothing comes any more

    @property
    def ended(self) -> bool:
        """Whether all was taken that there will be."""
        return self._closed and self._queue.empty()

    def put(self, message: Message) -> None:
        """Add a message; of a client that takes too little the stream ends with what there is."""
        self._call(message)

    def end(self) -> None:
        """Say that nothing comes any more."""
        self._call(None)

    def _call(self, message: Message | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._put, message)

    def _put(self, message: Message | None) -> None:
        self._closed |= message is None or self._queue.full()
        if not self._queue.full():
            self._queue.put_nowait(message)

    async def take(self, seconds: float) -> Message | None:
        """Return the next message; None where there is none in that time, or any more."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._queue.get(), seconds)
        return None


class McpSession:
    """One client between `initialize` and its end: what it said of itself, its requests, and what it was asked."""

    def __init__(self, who: Principal, client: Message, handlers: Handlers, outbox: Outbox, now: float) -> None:
        self.id = secrets.token_urlsafe(24)
        self.by = who.by
        self.client = client
        self.handlers = handlers
        self.outbox = outbox  # what belongs to no request: it goes to a GET
        self.used = now
        self._open: dict[str | int, IncomingCall] = {}
        self._asked: dict[str, tuple[threading.Event, list[Message]]] = {}

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return bool(self._open)

    def begin(self, call: IncomingCall) -> None:
        """Note a request that is being answered."""
        self._open[call.id] = call

    def finish(self, call: IncomingCall) -> None:
        """Forget it."""
        if self._open.get(call.id) is call:
            del self._open[call.id]

    def cancel(self, request_id: object) -> None:
        """Stop a request; one that is unknown or over is passed over."""
        call = self._open.get(request_id) if isinstance(request_id, (str, int)) else None
        if call is not None:
            call.cancelled.set()

    def ask(
        self,
        call: IncomingCall,
        send: Callable[[Message], None],
        method: str,
        params: Mapping[str, object],
        is_moot: Callable[[], bool],
    ) -> Message | None:
        """Ask the client and return its result; None where it refuses, or the question is moot meanwhile. Blocks."""
        name = secrets.token_urlsafe(12)
        answered, slot = self._asked[name] = (threading.Event(), [])
        send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
        try:
            while not answered.wait(_LOOK):
                if call.cancelled.is_set() or is_moot():
                    send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": name}})
                    return None
            return result_of(slot[0])
        except (JsonRpcError, ServerFailed):
            return None
        finally:
            del self._asked[name]

    def response(self, message: Message) -> None:
        """Take an answer of the client; one to what nobody asked is passed over."""
        if (asked := self._asked.get(str(message.get("id")))) is not None and not asked[0].is_set():
            asked[1].append(message)
            asked[0].set()

    def close(self) -> None:
        """End it, with all that goes on in it; tasks go on."""
        for call in [*self._open.values()]:
            call.cancelled.set()
        self.handlers.subscriptions.close()
        self.outbox.end()


class Sessions:
    """Those of one server; each belongs to the program that began it."""

    def __init__(self) -> None:
        self._open: dict[str, McpSession] = {}

    def add(self, session: McpSession) -> None:
        """Take up a session. Many clients never end theirs, so the one that was used least lately gives way."""
        own = [known for known in self._open.values() if known.by == session.by]
        if len(own) >= MOST_OF_ONE:
            self.end(min(own, key=_worth))
        elif len(self._open) >= MOST_SESSIONS:
            self.end(min(self._open.values(), key=_worth))
        self._open[session.id] = session

    def find(self, session_id: str, who: Principal, now: float) -> McpSession | None:
        """Return a session of this program; None for one that is unknown, over, or another's."""
        session = self._open.get(session_id)
        if session is None or session.by != who.by:
            return None
        session.used = now
        return session

    def end(self, session: McpSession) -> None:
        """Close a session."""
        self._open.pop(session.id, None)
        session.close()

    def close(self) -> None:
        """Close all."""
        for session in [*self._open.values()]:
            self.end(session)


def _worth(session: McpSession) -> tuple[bool, float]:
    """Return what grows with the reasons to keep a session."""
    return (session.busy, session.used)
