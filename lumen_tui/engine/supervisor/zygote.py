"""The engine's side of the zygote: one process with everything imported, from which workers are forked in a moment.

It only ever makes a start quicker. Where it is missing, not ready, of older code, stopped or killed, the worker is
started cold. Never two on one task: before a cold start follows a warm one that failed, the zygote is dead and the
task's lock has been taken again.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import msgspec

import lumen_tui
from lumen_tui.model import spawning
from lumen_tui.storage import files

_PATIENCE = 2.0  # seconds for an answer; one that takes longer is stopped or starved, and is ended
PACKAGES = (  # of a worker, and of a proxy
    *("", "model", "storage", "store", "queries", "tools", "providers", "actions", "worker", "engine", "hosts"),
)
_CODE = Path(lumen_tui.__file__).parent


def code_stamp() -> int:
    """Return a number that changes when a module that a worker loads is changed, added or removed."""
    stamps = [stamp for package in PACKAGES for stamp in _stamps(os.path.join(_CODE, package))]
    return hash(tuple(sorted(stamps)))


def _stamps(folder: str) -> list[tuple[str, int]]:
    stamps: list[tuple[str, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                stamps.append((entry.path, entry.stat().st_mtime_ns))
            elif folder != str(_CODE) and entry.name[0] not in "_." and entry.is_dir():
                stamps += _stamps(entry.path)
    return stamps


class ZygoteGone(Exception):
    """It did not answer. It is dead now, yet it may have forked the worker before it died."""


class ZygoteClient:
    """At most one zygote. `launch` does not wait for it; `usable` says when it is ready."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._ready: spawning.Ready | None = None
        self._made_for: tuple[str, int] = ("", 0)
        self._orders = 0
        self._ended: list[spawning.Ended] = []

    @property
    def pid(self) -> int:
        """Its process; 0 where there is none."""
        return self._child.pid if self._child else 0

    @property
    def pss(self) -> int:
        """What it weighed when it was ready, in KiB; 0 before."""
        return self._ready.pss if self._ready else 0

    def fileno(self) -> int:
        """Return the descriptor to watch; -1 if there is no zygote."""
        return self._channel.fileno() if self._channel else -1

    def launch(self, kind: str, env: dict[str, str], idle: float) -> None:
        """Start one for this kind of provider, unless there is one. `env` must hold no key: it imports, no more."""
        if self._child is not None:
            return
        self._made_for = (kind, code_stamp())
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log = files.open_append(self._log)
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "lumen_tui.worker.zygote", str(theirs.fileno()), kind, str(idle)],
                cwd="/",
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            self._channel = ours
        except OSError:
            ours.close()  # no process to be had: workers start cold
        finally:
            theirs.close()
            os.close(log)

    def usable(self, kind: str) -> bool:
        """Return whether such a worker can be forked now. A zygote of older code or of another kind is dropped."""
        self.receive()
        if self._channel is not None and self._made_for != (kind, code_stamp()):
            self.retire()
        return self._channel is not None and self._ready is not None

    def start(self, folder: Path, lock: int, log: int, env: dict[str, str], program: str) -> spawning.Born:
        """Fork a worker. ZygoteGone where no answer came: the zygote is dead then."""
        self._orders += 1
        packet = msgspec.json.encode(spawning.Order(self._orders, str(folder), program))
        secrets = _pipe_with(msgspec.json.encode(env))
        try:
            assert self._channel is not None  # noqa: S101 - usable() said so
            self._channel.settimeout(_PATIENCE)
            socket.send_fds(self._channel, [packet], [lock, log, secrets])
            return self._answer()
        except (OSError, msgspec.MsgspecError) as error:
            self.kill()
            raise ZygoteGone(str(error)) from error
        finally:
            os.close(secrets)

    def _answer(self) -> spawning.Born:
        assert self._channel is not None  # noqa: S101 - start() came first
        while True:
            data = self._channel.recv(spawning.MOST)
            if not data:
                raise ConnectionResetError("it has ended")
            reply = spawning.answer(data)
            if isinstance(reply, spawning.Born) and reply.number == self._orders:
                return reply
            self._take(reply)

    def _take(self, reply: spawning.Answer) -> None:
        if isinstance(reply, spawning.Ended):
            self._ended.append(reply)
        elif isinstance(reply, spawning.Ready):
            self._ready = reply

    def receive(self) -> None:
        """Read its pending messages, without waiting."""
        while self._channel is not None and select.select([self._channel], [], [], 0)[0]:
            try:
                data = self._channel.recv(spawning.MOST)
                if not data:
                    raise ConnectionResetError
                self._take(spawning.answer(data))
            except (OSError, msgspec.MsgspecError):
                self.kill()

    def take_ended(self) -> list[spawning.Ended]:
        """Return the workers that ended since the last call."""
        self.receive()
        _forgotten[:] = [child for child in _forgotten if child.poll() is None]
        ended = self._ended
        self._ended = []
        return ended

    def retire(self) -> None:
        """Close the connection: the zygote ends by itself, its workers go on."""
        self._let_go()

    def _let_go(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._child is not None:
            _forgotten.append(self._child)
        self._child = self._channel = self._ready = None

    def kill(self) -> None:
        """End it and wait for that: afterwards it forks nothing any more."""
        child = self._child
        self._let_go()
        if child is not None:
            child.kill()
            child.wait()


_forgotten: list[subprocess.Popen[bytes]] = []  # retired ones that have not ended yet: somebody must wait for them


def _pipe_with(data: bytes) -> int:
    """Return the reading end of a pipe that holds `data`. Raises OSError if a pipe does not take that much."""
    if len(data) > spawning.MOST_ENVIRONMENT:
        raise OSError(f"an environment of {len(data):,} bytes is too large to hand over")
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        os.write(writing, data)
    finally:
        os.close(writing)
    return reading
