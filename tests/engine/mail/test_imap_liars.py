"""IMAP servers that stall, lie and flood: refused by name in bounded time and memory, and never sent a password."""

from __future__ import annotations

import re
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from lumen_tui.model.mail_config import MailSource
from lumen_tui.store import mail_sources

PASSWORD = "never-to-be-seen"
Answers = dict[str, bytes]  # command -> what comes before its OK, or the whole answer where it begins with `!`
HONEST: Answers = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
    "EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n* OK [UIDNEXT 2] ok\r\n",
    "SEARCH": b"* SEARCH 1\r\n",
    "FETCH": b"* 1 FETCH (UID 1 RFC822.SIZE 50)\r\n",
    "BODY": b"* 1 FETCH (UID 1 BODY[]<0> {4}\r\nhi\r\n)\r\n",
}


class Liar:
    """A server on loopback that says what the test has it say, to one connection after the other."""

    def __init__(self, answers: Answers, greeting: bytes = b"* OK here\r\n") -> None:
        self.answers, self.greeting = {**HONEST, **answers}, greeting
        self.heard: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        for sock in (self._listening, *self._open):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection = self._listening.accept()[0]
                self._open.append(connection)
                threading.Thread(target=self._speak, args=(connection,), daemon=True).start()

    def _speak(self, connection: socket.socket) -> None:
        with suppress(OSError), connection.makefile("rb") as lines:
            connection.sendall(self.greeting)
            for line in lines:
                self.heard.append(line)
                self._answer(connection, line)

    def _answer(self, connection: socket.socket, line: bytes) -> None:
        tag, *words = line.decode("latin-1").split() or [""]
        if not words:
            return  # TLS, to which this server has nothing to say
        command = words[1] if words[0] == "UID" else words[0]
        answer = self.answers.get("BODY" if "BODY.PEEK" in line.decode("latin-1") else command, b"")
        if answer.startswith(b"!flood"):
            while True:
                connection.sendall(b"* OK more and more of it\r\n" * 5000)
        if answer.startswith(b"!drip"):
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)
        if answer != b"!nothing":
            connection.sendall(
                answer.removeprefix(b"!") if answer[:1] == b"!" else answer + f"{tag} OK done\r\n".encode()
            )


LIES: dict[str, tuple[Answers, str]] = {
    "stalls": ({"LOGIN": b"!nothing"}, "does not answer in time"),
    "drips": ({"EXAMINE": b"!drip"}, "does not answer in time"),
    "floods": ({"EXAMINE": b"!flood"}, "sends more than it was asked for|does not answer in time"),
    "a line without end": ({"SEARCH": b"* SEARCH " + b"1 " * 3_000_000}, "sends more than it was asked for"),
    "a literal of 9 GB": ({"SEARCH": b"* SEARCH {9999999999}\r\n"}, "sends more than it was asked for"),
    "no numbers": ({"EXAMINE": b"* 1 EXISTS\r\n"}, "does not number its messages"),
    "ends it": ({"EXAMINE": b"!* BYE \x1b[2J over\r\n"}, "over"),
    "no protocol": ({"CAPABILITY": b"!HTTP/1.1 400 Bad Request\r\n"}, "HTTP/1.1 400"),
    "noise": ({"CAPABILITY": b"!" + bytes(range(256)) * 20 + b"\r\n"}, "localhost: "),
    "odd brackets": ({"SEARCH": b"* OK [\r\n* 1 FETCH (UID\r\n* SEARCH x {0}\r\n\r\n* NO {-1}\r\n"}, "^$"),
    "no to all": ({"SEARCH": b"!"}, "does not answer in time"),
}


@pytest.fixture
def lied(inbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Liar]]:
    """Start a liar and follow it."""
    monkeypatch.setenv("IMAP_PASSWORD", PASSWORD)
    liars: list[Liar] = []

    def begin(answers: Answers, more: str = "", **how: bytes) -> Liar:
        liars.append(Liar(answers, **how))
        inbox.settings(
            more=f'imap = "imap://localhost:{liars[0].port}"\nimap_user = "lumen"\n'
            f'imap_password = "env:IMAP_PASSWORD"\nseconds = 1.0\n{more}'
        )
        return liars[0]

    yield begin
    for liar in liars:
        liar.close()


def source(inbox) -> MailSource:
    return mail_sources.read_source(inbox.world.layout.mail_imap) or MailSource("")


def begun(inbox) -> None:
    """As if the mailbox was seen before, without any message."""
    place = f"imap://localhost:{inbox.port}/INBOX of lumen"
    mail_sources.write_source(inbox.world.layout.mail_imap, MailSource(place, validity=7, uid=0))


@pytest.mark.parametrize("kind", LIES)
async def test_a_server_that_lies_is_refused_by_name_within_its_time(inbox, lied, kind: str) -> None:
    answers, named = LIES[kind]
    inbox.port = lied(answers).port
    begun(inbox)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await inbox.beat()
    await inbox.until(lambda: source(inbox).problem or source(inbox).looked_at, 20)
    assert re.search(named, source(inbox).problem)
    assert inbox.world.engine().mail._followers["imap"].is_alive()
    assert "\x1b" not in source(inbox).problem
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB
    assert inbox.lines() == []


async def test_a_message_longer_than_the_server_said_is_refused_and_not_asked_for_again(inbox, lied) -> None:
    liar = lied({"BODY": b"* 1 FETCH (UID 1 BODY[]<0> {900000}\r\n" + b"x" * 900_000 + b")\r\n"}, "most_mb = 0.01\n")
    inbox.port = liar.port
    begun(inbox)
    await inbox.beat()
    await inbox.until(lambda: source(inbox).uid == 1)
    await inbox.until(lambda: source(inbox).problem)
    inbox.world.engine().mail._followers["imap"].wake()
    await inbox.until(lambda: not source(inbox).problem)
    assert [line.why for line in inbox.lines()] == ["it has more than 0.01 MB"]
    assert sum(b"BODY.PEEK" in line for line in liar.heard) == 1


async def test_another_message_than_the_one_asked_for_is_not_taken(inbox, lied) -> None:
    inbox.port = lied({"BODY": b"* 9 FETCH (UID 9 BODY[]<0> {4}\r\nhi\r\n)\r\n"}).port
    begun(inbox)
    await inbox.beat()
    await inbox.until(lambda: source(inbox).problem)
    assert "another message than the one it was asked for" in source(inbox).problem
    assert inbox.lines() == []


@pytest.mark.parametrize("offers", [True, False])
async def test_no_password_leaves_before_a_connection_is_encrypted(inbox, lied, trusted, offers: bool) -> None:
    """A server, or whoever stands between, that offers no STARTTLS, or says things before it that nobody asked for."""
    extension = b" STARTTLS" if offers else b""
    liar = lied({"CAPABILITY": b"* CAPABILITY IMAP4rev1" + extension + b"\r\n"}, f'ca = "{trusted}"\n')
    await inbox.beat()
    await inbox.until(lambda: source(inbox).problem)
    assert source(inbox).problem
    if not offers:
        assert source(inbox).problem == "localhost offers no STARTTLS: nothing is sent in clear"
    assert not any(PASSWORD.encode() in line or b"LOGIN" in line for line in liar.heard)


async def test_the_beat_goes_on_while_a_server_stalls(inbox, lied) -> None:
    lied({}, "seconds = 30.0\n".replace("seconds", "every_minutes").replace("30.0", "1.0"), greeting=b"")
    started = time.monotonic()
    for _ in range(3):
        await inbox.beat(300)
    assert time.monotonic() - started < 10
    assert inbox.world.engine().beats >= 3
