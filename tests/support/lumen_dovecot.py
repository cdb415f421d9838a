"""A real IMAP server (Dovecot) on loopback, with one user whose mailbox a test fills and looks at."""

from __future__ import annotations

import contextlib
import imaplib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lumen_until import until

USER, PASSWORD = "lumen", "correct-horse"
_PROGRAMS = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
_SETTINGS = """\
base_dir = {root}/run
state_dir = {root}/state
log_path = {root}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{certificate}
disable_plaintext_auth = no
auth_mechanisms = plain login
mail_location = maildir:{root}/home/Maildir
login_trusted_networks =
{more}
passdb {{
  driver = static
  args = password={{plain}}{password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={root}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service stats {{
  chroot =
}}
service anvil {{
  chroot =
}}
"""


class Dovecot:
    """A server that runs; `stop` and `start` take it away and bring it back on the same ports."""

    def __init__(self, root: Path, certificate: str, more: str) -> None:
        self.root = root
        self.port, self.tls_port = _free_ports()
        nobody = pwd.getpwnam("nobody")
        (root / "home").mkdir()
        os.chown(root / "home", nobody.pw_uid, nobody.pw_gid)
        copied = root / "server.pem"
        shutil.copy(certificate, copied)
        self._settings = root / "dovecot.conf"
        self._settings.write_text(
            _SETTINGS.format(
                root=root, certificate=copied, password=PASSWORD, uid=nobody.pw_uid, gid=nobody.pw_gid,
                port=self.port, tls_port=self.tls_port, more=more,
            )
        )  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = shutil.which("dovecot", path=_PROGRAMS)
        assert program
        self._process = subprocess.Popen([program, "-F", "-c", self._settings], start_new_session=True)
        self._started = int(time.time())
        until(self._answers, lambda: (self.root / "log").read_text() if (self.root / "log").exists() else "no log")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as connection:
            return connection.recv(100).startswith(b"* OK")
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(20)
            self._process = None

    @contextlib.contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self.port, 20) as client:
            client.login(USER, PASSWORD)
            yield client

    def put(self, *messages: bytes) -> None:
        """Let messages arrive."""
        with self.client() as client:
            for message in messages:
                assert client.append("INBOX", None, None, message)[0] == "OK"

    def flags(self) -> list[str]:
        """The flags of every message."""
        with self.client() as client:
            client.select("INBOX", readonly=True)
            answer = client.fetch("1:*", "(FLAGS)")[1]
            return [" ".join(map(str.capitalize, _flags(line))) for line in answer if isinstance(line, bytes)]

    def number_anew(self) -> None:
        """Give every message another UID, and the mailbox another UIDVALIDITY, as a restored one has."""
        self.stop()
        folder = self.root / "home" / "Maildir"
        for name in ("dovecot-uidlist", "dovecot-uidvalidity", "dovecot.index", "dovecot.index.log",
                     "dovecot.index.cache", "dovecot.list.index", "dovecot.list.index.log"):  # fmt: skip
            (folder / name).unlink(missing_ok=True)
        for path in folder.glob("dovecot-uidvalidity.*"):
            path.unlink()
        until(lambda: int(time.time()) > self._started)  # it takes the second for the new number
        self.start()


def _flags(line: bytes) -> list[str]:
    return line.decode().partition("FLAGS (")[2].partition(")")[0].replace("\\", "").split()


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def missing() -> str:
    """Return why the server cannot run here; empty where it can."""
    if shutil.which("dovecot", path=_PROGRAMS) and not os.geteuid():
        return ""
    return "dovecot, a real IMAP server, is not here, or this is not root, as whom it starts"


@contextlib.contextmanager
def dovecot(certificate: str, more: str = "") -> Iterator[Dovecot]:
    """Serve until the block ends. Its user must reach its folder, so that is not below pytest's private one."""
    if reason := missing():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="lumen-imap-") as name:
        os.chmod(name, 0o755)  # noqa: S103 - the server's user has to get in
        server = Dovecot(Path(name), certificate, more)
        server.start()
        try:
            yield server
        finally:
            server.stop()
