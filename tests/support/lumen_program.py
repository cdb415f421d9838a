"""`lumen-tui` as a process of its own, without the quarter of a second in which Python starts and imports.

One process per test run has everything loaded and forks a child for each command line: own pid, own files, own
environment, own exit code. What a cold start loads and costs is looked at in test_cli_hot, test_cli_warm and
house/test_imports, which start Python itself.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, Any

REPO = Path(__file__).resolve().parents[2]
_MOST = 1 << 20


class Programs:
    """The process that forks, started at its first use."""

    def __init__(self) -> None:
        self._channel: socket.socket | None = None

    def run(
        self, words: list[str], *, env: dict[str, str], cwd: Path, data: bytes = b"", timeout: float = 60,
    ) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
        """What `subprocess.run([python, "-m", "lumen_tui", *words])` gives. TimeoutExpired after so many seconds."""
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin.write(data)
            stdin.seek(0)
            code = self._code(words, env, cwd, (stdin, out, err), timeout)
            return subprocess.CompletedProcess(words, code, _all(out), _all(err))

    def _code(
        self, words: list[str], env: dict[str, str], cwd: Path, files: tuple[IO[bytes], ...], timeout: float
    ) -> int:
        reading, writing = socket.socketpair()
        order = json.dumps({"words": words, "env": env, "cwd": str(cwd)}).encode()
        socket.send_fds(self._server(), [order], [*(file.fileno() for file in files), writing.fileno()])
        writing.close()
        reading.settimeout(timeout)
        with reading, reading.makefile("r") as said:
            pid = int(said.readline())
            try:
                return int(said.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(words, timeout) from None

    def _server(self) -> socket.socket:
        if self._channel is None:
            mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in (mine, its):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
            subprocess.Popen(
                [sys.executable, __file__, str(its.fileno())], pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(REPO)}, cwd=REPO, start_new_session=True,
            )  # fmt: skip
            its.close()
            self._channel = mine
        return self._channel


_PROGRAMS = Programs()


def lumen(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: str = "", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run `lumen-tui` with these words in this environment and folder, as subprocess.run does with text."""
    ran = _PROGRAMS.run(words, env=env, cwd=cwd, data=stdin.encode(), timeout=timeout)
    return subprocess.CompletedProcess(words, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def lumen_bytes(
    words: list[str], *, env: dict[str, str], cwd: Path, stdin: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """The same with bytes."""
    return _PROGRAMS.run(words, env=env, cwd=cwd, data=stdin, timeout=timeout)


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def serve(channel: socket.socket) -> None:
    """Fork for each order until the other end is closed."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(channel, _MOST, 4)
        if not data:
            return
        if os.fork() == 0:
            channel.close()
            _attend(json.loads(data), array.array("i", fds))
        for fd in fds:
            os.close(fd)


def _load() -> None:
    for path in sorted((REPO / "lumen_tui").glob("[ces]*/**/*.py")):
        name = ".".join(path.relative_to(REPO).with_suffix("").parts).removesuffix(".__init__")
        __import__(name)
    gc.collect()
    gc.freeze()


def _attend(order: dict[str, Any], fds: array.array[int]) -> None:
    """The process between: it says the program's pid and, once that has ended, its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(fds[3])
        _become(order, fds)
    for fd in fds[:3]:
        os.close(fd)
    with socket.socket(fileno=fds[3]) as status:
        status.sendall(f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        try:
            status.sendall(f"{code}\n".encode())
        except BrokenPipeError:
            pass  # the test gave up waiting
    os._exit(0)


def _become(order: dict[str, Any], fds: array.array[int]) -> None:
    for number in range(3):
        os.dup2(fds[number], number)
        os.close(fds[number])
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["lumen-tui", *order["words"]]
    code: Any = 0
    try:
        runpy.run_module("lumen_tui", run_name="__main__", alter_sys=False)
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
    serve(socket.socket(fileno=int(sys.argv[1])))
