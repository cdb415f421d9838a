"""A message is handed to the mail server by SMTP: by verified TLS, except on this machine, within a bounded time."""

from __future__ import annotations

import contextlib
import os
import smtplib
from collections.abc import Sequence
from email.message import EmailMessage

from lumen_tui.engine.mail.following import Unreachable
from lumen_tui.engine.mail.servers import MailServer, fault_of, server_at
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model.mail_config import MailConfig
from lumen_tui.store.settings.secrets import resolve
from lumen_tui.tools.web_fetch import ended_after

_FAILED_FOR_GOOD = 500  # codes from here on (RFC 5321, 4.2.1)


class BoundedSmtp(smtplib.SMTP):
    """smtplib over a connection that is ended after its time, however slowly the server speaks."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self._bound = contextlib.ExitStack()
        self.sock, self.file = server.connect(), None
        super().__init__(server.host, server.port, timeout=server.seconds)

    def connect(self, host: str = "localhost", port: int = 0, source_address: object = None) -> tuple[int, bytes]:
        """Return the greeting of the server, to which it is connected."""
        self._bind()
        return self.getreply()

    def begin_tls(self) -> None:
        """Encrypt the connection. Raise SMTPException, Unreachable, OSError."""
        self.starttls(context=self._server.context())
        self._bind()

    def close(self) -> None:
        """End the connection."""
        self._bound.close()
        super().close()

    def _bind(self) -> None:
        self._bound.close()
        self._bound.enter_context(ended_after(self.sock, self._server.seconds)) if self.sock else None


def submit(config: MailConfig, letter: EmailMessage, recipients: Sequence[str]) -> None:
    """Hand a message over. Raise NotSent, SecretMissing; nothing once the server has taken it."""
    password = resolve("mail.password", config.password, os.environ) if config.user else ""
    server = server_at(config.smtp, config)
    taken = False
    try:
        with BoundedSmtp(server) as connection:
            if server.starts_tls:
                connection.begin_tls()
            if config.user:
                connection.login(config.user, password)
            connection.send_message(letter, config.address, list(recipients))
            taken = True
    except (smtplib.SMTPException, OSError, ValueError, Unreachable) as error:
        if not taken:  # else it broke off as we took leave
            raise _not_sent(server.host, error) from error


def _not_sent(host: str, error: Exception) -> NotSent:
    """Return an error by name, without a word of the server's: they may hold what was sent."""
    if isinstance(error, smtplib.SMTPAuthenticationError):  # what is sent is not at fault: a password can be mended
        return NotSent(f"{host} refuses user and password (SMTP {error.smtp_code})")
    if isinstance(error, smtplib.SMTPResponseException):
        code = error.smtp_code
        return NotSent(f"the mail server refused it (SMTP {code})", final=code >= _FAILED_FOR_GOOD)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        final = all(code >= _FAILED_FOR_GOOD for code in codes)
        return NotSent("the mail server takes nothing for these addresses", final=final)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return NotSent(f"{host} offers no STARTTLS, or no login: nothing is sent in clear")
    return NotSent(str(fault_of(host, error)))
