"""One connection, with bounds that the server lacks: how long and how large the head of a request may be."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0  # from the first byte, or from the connection, to the end of the headers
MOST_HEAD = 64 * 1024  # bytes
_TOO_SLOW, _TOO_LARGE = b"408 Request Timeout", b"431 Request Header Fields Too Large"


class BoundedConnection(HttpToolsProtocol):
    """Ends a connection whose request does not begin, or whose headers do not end."""

    _deadline: asyncio.TimerHandle | None = None
    _head = 0  # bytes that came before the headers were complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._end_wait()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is None:
            return
        self._head += len(data)
        if self._head > MOST_HEAD:
            self._end_wait()
            self._refuse(_TOO_LARGE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline, self._head = None, 0

    def _give_up(self) -> None:
        self._deadline = None
        if self._head:
            self._refuse(_TOO_SLOW)
        else:
            self.transport.close()  # it has asked for nothing

    def _refuse(self, status: bytes) -> None:
        """Answer in a word and close; what the client sends meanwhile is not read."""
        self.transport.pause_reading()
        self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
        self.transport.close()
