"""Tell systemd, or another service manager of the same protocol, how the engine is: sd_notify(3) by hand.

One datagram to the socket in NOTIFY_SOCKET says one thing. Without that variable nothing is sent.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import MutableMapping

_MICROSECONDS = 1_000_000
_SOCKET, _WATCHDOG = "NOTIFY_SOCKET", ("WATCHDOG_USEC", "WATCHDOG_PID")
_LONGEST = 300  # characters of a status


class ServiceManager:
    """The manager that started this process, if one did. What cannot be sent is dropped: it must end no engine."""

    def __init__(self, address: str = "", watchdog: float = 0.0) -> None:
        """Send to `address`, a path or `@NAME` of the abstract namespace; `watchdog` is its patience in seconds."""
        self._address = address
        self._every = watchdog / 3  # the manual says half; a loaded machine may be late
        self._fed = float("-inf")
        self._status = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) if address else None

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> ServiceManager:
        """Return the manager that the environment names, and take it out: no child may speak for the engine."""
        address, patience, meant = (environ.pop(name, "") for name in (_SOCKET, *_WATCHDOG))
        ours = patience.isdecimal() and meant in ("", str(os.getpid()))
        known = address.startswith(("/", "@"))
        return cls(address if known else "", int(patience) / _MICROSECONDS if ours else 0.0)

    @property
    def patience(self) -> float:
        """Seconds between two signs of life; 0 where nobody waits for them."""
        return self._every if self._socket is not None else 0.0

    def ready(self) -> None:
        """Say that the engine made its first beat."""
        self._send("READY=1")

    def wait_longer(self, seconds: float) -> None:
        """Ask for so much time, from now on, until the engine is ready."""
        self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * _MICROSECONDS)}")

    def status(self, text: str) -> None:
        """Say in one line what the engine does, if that is news."""
        if text != self._status:
            self._status = text
            self._send(f"STATUS={' '.join(text.split())[:_LONGEST]}")

    def alive(self, running: float) -> None:
        """Feed the watchdog where it is time, by the clock that counts since boot."""
        if self.patience and running - self._fed >= self.patience:
            self._fed = running
            self._send("WATCHDOG=1")

    def stopping(self, reason: str) -> None:
        """Say that the engine ends; the watchdog waits for nothing from now on."""
        self.status(f"stopping: {reason}")
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if self._socket is None:
            return
        name = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError):
            self._socket.sendto(message.encode(errors="replace"), name)

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
