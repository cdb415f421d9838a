"""`lumen-tui` and its workers as processes of their own, without the time in which Python starts and imports.

One process per kind and test run has everything loaded and forks a child for each order: own pid, own files, own
environment, own exit code. What a cold start loads and costs is looked at in test_cli_hot, test_cli_warm,
test_worker_process and house/test_imports, which start Python itself.
"""

from __future__ import annotations

import atexit
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
import time
import traceback
from pathlib import Path
from typing import IO, Any

import lumen_certs
import lumen_disk

REPO = Path(__file__).resolve().parents[2]
_MOST = 1 << 20
_STATUS, _LOCK = 3, 4  # places among the descriptors of an order, after stdin, stdout and stderr


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
    """The process that forks, started at its first use: `kind` is "lumen_tui" or "lumen_tui.worker"."""

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


_LUMEN, _WORKERS = Programs("lumen_tui"), Programs("lumen_tui.worker")


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


def start_worker(folder: Path, env: dict[str, str], lock: int = -1) -> Child:
    """A worker on this task folder, a session of its own, that writes what it says to worker.log."""
    with open(folder / "worker.log", "ab") as log, open(os.devnull, "rb") as nothing:
        return _WORKERS.start([str(folder)], env=env, cwd=folder, files=(nothing, log, log), lock=lock)


def _path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def serve(channel: socket.socket, kind: str) -> None:
    """Fork for each order until the other end is closed."""
    _load(kind)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(channel, _MOST, 5)
        if not data:
            return
        if os.fork() == 0:
            channel.close()
            _attend(json.loads(data), fds, kind)
        for fd in fds:
            os.close(fd)


def _load(kind: str) -> None:
    if kind == "lumen_tui":
        wanted = [path.relative_to(REPO) for path in (REPO / "lumen_tui").glob("[ces]*/**/*.py")]
        names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in wanted]
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


def _attend(order: dict[str, Any], fds: list[int], kind: str) -> None:
    """The process between: it says the program's pid and, once that has ended, its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(fds[_STATUS])
        _become(order, fds, kind)
    for at, fd in enumerate(fds):
        if at != _STATUS:
            os.close(fd)
    with socket.socket(fileno=fds[_STATUS]) as status:
        status.sendall(f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        try:
            status.sendall(f"{code}\n".encode())
        except BrokenPipeError:
            pass  # the test gave up waiting
    os._exit(0)


def _become(order: dict[str, Any], fds: list[int], kind: str) -> None:
    for number in range(3):
        os.dup2(fds[number], number)
        os.close(fds[number])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    if kind != "lumen_tui":
        os.setsid()
    if len(fds) > _LOCK:
        os.environ["LUMEN_LOCK_FD"] = str(fds[_LOCK])
    sys.argv = [kind, *order["words"]]
    code: Any = 0
    try:
        runpy.run_module(f"{kind}.__main__", run_name="__main__", alter_sys=False)
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
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
