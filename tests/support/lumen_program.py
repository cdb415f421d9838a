"""`lumen-tui`, its workers and rooms as processes of their own, without the start and imports of Python.

One server process per kind and test run, shared by all processes that test, has everything imported and forks a child
for each request: own pid, own files, own environment, own exit code. What a cold start imports and costs is tested in
test_cli_hot, test_cli_warm, test_worker_process and house/test_imports, which start Python itself.
"""

from __future__ import annotations

import atexit
import errno
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
_RUN = "LUMEN_TEST_RUN"
_MOST = 1 << 20
_STATUS = 3  # place of the status channel among the descriptors of a request, after stdin, stdout and stderr
_LOCK = 3  # place of the lock once the status channel was taken out


class Child:
    """A started process, with the part of subprocess.Popen that tests use."""

    def __init__(self, status: socket.socket, words: list[str]) -> None:
        self._status = status
        self._words = words
        self._output = b""  # of the status channel: the pid, then the exit code
        self.returncode: int | None = None
        while b"\n" not in self._output:
            part = status.recv(100)
            assert part, f"the process that starts programs ended before it had started {words}; its stderr says why"
            self._output += part
        number, _, self._output = self._output.partition(b"\n")
        self.pid = int(number)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while the process runs."""
        while self.returncode is None and select.select([self._status], [], [], 0)[0]:
            part = self._status.recv(100)
            self._output += part
            if self._output.endswith(b"\n") or not part:
                self.returncode = int(self._output)
                self._status.close()
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Wait for the exit code. Raise TimeoutExpired."""
        ends = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if not select.select([self._status], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise subprocess.TimeoutExpired(self._words, timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Programs:
    """A server process that forks programs, started at its first use: `kind` is one of _MAIN."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._channel: socket.socket | None = None

    def start(
        self, words: list[str], *, env: dict[str, str], cwd: Path, files: tuple[IO[bytes], ...], lock: int = -1
    ) -> Child:
        """Start `python -m KIND WORDS`. A descriptor `lock` is passed on as the engine does."""
        reading, writing = socket.socketpair()
        order = json.dumps({"words": words, "env": env, "cwd": str(cwd)}).encode()
        fds = [*(file.fileno() for file in files), writing.fileno(), *([lock] if lock >= 0 else [])]
        socket.send_fds(self._server(), [order], fds)
        writing.close()
        return Child(reading, words)

    def _server(self) -> socket.socket:
        while self._channel is None:
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
            address = f"\0lumen-tests-{os.environ[_RUN]}-{self._kind}"
            try:
                channel.connect(address)
                self._channel = channel
            except ConnectionRefusedError:
                channel.close()
                self._launch(address)
        return self._channel

    def _launch(self, address: str) -> None:
        """Start the server, unless another process has just done so."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return
                raise
            listener.listen(socket.SOMAXCONN)
            subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno()), self._kind],
                pass_fds=[listener.fileno()],
                cwd=REPO,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO), *_path()])},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )


_LUMEN, _WORKERS, _ROOMS = (Programs(kind) for kind in _MAIN)


def name_run() -> None:
    """Name the whole run, before processes are started that share its servers."""
    os.environ.setdefault(_RUN, f"{os.getpid()}-{time.time_ns()}")


def lumen_bytes(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run `lumen-tui` with these words in this environment and folder, as subprocess.run does."""
    with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        input_file.write(stdin)
        input_file.seek(0)
        child = _LUMEN.start(words, env=env, cwd=cwd, files=(input_file, out, err))
        try:
            code = child.wait(timeout)
        finally:
            child.kill()
        return subprocess.CompletedProcess(words, code, _all(out), _all(err))


def lumen(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run `lumen-tui` as `lumen_bytes` does, with text."""
    ran = lumen_bytes(words, env=env, cwd=cwd, stdin=stdin.encode(), timeout=timeout)
    return subprocess.CompletedProcess(words, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def start_lumen(
    words: list[str],
    *,
    env: dict[str, str],
    cwd: Path,
    stdin: IO[bytes] | None = None,
    output: IO[bytes] | None = None,
) -> Child:
    """Start `lumen-tui` in the background, such as an engine; what it prints goes to `output`, or nowhere."""
    with open(os.devnull, "r+b", buffering=0) as nothing:
        sink = output or nothing
        return _LUMEN.start(words, env=env, cwd=cwd, files=(stdin or nothing, sink, sink))


def start_worker(folder: Path, env: dict[str, str], lock: int = -1) -> Child:
    """Start a worker on this task folder, in a session of its own, with worker.log as its output."""
    with open(folder / "worker.log", "ab") as log, open(os.devnull, "rb") as nothing:
        return _WORKERS.start([str(folder)], env=env, cwd=folder, files=(nothing, log, log), lock=lock)


def start_room(root: Path, env: dict[str, str], terminal: int) -> Child:
    """Start a room on this state folder, as leader of a session whose terminal is this descriptor."""
    with open(terminal, "r+b", buffering=0, closefd=False) as file:
        return _ROOMS.start([str(root)], env=env, cwd=root, files=(file, file, file))


def _path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


class Server:
    """The process with everything imported: it forks for each request, and reports each child's pid and exit code."""

    def __init__(self, listener: socket.socket, kind: str) -> None:
        self._listener = listener
        self._channels: list[socket.socket] = []
        self._kind = kind
        self._status: dict[int, socket.socket] = {}
        self._ended, self._wakeup = os.pipe()

    def serve(self) -> None:
        """Serve requests until the last process that made some has ended."""
        _load(self._kind)
        os.set_blocking(self._wakeup, False)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._channels.append(self._listener.accept()[0])
        while self._channels:
            sources: list[Any] = [self._listener, self._ended, *self._channels]
            ready, _, _ = select.select(sources, [], [])
            if self._ended in ready:
                os.read(self._ended, _MOST)
                self._report_ended()
            if self._listener in ready:
                self._channels.append(self._listener.accept()[0])
            for channel in self._channels[:]:
                if channel in ready:
                    self._handle_order(channel)

    def _handle_order(self, channel: socket.socket) -> None:
        data, fds, _, _ = socket.recv_fds(channel, _MOST, 5)
        if data:
            self._fork(json.loads(data), fds)
        else:
            self._channels.remove(channel)
            channel.close()

    def _fork(self, order: dict[str, Any], fds: list[int]) -> None:
        status = socket.socket(fileno=fds.pop(_STATUS))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (status, self._listener, *self._channels, *self._status.values()):
                inherited.close()
            os.close(self._ended)
            os.close(self._wakeup)
            _become(order, fds, self._kind)
        for fd in fds:
            os.close(fd)
        self._status[pid] = status
        _send_number(status, pid)

    def _report_ended(self) -> None:
        while self._status:
            pid, code = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._status.pop(pid) as status:
                _send_number(status, os.waitstatus_to_exitcode(code))


def _send_number(status: socket.socket, number: int) -> None:
    try:
        status.sendall(f"{number}\n".encode())
    except BrokenPipeError:
        pass  # the test gave up waiting


def _load(kind: str) -> None:
    if kind == "lumen_tui":
        paths = [path.relative_to(REPO) for path in (REPO / "lumen_tui").glob("[aceqs]*/**/*.py")]
        names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    elif kind == ROOM:
        names = [ROOM]
    else:
        from lumen_tui.providers.choose import preload

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
    if len(fds) > _LOCK:
        os.environ["LUMEN_LOCK_FD"] = str(fds[_LOCK])
    sys.argv = [kind, *order["words"]]
    code: Any = 0
    try:
        runpy.run_module(_MAIN[kind], run_name="__main__", alter_sys=False)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).serve()
