"""How a mail server is reached: by verified TLS, except on this machine, and what is wrong where it is not.

Shared by SMTP and IMAP. `smtps` and `imaps` are TLS from the beginning; `smtp` and `imap` begin it with STARTTLS. To
this machine these two go in clear, unless the settings name the authority (`ca`) with which TLS can be verified there.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from lumen_tui.engine.mail.following import Unreachable
from lumen_tui.model.mail_config import MailConfig
from lumen_tui.model.text import one_line
from lumen_tui.tools.web_fetch import ended_after

_LOCAL = ("127.0.0.1", "localhost", "::1")
_PORTS = {"smtps": 465, "smtp": 587, "imaps": 993, "imap": 143}
_LOCAL_SMTP = 25


class MailServer(NamedTuple):
    """Where a server is, and how the connection is protected."""

    host: str
    port: int
    implicit: bool  # TLS from the beginning
    clear: bool  # no TLS at all: to this machine
    ca: str
    seconds: float  # for the connection, and again for the handshake

    @property
    def starts_tls(self) -> bool:
        """Whether TLS begins by a command."""
        return not (self.implicit or self.clear)

    def context(self) -> VerifyingContext:
        """Return what verifies its certificate. Raise Unreachable."""
        context = VerifyingContext(ssl.PROTOCOL_TLS_CLIENT)
        context.seconds = self.seconds
        context.load_default_certs()
        if self.ca:
            try:
                context.load_verify_locations(Path(self.ca).expanduser())
            except (OSError, ssl.SSLError) as error:
                problem = f"mail.ca: {one_line(self.ca, 100)} holds no certificate that can be read"
                raise Unreachable(problem, lasting=True) from error
        return context

    def connect(self) -> socket.socket:
        """Return a connection; where TLS begins with it, to the server of that name. Raise Unreachable, OSError."""
        plain = socket.create_connection((self.host, self.port), self.seconds)
        try:
            return self.context().wrap_socket(plain, server_hostname=self.host) if self.implicit else plain
        except BaseException:
            plain.close()
            raise


class VerifyingContext(ssl.SSLContext):
    """TLS to a server whose certificate and name are verified, and whose handshake ends in time."""

    seconds = 20.0

    def wrap_socket(
        self,
        sock: socket.socket,
        server_side: bool = False,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLSocket:
        """Return the encrypted connection. Raise OSError."""
        wrapped = super().wrap_socket(sock, server_side, False, suppress_ragged_eofs, server_hostname, session)
        try:
            with ended_after(wrapped, self.seconds):
                wrapped.do_handshake()
        except BaseException:
            wrapped.close()
            raise
        return wrapped


def server_at(address: str, config: MailConfig) -> MailServer:
    """Return what an address such as `imaps://mail.example.org` says."""
    ca = config.ca
    parts = urlsplit(address)
    host, implicit = parts.hostname or "", parts.scheme.endswith("s")
    clear = host in _LOCAL and not implicit and not ca
    port = _LOCAL_SMTP if clear and parts.scheme == "smtp" else _PORTS[parts.scheme]
    return MailServer(host, parts.port or port, implicit, clear, ca, config.seconds)


def fault_of(host: str, error: Exception) -> Unreachable:
    """Return an error of a connection by name, without anything that was sent."""
    name = one_line(host, 100)
    if isinstance(error, Unreachable):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreachable(f"{name}: its certificate is refused: {one_line(error.verify_message, 120)}", lasting=True)
    if isinstance(error, TimeoutError):
        return Unreachable(f"{name} does not answer in time")
    if isinstance(error, OSError) and error.strerror:
        return Unreachable(f"{name}: {one_line(error.strerror, 120)}")
    return Unreachable(f"{name}: {one_line(str(error) or type(error).__name__, 160)}")
