"""The probe that the self-test runs inside a sandbox: it tries what must not work and prints what did.

`python -I -S probe.py ORDER` with a JSON object that names the targets.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import TypedDict


class ProbeTargets(TypedDict):
    """What the probe attacks."""

    folder: str
    inside: str  # a folder in which it may write
    outside: str  # a file
    secret: str  # a hidden file
    abstract: str  # name of an abstract socket
    tcp: int
    pid: int
    start: str  # clock ticks after boot at which that process started


def _write(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("x")


def _read(path: str) -> None:
    with open(path, "rb") as file:
        if not file.read(1):
            raise PermissionError(path)  # covered by something empty


def _copy(path: str) -> None:
    """Write the content that is there already."""
    with open(path, "r+", encoding="ascii") as file:
        file.write(file.read())


def _connect(family: int, kind: int, address: str | tuple[str, int]) -> None:
    with contextlib.closing(socket.socket(family, kind)) as connection:
        connection.settimeout(2)
        connection.connect(address)
        if kind == socket.SOCK_DGRAM:
            connection.send(b"x")


def _connect_anew(address: str) -> None:
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with contextlib.closing(ours), contextlib.closing(other):
        ours.sendto(b"x", address)


def _make_setuid(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    os.chmod(path, 0o4700)
    if not os.stat(path).st_mode & 0o4000:
        raise PermissionError(path)


def _link(target: str, inside: str) -> None:
    os.link(target, os.path.join(inside, "link"))
    _write(os.path.join(inside, "link"))


def _signal(pid: int, start: str) -> None:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        if stat.read().rpartition(")")[2].split()[19] != start:
            raise ProcessLookupError  # another process of another namespace
    os.kill(pid, 0)


def _new_space() -> None:
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        raise PermissionError


def main(order: ProbeTargets) -> None:
    os.umask(0o077)
    os.chdir(order["folder"])  # the address of a socket is short
    kernel = "/proc/sys/kernel/core_uses_pid"
    tries: dict[str, Callable[[], None]] = {
        "write outside": lambda: _write(order["outside"]),
        "read a secret": lambda: _read(order["secret"]),
        "write through a hard link": lambda: _link(order["outside"], order["inside"]),
        "change the mode of a file outside": lambda: os.chmod(order["outside"], 0o640),
        "signal the engine": lambda: _signal(order["pid"], order["start"]),
        "read another process's environment": lambda: _read(f"/proc/{order['pid']}/environ"),
        "turn a switch of the kernel": lambda: _copy(kernel),
        "make a user namespace": _new_space,
        "connect to a TCP port": lambda: _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", order["tcp"])),
        "send a UDP packet": lambda: _connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9)),
        "connect to an abstract UNIX socket": lambda: _connect(
            socket.AF_UNIX, socket.SOCK_STREAM, "\0" + order["abstract"]
        ),
        "connect to the UNIX socket of a service": lambda: _connect(socket.AF_UNIX, socket.SOCK_STREAM, "service"),
        "send to a service by a pair of sockets": lambda: _connect_anew("log"),
        "make a setuid program": lambda: _make_setuid(os.path.join(order["inside"], "setuid")),
    }
    through = []
    for name, attempt in tries.items():
        with contextlib.suppress(OSError):
            attempt()
            through.append(name)
    new_file = os.path.join(order["inside"], "made")
    needed: dict[str, Callable[[], None]] = {
        "a file cannot be written": lambda: _write(new_file),
        "the mode of a file cannot be set": lambda: os.chmod(new_file, 0o640),
        "the time of a file cannot be set": lambda: os.utime(new_file),
    }
    broken = ""
    for name, step in needed.items():
        try:
            step()
        except OSError as error:
            broken = broken or f"{name} ({error.strerror})"
    sys.stdout.write(json.dumps({"tried": list(tries), "through": through, "broken": broken}) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
