"""The zygote: `python -m lumen_tui.worker.zygote FD KIND IDLE_SECONDS` has all imported and forks workers.

It does no work and holds no key. It ends when the engine's side of the socket closes, and after it was idle for
long enough. Its workers go on without it: each has a session, a lock and an environment of its own.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import msgspec

from lumen_tui import crashes
from lumen_tui.model import patterns, spawning
from lumen_tui.providers.choose import preload
from lumen_tui.storage import process
from lumen_tui.worker.run_lock import LOCK_VARIABLE

_PR_SET_DUMPABLE, _PR_SET_NAME = 4, 15  # prctl(2)
_HELD_BACK = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_MOST_FDS = 1024  # far more than a zygote ever has open
_FDS = 3  # that come with an order
_LATE = ("lumen_tui.store.settings.loading", "tomllib")  # what every worker imports in a function

Program = Callable[[list[str]], int]


class ZygoteServer:
    """Serves one engine over one socket."""

    def __init__(self, channel: socket.socket, idle: float) -> None:
        self._channel = channel
        self._idle = idle
        self._children: set[int] = set()
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self) -> None:
        """Serve until the engine goes, or until it was idle for long and no child is left."""
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        for fd in (self._channel.fileno(), self._woken):
            poll.register(fd, select.POLLIN)
        while True:
            ready = dict(poll.poll(self._idle * 1000))
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._channel.fileno() in ready and not self._handle_order():
                return
            if not ready and not self._children:
                return

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._children.discard(pid)
            send(self._channel, spawning.Ended(pid, os.waitstatus_to_exitcode(status)))

    def _handle_order(self) -> bool:
        """Carry out one order; return False if the engine has gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._channel, spawning.MOST, _FDS, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return False
        if not data:
            return False
        try:
            order = spawning.order(data)
            self._fork(order, _main_of(order.program), fds)
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _fork(self, order: spawning.Order, program: Program, fds: list[int]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)  # the child lets them in once it can act on them
        try:
            pid = os.fork()
        except OSError as error:
            pid = -1
            send(self._channel, spawning.Born(order.number, why=f"no process could be made: {error.strerror}"))
        if pid == 0:
            become_worker(order.folder, program, fds)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)
        if pid > 0:
            self._children.add(pid)
            send(self._channel, spawning.Born(order.number, pid, process.start_ticks(pid)))


def _main_of(program: str) -> Program:
    """Return what a child runs; loaded here, so that the next child has it. The proxy is of a layer above this one."""
    if program not in (spawning.WORKER, spawning.PROXY):
        raise ValueError(f"{program} is no program of a zygote")
    main: Program = importlib.import_module(program).main
    return main


def load_program(kind: str) -> None:
    """Load what every worker needs, also what it would import in a function: a child has that from here."""
    preload(kind)
    _main_of(spawning.WORKER)
    for name in _LATE:
        importlib.import_module(name)
    patterns.make_all()


def send(channel: socket.socket, record: msgspec.Struct) -> None:
    """Send one record; that the engine has gone is seen at the next read."""
    try:
        channel.send(msgspec.json.encode(record))
    except OSError:
        return


def become_worker(folder: str, program: Program, fds: list[int]) -> NoReturn:
    """Turn this process into a worker like one that was started cold; never returns."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        lock = _take_over(*fds)
        os.chdir(folder)
        os.environ[LOCK_VARIABLE] = str(lock)
        _set_name("lumen-worker")
        gc.unfreeze()
        code = program([folder])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # noqa: BLE001 - the edge of the process: nothing may get back into the zygote's loop
        crashes.tell(error)
    finally:
        os._exit(code)


def _take_over(lock: int, log: int, secrets: int) -> int:
    """Set up the worker's own environment and descriptors, without the zygote's; return the lock's descriptor."""
    with open(secrets, "rb", closefd=False) as pipe:
        environment: dict[str, str] = msgspec.json.decode(pipe.read(), type=dict[str, str])
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, lock)
    os.closerange(lock + 1, _MOST_FDS)
    return lock


def _set_name(name: str) -> None:
    """Set the process name that ps shows."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    except (OSError, AttributeError):
        return


def _closed_to_others() -> None:
    """Close this process to others of the same user, so that they cannot take its socket; workers inherit that."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        return


def _weight() -> int:
    """Return the proportional share of memory in KiB; 0 if the system does not say."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration, ValueError):
        return 0


def main(arguments: list[str]) -> int:
    """Import everything, say so, serve."""
    os.umask(0o077)
    number, kind, idle = arguments
    channel = socket.socket(fileno=int(number))
    channel.set_inheritable(False)
    _set_name("lumen-zygote")
    load_program(kind)
    if threading.active_count() > 1:
        return 1  # a fork would take one thread along and leave the locks of the others held
    gc.collect()
    gc.freeze()
    weight = _weight()
    _closed_to_others()
    send(channel, spawning.Ready(pss=weight))
    ZygoteServer(channel, float(idle)).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
