"""`lumen-tui`, its workers and rooms as processes of their own, without the time in which Python starts and imports.

One process per kind and test run has everything loaded and forks a child for each order: own pid, own files, own
environment, own exit code. What a cold start loads and costs is looked at in test_cli_hot, test_cli_warm,
test_worker_process and house/test_imports, which start Python itself.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from pathlib import Path
from typing import IO, Any

import lumen_certs
import lumen_disk

REPO = Path(__file__).resolve().parents[2]
ROOM = "lumen_room"
_MAIN = {"lumen_tui": "lumen_tui.__main__", "lumen_tui.worker": "lumen_tui.worker.__main__", ROOM: ROOM}
_MOST = 1 << 20
_STATUS, _LOCK = (
    3,
    3,
)  # places among the descriptors of an order, after stdin, stdout and stderr; the first is taken out


class Child:
    """One process: the part of subprocess.Popen that tests use."""

    def __init__(self, status: socket.socket, words: list[str]) -> None:
        self._status, self._words, self._said = status, words, b""
        self.returncode: int | None = None
        while b"\n" not in self._said:
            part = status.recv(100)
            assert part, f"the process that starts programs ended before it had started {words}; its stderr says why"
            self._said += part
        number, _, self._said = self._said.partition(b"\n")
        self.pid = int(number)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        while self.returncode is None and select.select([self._status], [], [], 0)[0]:
            part = self._status.recv(100)
            self._said += part
            if self._said.endswith(b"\n") or not part:
                self.returncode = int(self._said)
                self._status.close()
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """The exit code, once there is one. TimeoutExpired."""
        ends = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if not select.select([self._status], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired(self._words, timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Programs:
    """The process that forks, started at its first use: `kind` is one of _MAIN."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._channel: socket.socket | None = None

    def start(
        self, words: list[str], *, env: dict[str, str], cwd: Path, files: tuple[IO[bytes], ...], lock: int = -1
    ) -> Child:
        """Start `python -m KIND WORDS`. A descriptor `lock` is handed over as the engine does."""
        reading, writing = socket.socketpair()
        order = json.dumps({"words": words, "env": env, "cwd": str(cwd)}).encode()
        fds = [*(file.fileno() for file in files), writing.fileno(), *([lock] if lock >= 0 else [])]
        socket.send_fds(self._server(), [order], fds)
        writing.close()
        return Child(reading, words)

    def _server(self) -> socket.socket:
        if self._channel is None:
            mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in (mine, its):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
            subprocess.Popen(
                [sys.executable, __file__, str(its.fileno()), self._kind], pass_fds=[its.fileno()], cwd=REPO,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), *_path()])}, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            its.close()
            self._channel = mine
        return self._channel


_LUMEN, _WORKERS, _ROOMS = (Programs(kind) for kind in _MAIN)


def lumen_bytes(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run `lumen-tui` with these words in this environment and folder, as subprocess.run does."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        child = _LUMEN.start(words, env=env, cwd=cwd, files=(given, out, err))
        try:
            code = child.wait(timeout)
        finally:
            child.kill()
        return subprocess.CompletedProcess(words, code, _all(out), _all(err))


def lumen(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """The same with text."""
    ran = lumen_bytes(words, env=env, cwd=cwd, stdin=stdin.encode(), timeout=timeout)
    return subprocess.CompletedProcess(words, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def start_lumen(words: list[str], *, env: dict[str, str], cwd: Path) -> Child:
    """`lumen-tui` in the background, such as an engine; nobody hears what it says."""
    with open(os.devnull, "r+b", buffering=0) as nothing:
        return _LUMEN.start(words, env=env, cwd=cwd, files=(nothing, nothing, nothing))


def start_worker(folder: Path, env: dict[str, str], lock: int = -1) -> Child:
    """A worker on this task folder, a session of its own, that writes what it says to worker.log."""
    with open(folder / "worker.log", "ab") as log, open(os.devnull, "rb") as nothing:
        return _WORKERS.start([str(folder)], env=env, cwd=folder, files=(nothing, log, log), lock=lock)


def start_room(root: Path, env: dict[str, str], terminal: int) -> Child:
    """A room on this state folder, the leader of a session whose terminal this descriptor is."""
    with open(terminal, "r+b", buffering=0, closefd=False) as file:
        return _ROOMS.start([str(root)], env=env, cwd=root, files=(file, file, file))


def _path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


class Serving:
    """The process with everything loaded: it forks for each order, and says each child's pid and its exit code."""

    def __init__(self, channel: socket.socket, kind: str) -> None:
        self._channel, self._kind = channel, kind
        self._status: dict[int, socket.socket] = {}
        self._ended, self._wakeup = os.pipe()

    def serve(self) -> None:
        """Until the other end is closed."""
        _load(self._kind)
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([self._channel, self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, _MOST)
                self._tell_ends()
            if self._channel in ready:
                data, fds, _, _ = socket.recv_fds(self._channel, _MOST, 5)
                if not data:
                    return
                self._fork(json.loads(data), fds)

    def _fork(self, order: dict[str, Any], fds: list[int]) -> None:
        status = socket.socket(fileno=fds.pop(_STATUS))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for mine in (status, self._channel, *self._status.values()):
                mine.close()
            os.close(self._ended)
            os.close(self._wakeup)
            _become(order, fds, self._kind)
        for fd in fds:
            os.close(fd)
        self._status[pid] = status
        _say(status, pid)

    def _tell_ends(self) -> None:
        while self._status:
            pid, code = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._status.pop(pid) as status:
                _say(status, os.waitstatus_to_exitcode(code))


def _say(status: socket.socket, number: int) -> None:
    try:
        status.sendall(f"{number}\n".encode())
    except BrokenPipeError:
        pass  # the test gave up waiting


def _load(kind: str) -> None:
    if kind == "lumen_tui":
        wanted = [path.relative_to(REPO) for path in (REPO / "lumen_tui").glob("[ces]*/**/*.py")]
        names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in wanted]
    elif kind == ROOM:
        names = [ROOM]
    else:
        from lumen_tui.providers.preload import preload

        preload("anthropic")
        names = ["lumen_tui.worker.task", "lumen_tui.worker.world"]
    for name in sorted(names):
        importlib.import_module(name)
    lumen_disk.never_wait()
    lumen_certs.none_needed()
    gc.collect()
    gc.freeze()


def _become(order: dict[str, Any], fds: list[int], kind: str) -> None:
    for number in range(3):
        os.dup2(fds[number], number)
        os.close(fds[number])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    if kind != "lumen_tui":
        os.setsid()
    if kind == ROOM:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if len(fds) > _STATUS:
        os.environ["LUMEN_LOCK_FD"] = str(fds[_STATUS])
    sys.argv = [kind, *order["words"]]
    code: Any = 0
    try:
        runpy.run_module(_MAIN[kind], run_name="__main__", alter_sys=False)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as the interpreter does it
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    Serving(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).serve()
