"""A real sshd on the loopback, with a host key, a configuration and a port of its own, for whoever runs the tests."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AcceptEnv *
"""
TRIES = 20


def lacking() -> str:
    """Why there is none here, or the empty string."""
    if SSHD is None or shutil.which("ssh") is None:
        return "openssh-server or the ssh client is not installed"
    return "" if os.getuid() == 0 else "sshd gives a terminal to another session only as root"


class Loopback:
    """One server; `words` of a command reach it through a client."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)], check=True)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it shuts its unprivileged half in
        for _ in range(TRIES):
            if self._start():
                return
        raise OSError("sshd does not start: " + (place / "log").read_text())

    def _start(self) -> bool:
        """On a port that was free a moment ago."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        (self.place / "config").write_text(CONFIG.format(port=self.port, place=self.place))
        self.server = subprocess.Popen(
            [str(SSHD), "-D", "-f", str(self.place / "config"), "-E", str(self.place / "log")],
            stdin=subprocess.DEVNULL,
        )
        ends = time.monotonic() + 60
        while self.server.poll() is None and time.monotonic() < ends:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as there:
                return there.recv(4) == b"SSH-"
            time.sleep(0.02)
        return False

    def words(self, command: str, mark: str) -> list[str]:
        """`ssh -tt host COMMAND`, where everything that the command starts carries a mark in its environment."""
        options = {
            "IdentityFile": self.place / "user", "IdentitiesOnly": "yes", "UserKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "no", "LogLevel": "ERROR", "SendEnv": mark, "Port": self.port,
        }  # fmt: skip
        return [
            "ssh", "-F", "none", "-tt", *(f"-o{name}={value}" for name, value in options.items()),
            f"{getpass.getuser()}@127.0.0.1", command,
        ]  # fmt: skip

    def sessions(self) -> list[int]:
        """The server's processes behind open connections."""
        found = subprocess.run(["pgrep", "-P", str(self.server.pid)], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def drop(self) -> None:
        """Kill every session, as where the machine loses power; the terminals go with them."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        self.drop()
        self.server.terminate()
        self.server.wait()


@contextlib.contextmanager
def loopback() -> Iterator[Loopback]:
    """A server for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="lumen-sshd-") as place:
        server = Loopback(Path(place))
        try:
            yield server
        finally:
            server.close()
