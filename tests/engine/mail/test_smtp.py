"""Messages go out by a real SMTP server: by STARTTLS and TLS with a login, to a verified server, within their time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage

import pytest
from lumen_smtp import Post, posting

from lumen_tui.engine.mail.smtp import submit
from lumen_tui.engine.mouths.sending import NotSent
from lumen_tui.model.mail_config import MailConfig

PASSWORD = "never-to-be-seen"


def config(address: str, ca: str = "", **more: object) -> MailConfig:
    return MailConfig(
        address="lumen@example.org", operators=("ana@example.org",), smtp=address, user="lumen",
        password="env:SMTP_PASSWORD", ca=ca, **more,
    )  # fmt: skip


def send(settings: MailConfig) -> None:
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = settings.address, "ana@example.org", "Hello"
    letter.set_content("A text")
    submit(settings, letter, settings.operators)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", PASSWORD)


@pytest.fixture(params=["smtps", "smtp"])
def post(request: pytest.FixtureRequest, certificate: str) -> Iterator[tuple[Post, str]]:
    """A server with TLS and a login, and its address."""
    with posting(certificate, starttls=request.param == "smtp", password=PASSWORD) as server:
        yield server, f"{request.param}://localhost:{server.port}"


def test_a_login_goes_over_tls_to_a_server_that_is_verified(post, trusted) -> None:
    server, address = post
    send(config(address, trusted))
    assert server.recipients == [["ana@example.org"]]
    assert server.logins == [True]


def test_a_wrong_certificate_is_refused_by_name_and_gets_no_password(post, trusted, tmp_path) -> None:
    server, address = post
    other = tmp_path / "other.pem"
    other.write_text("")
    with pytest.raises(NotSent, match=r"mail\.ca: .*other\.pem holds no certificate"):
        send(config(address, str(other)))
    if address.startswith("smtps"):
        with pytest.raises(NotSent, match="its certificate is refused: self-signed certificate"):
            send(config(address))
    assert server.logins == []


@pytest.mark.parametrize("scheme", ["smtps", "smtp"])
def test_a_certificate_of_another_name_is_refused_by_name(certificate, trusted, scheme: str) -> None:
    with posting(certificate, starttls=scheme == "smtp", password=PASSWORD, host="127.0.0.2") as server:
        with pytest.raises(NotSent, match="its certificate is refused: IP address mismatch"):
            send(config(f"{scheme}://127.0.0.2:{server.port}", trusted))
        assert server.logins == []


def test_a_wrong_password_is_named_and_tried_again_as_it_can_be_mended(post, trusted, monkeypatch) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "hunter2-not-it")
    server, address = post
    with pytest.raises(NotSent, match="localhost refuses user and password") as caught:
        send(config(address, trusted))
    assert not caught.value.final
    assert "hunter2" not in str(caught.value)
    assert server.letters == []


def test_a_server_without_starttls_gets_nothing(trusted) -> None:
    with posting() as server, pytest.raises(NotSent, match="offers no STARTTLS"):
        send(config(f"smtp://localhost:{server.port}", trusted))
    assert server.letters == []


@pytest.mark.parametrize("drips", [b"", b"2", b"220-more\r\n"])
def test_a_server_that_stalls_or_drips_is_left_within_the_time(drips: bytes) -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            connection = listening.accept()[0]
            while drips:
                connection.sendall(drips)
                time.sleep(0.05)
            connection.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(NotSent):
        send(config(f"smtp://localhost:{listening.getsockname()[1]}", seconds=1.0))
    assert time.monotonic() - began < 10
    listening.close()


def test_what_the_server_took_is_sent_though_it_breaks_off_then(trusted) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    taken: list[bytes] = []

    def serve() -> None:
        connection = listening.accept()[0]
        connection.sendall(b"220 here\r\n")
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                if line.upper().startswith(b"DATA"):
                    connection.sendall(b"354 go on\r\n")
                    while (part := lines.readline()) != b".\r\n":
                        taken.append(part)
                    connection.sendall(b"250 taken\r\n")
                elif line.upper().startswith(b"QUIT"):
                    connection.sendall(b"421 no\r\n")
                    return
                else:
                    connection.sendall(b"250 ok\r\n")

    threading.Thread(target=serve, daemon=True).start()
    settings = MailConfig(
        address="lumen@example.org", operators=("ana@example.org",),
        smtp=f"smtp://localhost:{listening.getsockname()[1]}",
    )  # fmt: skip
    send(settings)
    assert b"A text\r\n" in taken
    listening.close()
