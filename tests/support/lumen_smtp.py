"""A real SMTP server on loopback (aiosmtpd) that keeps what it is given: in clear, by STARTTLS or TLS, with a login.

And the letters that people write.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage, Message

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

ANA = "ana@example.org"
AGENT = "lumen@example.org"


class Post:
    """What aiosmtpd asks: it keeps each message, or answers with `refuse`. With `password` it wants a login."""

    def __init__(self, password: str = "") -> None:
        self.refuse = ""
        self.password = password
        self.letters: list[Message] = []
        self.recipients: list[list[str]] = []
        self.logins: list[bool] = []  # whether each came over TLS
        self.port = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - as aiosmtpd names it
        if self.refuse:
            return self.refuse
        assert isinstance(envelope.content, bytes)
        self.letters.append(message_from_bytes(envelope.content))
        self.recipients.append(envelope.rcpt_tos)
        return "250 taken"

    def check(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, login: object) -> AuthResult:
        """Answer a login."""
        self.logins.append(server.transport is not None and server.transport.get_extra_info("ssl_object") is not None)
        right = isinstance(login, LoginPassword) and login.password == self.password.encode()
        return AuthResult(success=right, handled=False)

    def text(self) -> str:
        """The text of the newest letter."""
        return text_of(self.letters[-1])


@contextlib.contextmanager
def posting(
    certificate: str = "", *, starttls: bool = False, password: str = "", host: str = "127.0.0.1"
) -> Iterator[Post]:
    """Serve until the block ends: with a certificate and its key by TLS, or by STARTTLS and not without it."""
    post = Post(password)
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    with socket.create_server((host, 0)) as free:
        post.port = free.getsockname()[1]
    server = Controller(
        post,
        hostname=host,
        port=post.port,
        ssl_context=None if starttls else context,
        tls_context=context if starttls else None,
        require_starttls=starttls,
        authenticator=post.check if password else None,
        auth_required=bool(password),
        auth_require_tls=starttls,
    )
    server.start()
    try:
        yield post
    finally:
        server.stop()


def letter(text: str, sender: str = ANA, subject: str = "Hello", **headers: str) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, AGENT, subject
    for name, value in headers.items():
        made[name.replace("_", "-")] = value
    made.set_content(text)
    return made


def reply_to(asked: Message, words: str, sender: str = ANA, **headers: str) -> EmailMessage:
    """Reply as a mail program does: the words, then the whole text quoted."""
    quoted = "".join(f"> {line}\n" for line in text_of(asked).splitlines())
    more = {"In_Reply_To": asked["Message-ID"], "References": f"{asked['References']} {asked['Message-ID']}"}
    return letter(f"{words}\n\nOn Monday lumen wrote:\n{quoted}", sender, f"Re: {asked['Subject']}", **more, **headers)


def text_of(message: Message) -> str:
    """Return the text of a letter that is nothing but text."""
    payload = message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()
