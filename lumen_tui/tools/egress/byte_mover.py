"""The bytes of one connection on their way between a command and a host: counted, and within its time."""

from __future__ import annotations

import socket
import time
from typing import Protocol

from lumen_tui.model.egress import ProxyLimits

MOST_READ = 64 * 1024


class Meter(Protocol):
    """Counts the bytes of all connections of a task."""

    limits: ProxyLimits

    def count(self, sent: int, received: int) -> None:
        """Count bytes. BadRequest where the task has used up its own."""


class ByteMover:
    """Reads and sends until a deadline, and while something moves. All of it raises OSError, and what `count` does."""

    def __init__(self, client: socket.socket, meter: Meter) -> None:
        self._client, self._meter = client, meter
        self._began = self._moved = time.monotonic()
        self.sent = self.received = 0  # to the host and from it
        self.allow_head()

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._began

    def allow_head(self) -> None:
        """Set the deadline for what must come first."""
        self._deadline = time.monotonic() + self._meter.limits.head_seconds

    def allow_all(self) -> None:
        """Set the deadline for the whole connection."""
        self._deadline = self._began + self._meter.limits.seconds

    def from_client(self, most: int = MOST_READ) -> bytes:
        """Return what comes from the command; empty at its end."""
        return self._read(self._client, most)

    def from_host(self, host: socket.socket) -> bytes:
        """Return what comes from the host; empty at its end."""
        data = self._read(host, MOST_READ)
        self.received += len(data)
        self._meter.count(0, len(data))
        return data

    def to_host(self, host: socket.socket, data: bytes | None) -> None:
        if data:
            self._meter.count(len(data), 0)
            self._send(host, data)
            self.sent += len(data)

    def to_client(self, data: bytes | None) -> None:
        if data:
            self._send(self._client, data)

    def _read(self, sock: socket.socket, most: int) -> bytes:
        while True:
            sock.settimeout(self._patience())
            try:
                data = sock.recv(most)
            except TimeoutError:
                self._patience()  # something may have moved in the other direction meanwhile
                continue
            self._moved = time.monotonic()
            return data

    def _send(self, sock: socket.socket, data: bytes) -> None:
        sock.settimeout(self._patience())
        sock.sendall(data)
        self._moved = time.monotonic()

    def _patience(self) -> float:
        """Return the seconds for which something may be awaited now. TimeoutError where there are none."""
        now = time.monotonic()
        seconds = min(self._deadline - now, self._moved + self._meter.limits.idle_seconds - now)
        if seconds <= 0:
            raise TimeoutError("it took too long" if now >= self._deadline else "nothing came for too long")
        return seconds
