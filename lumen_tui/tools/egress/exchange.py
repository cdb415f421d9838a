"""One connection of a command through the proxy: its request is read, judged, carried out, and put on record.

A connection carries one request. What goes on to the host is written anew from what was understood, so that nothing can
be read in two ways; a tunnel carries TLS alone, to the host that its first message names.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Protocol

import h11

from lumen_tui.model.egress import ALLOWED, FAILED, REFUSED, Connection
from lumen_tui.model.hosts import BadHost
from lumen_tui.model.text import one_line
from lumen_tui.model.times import iso
from lumen_tui.tools.egress import client_hello
from lumen_tui.tools.egress.byte_mover import MOST_READ, ByteMover, Meter
from lumen_tui.tools.egress.client_hello import NotTls
from lumen_tui.tools.egress.requests import BadRequest, Wanted, passed_on, understood

_HEAD = 16 * 1024  # bytes of a request's or an answer's head
_PIECE = 2 * 1024  # in which a request is read, so that its head ends near the limit
_LAST = 2.0  # seconds for the end of what was refused to be read


class Gate(Meter, Protocol):
    """What decides about connections, and opens them."""

    def opened(self, wanted: Wanted) -> tuple[socket.socket, str]:
        """Return a connection to the host and its address. BadRequest where that is not allowed or not possible."""

    def note(self, reason: str) -> None:
        """Note for the model why a connection did not go well."""


class Exchange:
    """The life of one connection."""

    def __init__(self, client: socket.socket, gate: Gate) -> None:
        self._client, self._gate = client, gate
        self._server = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        self._bytes = ByteMover(client, gate)
        self._wanted: Wanted | None = None
        self._asked = self._address = ""
        self._method = ""
        self._broke: Exception | None = None  # what ended a tunnel, where neither side did

    def run(self) -> tuple[str, str]:
        """Carry the connection out and return the verdict, and why it is not `allowed`."""
        try:
            wanted = self._wanted = self._request()
            upstream, self._address = self._gate.opened(wanted)
        except (BadRequest, BadHost) as error:
            status = error.status if isinstance(error, BadRequest) else 400
            return self._refuse(status, str(error))
        except (OSError, h11.ProtocolError) as error:
            return self._refuse(
                400, f"the request cannot be read ({one_line(str(error) or type(error).__name__, 100)})"
            )
        self._bytes.allow_all()
        with contextlib.closing(upstream):
            try:
                self._tunnel(upstream, wanted) if wanted.is_tunnel else self._pass_on(upstream, wanted)
            except (NotTls, BadRequest) as error:
                return self._told(REFUSED, str(error))
            except (OSError, h11.ProtocolError) as error:
                return self._told(FAILED, one_line(str(error) or type(error).__name__, 200))
        return ALLOWED, ""

    def _told(self, verdict: str, reason: str) -> tuple[str, str]:
        """Tell why it did not go well before the client can see that it did not."""
        host = f"{self._wanted.host}:{self._wanted.port}" if self._wanted else self._asked
        self._gate.note(reason if host in reason else f"{host}: {reason}" if host else reason)
        return verdict, reason

    def record(self, verdict: str, reason: str, at: str) -> Connection:
        """Return what there is to say of it."""
        known = self._wanted
        return Connection(
            at,
            verdict,
            known.host if known else self._asked,
            known.port if known else 0,
            self._method,
            one_line(reason, 300),
            self._address,
            self._bytes.sent,
            self._bytes.received,
            round(self._bytes.seconds, 3),
        )

    def _request(self) -> Wanted:
        """Return the request. BadRequest, BadHost, OSError, h11.ProtocolError."""
        while True:
            event = self._server.next_event()
            if event is h11.NEED_DATA:
                self._server.receive_data(self._bytes.from_client(_PIECE))
            elif isinstance(event, h11.Request):
                self._method = one_line(event.method.decode("ascii", "replace"), 20)
                self._asked = one_line(event.target.decode("ascii", "replace"), 200)
                return understood(event)
            else:
                raise ConnectionError("it ended before its request")

    def _refuse(self, status: int, reason: str) -> tuple[str, str]:
        """Answer that it was not done; a client that is gone hears nothing. Return the verdict."""
        outcome = self._told(FAILED if status >= 500 else REFUSED, reason)
        body = f"lumen-tui: {one_line(reason, 400)}\n".encode()
        head = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        with contextlib.suppress(OSError, h11.ProtocolError):
            self._answer(status, [*head, ("Connection", "close")], body)
            self._client.shutdown(socket.SHUT_WR)
            self._client.settimeout(_LAST)
            self._client.recv(MOST_READ)  # else the answer may be lost to a reset
        return outcome

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        parts = [self._server.send(h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase))]
        if body:
            parts.append(self._server.send(h11.Data(data=body)))
            parts.append(self._server.send(h11.EndOfMessage()))
        self._client.settimeout(self._gate.limits.head_seconds)
        self._client.sendall(b"".join(part for part in parts if part))

    # Plain HTTP

    def _pass_on(self, upstream: socket.socket, wanted: Wanted) -> None:
        host = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        asked = h11.Request(method=wanted.method, target=wanted.path, headers=list(wanted.headers))
        self._bytes.to_host(upstream, host.send(asked))
        if wanted.waits:
            self._bytes.to_client(self._server.send(h11.InformationalResponse(status_code=100, headers=[])))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before the end
            for event in self._body():
                self._bytes.to_host(upstream, host.send(event))
        self._answers(upstream, host)

    def _body(self) -> Iterator[h11.Data | h11.EndOfMessage]:
        while True:
            event = self._server.next_event()
            if event is h11.NEED_DATA:
                self._server.receive_data(self._bytes.from_client())
            elif isinstance(event, h11.Data):
                yield event
            elif isinstance(event, h11.EndOfMessage):
                yield h11.EndOfMessage()  # without trailers
                return
            else:
                raise ConnectionError("it ended before its body")

    def _answers(self, upstream: socket.socket, host: h11.Connection) -> None:
        while True:
            event = host.next_event()
            if event is h11.NEED_DATA:
                host.receive_data(self._bytes.from_host(upstream))
            elif isinstance(event, h11.Response):
                self._bytes.to_client(self._server.send(self._for_client(event)))
            elif isinstance(event, h11.Data):
                self._bytes.to_client(self._server.send(event))
            elif isinstance(event, h11.EndOfMessage):
                self._bytes.to_client(self._server.send(h11.EndOfMessage()))
                return
            elif not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise ConnectionError("the host gave no whole answer")

    def _for_client(self, response: h11.Response) -> h11.Response:
        chunked = any(name == b"transfer-encoding" for name, _ in response.headers)
        length = [pair for pair in response.headers if pair[0] == b"content-length" and not chunked]
        headers = [*passed_on(response.headers), *length, (b"connection", b"close")]
        return h11.Response(status_code=response.status_code, headers=headers, reason=response.reason)

    # Tunnels

    def _tunnel(self, upstream: socket.socket, wanted: Wanted) -> None:
        """Carry TLS in both directions, once it has named the host for which the tunnel was opened."""
        self._answer(200, [])
        self._bytes.allow_head()
        hello = bytes(self._server.trailing_data[0])
        while (named := client_hello.server_name(hello)) is None:
            if not (more := self._bytes.from_client()):
                raise NotTls("it ended before TLS began")
            hello += more
        if named.lower() != wanted.host and not (not named and wanted.is_address):
            raise NotTls(f"TLS names {one_line(named, 100) or 'no host'}, and the tunnel leads to {wanted.host}")
        self._bytes.allow_all()
        self._bytes.to_host(upstream, hello)
        back = threading.Thread(target=self._pump, args=(upstream, self._client, False), daemon=True)
        back.start()
        self._pump(self._client, upstream, True)
        back.join()
        if isinstance(self._broke, BadRequest | TimeoutError):
            raise self._broke

    def _pump(self, source: socket.socket, target: socket.socket, outward: bool) -> None:
        """Carry bytes one way until the end of either side; then that direction is closed."""
        try:
            while part := self._bytes.from_client() if outward else self._bytes.from_host(source):
                self._bytes.to_host(target, part) if outward else self._bytes.to_client(part)
        except (OSError, BadRequest) as error:
            self._broke = self._broke or error
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def carry_out(client: socket.socket, gate: Gate, now: Callable[[], float]) -> Connection:
    """Carry a connection out and return what is on record of it."""
    exchange = Exchange(client, gate)
    with contextlib.closing(client):
        verdict, reason = exchange.run()
    return exchange.record(verdict, reason, iso(now()))
