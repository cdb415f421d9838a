"""MCP sessions of clients that begin with `initialize`, and the messages of one answer that is streamed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping

from lumen_tui.model.access import Principal
from lumen_tui.servers.jsonrpc import IncomingCall
from lumen_tui.servers.mcp.handlers import Handlers
from lumen_tui.tools.mcp.messages import JsonRpcError, Message, ServerFailed, result_of

MOST_SESSIONS = 500
MOST_OF_ONE = 50  # sessions of one program
_MOST_UNSENT = 1_000  # messages
_MOST_KEPT = 100  # messages of a stream that were sent, for who did not get them
_MOST_STREAMS = 5  # of a session, with which a client can go on
_LOOK = 0.5  # seconds between two looks at whether a question is still one


class Outbox:
    """Messages to a client, put in by any thread and taken out by the loop, by the reader that began last.

    Those of a stream with a name are kept for a while, for a client whose connection ended with some of them under way.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str = "") -> None:
        self.name = name
        self._loop = loop
        self._messages: deque[Message] = deque()
        self._first = self._next = 1  # numbers of the first that is there, and of the first that was not taken
        self._reader = 0
        self._closed = False  # whether nothing comes any more
        self._news = asyncio.Event()

    @property
    def is_sent(self) -> bool:
        """Whether all was taken that there will be."""
        return self._closed and self._next == self._end

    def is_over(self, reader: int) -> bool:
        """Return whether nothing comes any more for a reader: all was taken, or another one has begun."""
        return reader != self._reader or self.is_sent

    @property
    def _end(self) -> int:
        return self._first + len(self._messages)

    def begin(self, place: int | None = None) -> int:
        """Return the number of a new reader; it goes on behind the message `place`. LookupError where that is gone."""
        if place is not None:
            if not self._first - 1 <= place < self._end:
                raise LookupError
            self._next = place + 1
        self._reader += 1
        self._news.set()
        return self._reader

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
        if message is None or self._end - self._next >= _MOST_UNSENT:
            self._closed = True
        else:
            self._messages.append(message)
        self._news.set()

    async def take(self, seconds: float, reader: int = 0) -> tuple[int, Message] | None:
        """Return the next message with its number; None where there is none in that time, or any more."""
        if self._next == self._end and not self.is_over(reader):
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), seconds)
        if self._next == self._end or self.is_over(reader):
            return None
        number, self._next = self._next, self._next + 1
        message = self._messages[number - self._first]
        while self._next - self._first > (_MOST_KEPT if self.name else 0):
            self._messages.popleft()
            self._first += 1
        return number, message


class McpSession:
    """One client between `initialize` and its end: what it said of itself, its requests, and what it was asked."""

    def __init__(self, who: Principal, client: Message, handlers: Handlers, outbox: Outbox, now: float) -> None:
        self.id = secrets.token_urlsafe(24)
        self.by = who.by
        self.client = client
        self.handlers = handlers
        self.outbox = outbox  # what belongs to no request: it goes to a GET
        self.used = now
        self._streams = {outbox.name: outbox}
        self._begun = itertools.count(1)
        self._open: dict[str | int, IncomingCall] = {}
        self._asked: dict[str, tuple[threading.Event, list[Message]]] = {}

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return bool(self._open)

    def stream_name(self) -> str:
        """Return a name for the stream of a request."""
        return str(next(self._begun))

    def keep(self, outbox: Outbox) -> None:
        """Let a client go on with the stream of a request where its connection ends."""
        self._streams[outbox.name] = outbox
        if len(self._streams) > _MOST_STREAMS:
            oldest = next(name for name in self._streams if name != self.outbox.name)
            del self._streams[oldest]

    def drop(self, outbox: Outbox) -> None:
        """Forget the stream of a request that was sent to its end."""
        self._streams.pop(outbox.name, None)

    def resume(self, event_id: str) -> tuple[Outbox, int]:
        """Return the stream in which an event was, and a new reader behind it. LookupError where that is gone."""
        name, _, number = event_id.partition("-")
        outbox = self._streams[name]
        return outbox, outbox.begin(int(number) if number.isdecimal() and len(number) < 19 else -1)

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
