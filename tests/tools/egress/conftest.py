"""A small town of hosts: one that is allowed, and traps at every other address. Who is reached is on record."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest
from lumen_host import Host
from lumen_until import until

from lumen_tui.model.egress import Connection, ProxyLimits
from lumen_tui.tools.egress.proxy import TaskProxy

GOOD, EVIL = "93.184.216.34", "93.184.216.66"
ALLOWED = (
    "good.example", "*.sub.example", "port.example:8443", "rebind.example", "private.example", "meta.example",
    "wire.example", "mapped.example", "nat.example", "ula.example", "mixed.example", "loop.example", "tunnel.example",
    "six.example", "zero.example", "own.example", "carrier.example", "site.example",
)  # fmt: skip
NAMES = {
    "good.example": [GOOD], "a.sub.example": [GOOD], "port.example": [GOOD], "evil.example": [EVIL],
    "private.example": ["10.0.0.5"], "meta.example": ["169.254.169.254"], "wire.example": ["168.63.129.16"],
    "mapped.example": ["::ffff:127.0.0.1"], "nat.example": ["64:ff9b::7f00:1"], "ula.example": ["fd00:ec2::254"],
    "mixed.example": [GOOD, "127.0.0.1"], "loop.example": ["::1"], "tunnel.example": ["2001:0:7f00:1::1"],
    "six.example": ["2002:7f00:1::1"], "zero.example": ["0.0.0.0"], "carrier.example": ["100.100.100.200"],
    "site.example": ["fec0::1"],
}  # fmt: skip


class Town:
    """The network outside, with a proxy in front of it. `dialled` are the addresses that it connected to."""

    def __init__(self, limits: ProxyLimits, allowed: tuple[str, ...] = ALLOWED) -> None:
        self.plain, self.tls, self.trap = Host(), Host(), Host()
        self.names = {name: list(found) for name, found in NAMES.items()}
        self.lookups: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.records: list[Connection] = []
        self.allowed, self.inside = list(allowed), list[str]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self.proxy = TaskProxy(self._listener, self, self.records.append, network=self, limits=limits)

    def hosts(self) -> list[str]:
        return self.allowed

    def private(self) -> list[str]:
        return self.inside

    def lookup(self, host: str, port: int) -> list[str]:
        self.lookups.append(host)
        if host == "rebind.example":
            return [GOOD] if self.lookups.count(host) == 1 else ["127.0.0.1"]
        if host not in self.names:
            raise socket.gaierror("no such name")
        return self.names[host]

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        self.dialled.append((address, port))
        known = {(GOOD, 80): self.plain, (GOOD, 443): self.tls, (GOOD, 8443): self.tls}
        return socket.create_connection(("127.0.0.1", known.get((address, port), self.trap).port), timeout=seconds)

    def client(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=20)

    def say(self, *parts: bytes) -> bytes:
        """Send these to the proxy, each once something came back for the one before; return all that came."""
        with self.client() as client:
            for part in parts[:-1]:
                client.sendall(part)
                if not client.recv(65_536):
                    return b""
            with contextlib.suppress(OSError):
                client.sendall(parts[-1])
                client.shutdown(socket.SHUT_WR)
            return everything(client)

    def recorded(self, count: int) -> list[Connection]:
        until(lambda: len(self.records) >= count, lambda: self.records)
        return self.records

    def forget(self) -> None:
        """Begin again: nothing was looked up, dialled, put on record or sent anywhere."""
        for known in (self.lookups, self.dialled, self.records, self.plain.got, self.tls.got):
            known.clear()
        self.trap.connections = 0

    def close(self) -> None:
        self.proxy.close()
        for host in (self.plain, self.tls, self.trap):
            host.close()


def everything(client: socket.socket) -> bytes:
    """Return all that still comes."""
    found = b""
    with contextlib.suppress(OSError):
        while part := client.recv(65_536):
            found += part
    return found


@pytest.fixture
def make_town() -> Iterator[Callable[..., Town]]:
    with contextlib.ExitStack() as stack:

        def make(*allowed: str, **limits: float) -> Town:
            town = Town(ProxyLimits(**limits), *([allowed] if allowed else []))  # type: ignore[arg-type]
            stack.callback(town.close)
            return town

        yield make


@pytest.fixture
def town(make_town) -> Town:
    return make_town()
