"""The proxy of one task: it takes connections from the task's own network and reaches the hosts of an allow-list.

It resolves each name itself, holds every address against what is private, and connects to the very address that it has
looked at. Nothing of the engine's environment (HTTP_PROXY) counts here.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from lumen_tui.model import hosts
from lumen_tui.model.egress import ALLOWED, REFUSED, Connection, ProxyLimits
from lumen_tui.model.times import iso
from lumen_tui.tools.egress import addresses
from lumen_tui.tools.egress.exchange import carry_out
from lumen_tui.tools.egress.requests import BadRequest, Wanted

_CONNECT_SECONDS = 15.0
_MOST_REPORTED = 20  # refused connections that are told, at a time


class ProxyPolicy(Protocol):
    """What a task may reach, as it is now."""

    def hosts(self) -> Iterable[str]:
        """Return the patterns that are allowed."""

    def private(self) -> Iterable[str]:
        """Return the hosts that may be at an address of this machine or network."""


class Network(Protocol):
    """The names and machines outside."""

    def lookup(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host. OSError, UnicodeError."""

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        """Return a connection to an address. OSError."""


class Internet:
    """The real ones."""

    def lookup(self, host: str, port: int) -> list[str]:
        return addresses.lookup(host, port)

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        return socket.create_connection((address, port), timeout=seconds)


class TaskProxy:
    """Serves connections on a listening socket until `close`, a thread for each; `keep` puts each on record."""

    def __init__(
        self,
        listener: socket.socket,
        policy: ProxyPolicy,
        keep: Callable[[Connection], None],
        *,
        network: Network | None = None,
        limits: ProxyLimits | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.limits = limits or ProxyLimits()
        self._listener, self._policy, self._keep, self._now = listener, policy, keep, now
        self._network = network or Internet()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._count = self._sent = self._received = 0
        self._refused: list[str] = []  # in words, since they were last asked for
        self.reached: set[str] = set()  # hosts from which something may have come
        self._closed = False
        self._thread = threading.Thread(target=self._serve, daemon=True, name="proxy")
        self._thread.start()

    def close(self) -> None:
        """End all connections, and take no more."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def take_refused(self) -> list[str]:
        """Return what did not go well since this was last asked, each once and in words."""
        with self._lock:
            refused, self._refused = self._refused, []
        return list(dict.fromkeys(refused))

    def _serve(self) -> None:
        while not self._closed:
            try:
                client = self._listener.accept()[0]
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # no descriptor is left: some will be given back
                continue
            if not self._closed:
                self._admit(client)

    def _admit(self, client: socket.socket) -> None:
        with self._lock:
            self._count += 1
            over = self._count > self.limits.connections
            busy = len(self._open) >= self.limits.at_once
            if not (over or busy):
                self._open.add(client)
        if not (over or busy):
            threading.Thread(target=self._carry_out, args=(client,), daemon=True, name="proxied").start()
            return
        client.close()
        if self._count <= self.limits.connections + 1:
            most = self.limits.at_once if busy and not over else self.limits.connections
            reason = f"more than {most:,} connections{' at the same time' if busy and not over else ' of this task'}"
            self.note(reason)
            self._note(Connection(iso(self._now()), REFUSED, why=reason))

    def _carry_out(self, client: socket.socket) -> None:
        try:
            record = carry_out(client, self, self._now)
        finally:
            with self._lock:
                self._open.discard(client)
        self._note(record)

    def _note(self, record: Connection) -> None:
        with self._lock:
            if record.verdict == ALLOWED:
                self.reached.add(record.host)
        self._keep(record)

    # What an exchange asks

    def note(self, reason: str) -> None:
        """Note why a connection did not go well."""
        with self._lock:
            self._refused = [*self._refused, reason][-_MOST_REPORTED:]

    def opened(self, wanted: Wanted) -> tuple[socket.socket, str]:
        """Return a connection to an allowed host and its address. BadRequest."""
        host, port = wanted.host, wanted.port
        allowed = tuple(self._policy.hosts())
        if not hosts.allows(allowed, host, port):
            raise BadRequest(403, f"{host}:{port} is not among the hosts of this task ({', '.join(allowed) or 'none'})")
        ips = self._addresses(host, port)
        error: OSError = TimeoutError("it has no address")
        for address in ips:
            try:
                sock = self._network.connect(address, port, _CONNECT_SECONDS)
            except OSError as failed:
                error = failed
                continue
            with self._lock:
                self.reached.add(host)
            return sock, address
        raise BadRequest(502, f"{host}:{port} cannot be reached: {error}")

    def _addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host, all of which may be reached. BadRequest."""
        try:
            ips = self._network.lookup(host, port)
        except (OSError, UnicodeError) as error:
            raise BadRequest(502, f"{host} cannot be found: {error}") from error
        if hosts.allows((f"{name}:{port}" for name in self._policy.private()), host, port):
            return ips
        for address in ips:
            if not addresses.is_public(address) or addresses.is_own(address):
                raise BadRequest(403, f"{host} is at {address}, inside this machine or network")
        return ips

    def count(self, sent: int, received: int) -> None:
        """Count bytes. BadRequest where the task has used up its own."""
        with self._lock:
            self._sent += sent
            self._received += received
            over = self._sent > self.limits.sent or self._received > self.limits.received
        if over:
            raise BadRequest(429, "the bytes that this task may send or get are used up")
