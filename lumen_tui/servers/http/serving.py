"""The server: which addresses it takes, with which certificate, and how it begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.service_manager import ServiceManager
from lumen_tui.model.access import HTTP_PORT, READS
from lumen_tui.model.text import safe
from lumen_tui.servers.access import TokenBook
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.following import FollowingDesk
from lumen_tui.servers.http.app import HttpApi, application
from lumen_tui.servers.http.connection import BoundedConnection
from lumen_tui.servers.http.door import Door

_MOST_CONNECTIONS = 4_000
_FAREWELL = 3  # seconds for what is being answered when the server ends
_UNREAD = 30_000  # milliseconds after which a client that does not take its answer is dropped
_LINES = 20  # of the log, a second
_SWITCH = 0.0005  # seconds for which a thread that reads keeps the loop waiting; by default ten times that


class Listening(Struct, frozen=True):
    """Where and how to serve."""

    address: str = "127.0.0.1"
    port: int = HTTP_PORT
    certificate: str = ""  # a file in PEM, with its chain
    key: str = ""
    insecure: bool = False  # whether an address of the network may be taken without a certificate
    names: tuple[str, ...] = ()  # under which clients ask for this server, besides its addresses
    reads: float = READS  # a second, of one token


def serve(root: Path, listening: Listening, say: Callable[[str], None]) -> int:
    """Serve until the process is asked to end; return 0. ActionError and StoreError where it cannot begin."""
    context, log = _tls(listening), PacedLog()
    manager = ServiceManager.of(os.environ)
    desk = FollowingDesk(root)
    with contextlib.closing(manager), contextlib.closing(desk), _bound(listening, context is not None) as sockets:
        desk.follow()
        door = Door(TokenBook(desk.layout), (listening.address, *listening.names))
        api = HttpApi(desk, Counter(desk, listening.reads), door, log.line)

        async def alive() -> None:
            manager.alive(desk.clock.running())

        def ready() -> None:
            api.listeners.start(asyncio.get_running_loop())
            manager.ready()
            say(f"serving {root} at {' and '.join(_addresses(sockets, context is not None))}")

        config = configured(application(api), context)
        config.callback_notify, config.timeout_notify = alive, 1
        signal.signal(signal.SIGTERM, lambda *_: None)  # what is in force again when the server has ended
        _allow_files()
        sys.setswitchinterval(_SWITCH)

        def end() -> None:
            manager.stopping("asked to end")
            api.listeners.end()
            api.mcp.end()

        with contextlib.closing(api.listeners), contextlib.closing(api.searches):
            ApiServer(config, ready, end).run(sockets)
    return 0


def configured(app: Starlette, context: ssl.SSLContext | None = None) -> uvicorn.Config:
    """Return how the application is served, with TLS where there is a context."""
    return uvicorn.Config(
        app,
        http=BoundedConnection,
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=logging.CRITICAL + 1,  # its lines may hold what a client sent
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_FAREWELL,
        ssl_context_factory=(lambda *_: context) if context else None,
    )


class ApiServer(uvicorn.Server):
    """Says when it answers, and when it begins to end."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None], on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready, self._on_end = on_ready, on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_end()
        await super().shutdown(sockets)


class PacedLog:
    """Lines on standard error, only so many a second: whoever floods the server does not fill the disk."""

    def __init__(self) -> None:
        self._since, self._lines = 0.0, 0

    def line(self, text: str) -> None:
        """Write a line, without anything of a request in it that may be a secret."""
        now = time.monotonic()
        if now - self._since >= 1.0:
            if self._lines > _LINES:
                self._write(f"{self._lines - _LINES} lines more in that second")
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines <= _LINES:
            self._write(text)

    @staticmethod
    def _write(text: str) -> None:
        print(f"lumen-tui serve: {safe(text)}", file=sys.stderr, flush=True)  # noqa: T201 - the log of a server


def _tls(listening: Listening) -> ssl.SSLContext | None:
    """Return the context for a certificate; None without one. ActionError where it cannot be used."""
    if not listening.certificate:
        if listening.key:
            raise ActionError("--key belongs to a certificate: name that with --cert")
        return None
    for path in filter(None, (listening.certificate, listening.key)):
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError as error:
            raise ActionError(f"{path} cannot be read: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(listening.certificate, listening.key or None, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as error:
        text = f"{listening.certificate} is no certificate in PEM with its own key, without a password: {error}"
        raise ActionError(text) from error
    return context


@contextlib.contextmanager
def _bound(listening: Listening, secure: bool) -> Iterator[list[socket.socket]]:
    """Return sockets for each address of a name. ActionError for one of the network without a certificate."""
    places = _resolved(listening)
    if not (secure or listening.insecure):
        _must_be_loopback(listening.address, places)
    with contextlib.ExitStack() as stack:
        sockets: list[socket.socket] = []
        for family, place in places:
            port = sockets[0].getsockname()[1] if sockets else listening.port
            sockets.append(stack.enter_context(_listener(family, place, port)))
        yield sockets


def _resolved(listening: Listening) -> list[tuple[socket.AddressFamily, str]]:
    try:
        answers = socket.getaddrinfo(listening.address, listening.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as error:
        raise ActionError(f"{listening.address} is no address of this machine: {error}") from error
    return list(dict.fromkeys((family, str(place[0])) for family, _, _, _, place in answers))


def _must_be_loopback(name: str, places: list[tuple[socket.AddressFamily, str]]) -> None:
    if all(ipaddress.ip_address(place.partition("%")[0]).is_loopback for _, place in places):
        return
    raise ActionError(
        f"{name} can be reached from the network, and tokens would cross it in the open: give --cert and --key, "
        "or --insecure where something else encrypts"
    )


def _listener(family: socket.AddressFamily, place: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listener.bind((place, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        hint = ": choose another with --port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise ActionError(f"port {port} of {place} cannot be had: {error.strerror}{hint}") from error
    return listener


def _addresses(sockets: list[socket.socket], secure: bool) -> Iterator[str]:
    for listener in sockets:
        place, port = listener.getsockname()[:2]
        yield f"http{'s' if secure else ''}://{f'[{place}]' if ':' in place else place}:{port}"


def _allow_files() -> None:
    """Let this process have as many connections open as the server takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + 1_000
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
