"""Machines in network namespaces of their own, and the wire between them: it is cut, slow, or loses order.

A namespace sees its own loopback and one interface, behind which this process carries packets by hand. None of the
addresses is one of this machine. It takes root, and the device /dev/net/tun.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import ipaddress
import os
import random
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

_SET_INTERFACE = 0x400454CA  # TUNSETIFF
_TUN, _BARE = 0x0001, 0x1000  # packets of IP, and nothing in front of them
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_NAME = "wire"
_NETWORK = ipaddress.IPv4Network("10.77.0.0/24")
_MOST = 65536

Result = TypeVar("Result")


class Namespace:
    """A machine as far as the network is concerned. `close` ends it."""

    def __init__(self) -> None:
        words = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"]
        self._holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._holder.stdout is not None and self._holder.stderr is not None
        assert self._holder.stdout.readline() == b"up\n", self._holder.stderr.read().decode()

    @property
    def prefix(self) -> list[str]:
        """The words before a command that is to run in it."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net"]

    def inside(self, act: Callable[[], Result]) -> Result:
        """Return what `act` returns; sockets that it makes are of this namespace."""
        done: list[Result] = []

        def enter() -> None:
            with open(f"/proc/{self._holder.pid}/ns/net") as place:
                if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NEW_NETWORK):
                    raise OSError(ctypes.get_errno(), "setns")
            done.append(act())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return done[0]

    def close(self) -> None:
        """End it, and with it its interfaces."""
        for pipe in (self._holder.stdin, self._holder.stdout, self._holder.stderr):
            if pipe is not None:
                pipe.close()
        self._holder.wait()


class Fault(NamedTuple):
    """What becomes of packets to and from a machine: seconds they take, and of 1 how many are lost or come twice."""

    delay: float = 0.0
    jitter: float = 0.0  # up to so many seconds more: later packets overtake
    lost: float = 0.0
    twice: float = 0.0


GOOD, CUT = Fault(), Fault(lost=1.0)


@dataclass
class Carried:
    """What became of packets."""

    packets: int = 0
    lost: int = 0
    twice: int = 0
    overtaken: int = 0  # arrived behind one that was sent later


class Wire(threading.Thread):
    """Carries packets between namespaces until `close`."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(daemon=True)
        self.carried = Carried()
        self.faults: dict[bytes, Fault] = {}
        self._chance = random.Random(seed)  # noqa: S311 - a sample
        self._ends: dict[bytes, int] = {}  # address -> descriptor
        self._waiting: list[tuple[float, int, bytes, bytes]] = []  # when, number, to, packet
        self._number = 0
        self._last: dict[tuple[bytes, bytes], int] = {}  # the newest that arrived, by from and to
        self._wakes, self._waker = os.pipe()

    def connect(self, namespace: Namespace) -> str:
        """Give a namespace its interface, and return its address. Before the first packet."""
        address = _NETWORK[len(self._ends) + 1]
        self._ends[address.packed] = namespace.inside(_open_interface)
        for words in (["addr", "add", f"{address}/{_NETWORK.prefixlen}", "dev", _NAME], ["link", "set", _NAME, "up"]):
            subprocess.run([*namespace.prefix, "ip", *words], check=True)
        return str(address)

    @contextmanager
    def suffering(self, address: str, fault: Fault) -> Iterator[None]:
        """Let what goes to and from an address have a fault for a while."""
        self.faults[_packed(address)] = fault
        try:
            yield
        finally:
            self.faults.pop(_packed(address), None)

    def run(self) -> None:
        by_descriptor = {fd: address for address, fd in self._ends.items()}
        while True:
            pause = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            for fd in select.select([*by_descriptor, self._wakes], [], [], pause)[0]:
                if fd == self._wakes:
                    return
                self._take(by_descriptor[fd], os.read(fd, _MOST))
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, number, to, packet = heapq.heappop(self._waiting)
                self._arrive(number, to, packet)

    def _take(self, sender: bytes, packet: bytes) -> None:
        to = packet[16:20]
        if packet[0] >> 4 != 4 or to not in self._ends:  # not for anybody here
            return
        fault = self.faults.get(sender) or self.faults.get(to) or GOOD
        self.carried.packets += 1
        if self._chance.random() < fault.lost:
            self.carried.lost += 1
            return
        copies = 1 + (self._chance.random() < fault.twice)
        self.carried.twice += copies - 1
        for _ in range(copies):
            due = time.monotonic() + fault.delay + self._chance.random() * fault.jitter
            self._number += 1
            heapq.heappush(self._waiting, (due, self._number, to, packet))

    def _arrive(self, number: int, to: bytes, packet: bytes) -> None:
        way = packet[12:16], to
        self.carried.overtaken += number < self._last.get(way, 0)
        self._last[way] = max(number, self._last.get(way, 0))
        os.write(self._ends[to], packet)

    def close(self) -> None:
        """End it; the namespaces stay."""
        os.write(self._waker, b"x")
        self.join()
        for fd in (*self._ends.values(), self._wakes, self._waker):
            os.close(fd)


def _packed(address: str) -> bytes:
    return ipaddress.IPv4Address(address).packed


def _open_interface() -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(fd, _SET_INTERFACE, struct.pack("16sH22x", _NAME.encode(), _TUN | _BARE))
    return fd


def listening(namespace: Namespace, port: int) -> socket.socket:
    """Return a socket that listens on the loopback of a namespace."""
    return namespace.inside(lambda: socket.create_server(("127.0.0.1", port), backlog=128))


def can_wire() -> bool:
    """Return whether such machines can be made here."""
    return os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK) and _can_unshare()


def _can_unshare() -> bool:
    words = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
