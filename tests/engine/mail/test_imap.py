"""A mailbox on a real IMAP server is read and never changed: each message once, whatever is killed or numbered anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lumen_dovecot import PASSWORD, USER, Dovecot, dovecot
from lumen_kills import killed_before, state_calls
from lumen_smtp import letter

from lumen_tui.engine.mail.imap import ImapFollower
from lumen_tui.model.mail_config import MailSource
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store import mail_sources
from tests.engine.mail.conftest import intake, sweep, words


@pytest.fixture
def server(certificate: str) -> Iterator[Dovecot]:
    with dovecot(certificate) as made:
        yield made


@pytest.fixture
def boxed(inbox, server: Dovecot, monkeypatch: pytest.MonkeyPatch):
    """The state folder whose mail comes from that server; its `follow` says how."""
    monkeypatch.setenv("IMAP_PASSWORD", PASSWORD)

    def follow(address: str = f"imap://localhost:{server.port}", more: str = "") -> None:
        inbox.settings(more=f'imap = "{address}"\nimap_user = "{USER}"\nimap_password = "env:IMAP_PASSWORD"\n{more}')

    inbox.follow = follow
    return inbox


def source(inbox) -> MailSource:
    return mail_sources.read_source(inbox.world.layout.mail_imap) or MailSource("")


def raw(text: str) -> bytes:
    return letter(text, "bo@example.org").as_bytes()


async def begun(boxed) -> None:
    """Wait until the mailbox was looked at for the first time."""
    await boxed.beat()
    await boxed.until(lambda: source(boxed).looked_at)


@pytest.mark.parametrize("way", ["in clear", "TLS", "STARTTLS"])
async def test_a_message_that_comes_is_one_signal_and_the_mailbox_stays_as_it_is(
    boxed, server, trusted, way: str
) -> None:
    server.put(raw("from before"))
    scheme, port = ("imaps", server.tls_port) if way == "TLS" else ("imap", server.port)
    boxed.follow(f"{scheme}://localhost:{port}", "" if way == "in clear" else f'ca = "{trusted}"')
    await begun(boxed)
    server.put(raw("one"), raw("two"))
    await boxed.until(lambda: len(words(boxed)) == 2)
    assert words(boxed) == ["one", "two"]
    assert all("Seen" not in flags for flags in server.flags())
    position = source(boxed)
    assert (position.problem, position.uid) == ("", 3)


async def test_what_came_while_no_engine_ran_is_taken_by_the_next_one(boxed, server) -> None:
    boxed.follow()
    await begun(boxed)
    boxed.world.engine().mail.close()
    boxed.world.crash()
    server.put(raw("meanwhile"))
    await boxed.beat()
    await boxed.until(lambda: words(boxed) == ["meanwhile"])


async def test_a_mailbox_that_is_numbered_anew_brings_nothing_twice_and_leaves_nothing_out(boxed, server) -> None:
    boxed.follow()
    await begun(boxed)
    server.put(raw("one"), raw("two"))
    await boxed.until(lambda: len(words(boxed)) == 2)
    before = source(boxed)
    boxed.world.engine().mail.close()
    boxed.world.crash()
    server.number_anew()
    server.put(raw("three"))
    await boxed.beat()
    await boxed.until(lambda: len(words(boxed)) == 3)
    assert words(boxed) == ["one", "two", "three"]
    assert source(boxed).validity != before.validity


async def test_a_message_that_is_too_large_is_told_once_and_not_fetched(boxed, server) -> None:
    boxed.follow(more="most_mb = 0.1\n")
    await begun(boxed)
    server.put(raw("x" * 70 + "\n" + "y" * 200_000), raw("small"))
    await boxed.until(lambda: len(boxed.lines()) == 2)
    assert words(boxed) == ["small"]
    assert [(line.outcome, line.why) for line in boxed.lines()] == [
        ("refused", "it has more than 0.1 MB"), ("received", ""),
    ]  # fmt: skip
    assert boxed.lines()[0].size > 200_000


async def test_beyond_the_bytes_of_a_day_messages_wait_on_the_server(boxed, server) -> None:
    boxed.follow(more="day_mb = 0.01\n")
    await begun(boxed)
    server.put(raw("x" * 9_000 + "\n" + "y" * 9_000), raw("later"))
    await boxed.until(lambda: source(boxed).problem)
    assert source(boxed).problem.startswith("0.01 MB came in today")
    assert len(words(boxed)) == 1
    boxed.world.clock.pass_time(86_400)
    boxed.world.engine().mail._followers["imap"].wake()
    await boxed.until(lambda: words(boxed)[-1] == "later")


@pytest.mark.parametrize("fault", ["certificate", "password", "mailbox", "ca", "secret"])
async def test_what_only_a_person_can_mend_is_one_item_by_name_and_without_secrets(
    boxed, server, trusted, monkeypatch, fault: str
) -> None:
    address, more = f"imap://localhost:{server.port}", ""
    if fault == "certificate":
        address = f"imaps://localhost:{server.tls_port}"
    elif fault == "password":
        monkeypatch.setenv("IMAP_PASSWORD", "hunter2-not-it")
    elif fault == "mailbox":
        more = 'imap_folder = "Nowhere"\n'
    elif fault == "ca":
        address, more = f"imaps://localhost:{server.tls_port}", 'ca = "/nonexistent.pem"\n'
    else:
        monkeypatch.delenv("IMAP_PASSWORD")
    boxed.follow(address, more)
    await boxed.beat()
    await boxed.until(lambda: source(boxed).problem)
    named = {
        "certificate": "its certificate is refused: self-signed certificate",
        "password": "localhost refuses user and password",
        "mailbox": "localhost has no mailbox Nowhere",
        "ca": "mail.ca: /nonexistent.pem holds no certificate",
        "secret": "mail.imap_password: the variable IMAP_PASSWORD is not set",
    }[fault]
    assert named in source(boxed).problem
    reader = SnapshotReader(boxed.world.root)
    snapshot = reader.snapshot(boxed.world.now)
    reader.close()
    assert [item.text for item in snapshot.attention if "mail.imap" in item.text and named in item.text]
    everything = b"".join(path.read_bytes() for path in boxed.world.root.rglob("*") if path.is_file())
    assert b"hunter2" not in everything
    assert PASSWORD.encode() not in everything


async def test_a_server_that_is_away_is_asked_again_and_says_nothing_at_first(boxed, server) -> None:
    boxed.follow()
    await begun(boxed)
    server.stop()
    await boxed.until(lambda: source(boxed).problem)
    assert mail_sources.problems(mail_sources.sources(boxed.world.layout), boxed.world.now) == []
    (told,) = mail_sources.problems(mail_sources.sources(boxed.world.layout), boxed.world.now + 601)
    assert told.what.startswith("mail.imap: localhost")
    server.start()
    server.put(raw("again"))
    boxed.world.engine().mail._followers["imap"].wake()
    await boxed.until(lambda: words(boxed) == ["again"] and not source(boxed).problem)


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_a_kill_before_any_write_takes_each_message_once(boxed, server) -> None:
    """Each point at which an engine that fetches can be killed."""
    boxed.follow()
    look(boxed)
    server.put(raw("number 0"))
    look(boxed)
    server.put(raw("number 1"))
    calls = len(state_calls(boxed.world.root, lambda: look(boxed)))
    assert calls > 8
    killed = 0
    for call in range(calls):
        server.put(raw(f"number {call + 2}"))
        killed += killed_before(call, boxed.world.root, lambda: look(boxed))
        sweep(boxed)
        look(boxed)
    assert killed == calls
    assert words(boxed) == [f"number {number}" for number in range(calls + 2)]
    assert len(boxed.lines()) == calls + 2


class _OneLook(ImapFollower):
    """Looks once and ends, in the thread that calls."""

    def rest(self, seconds: float, *others: int) -> None:
        self._over.set()


def look(boxed) -> None:
    follower = _OneLook(intake(boxed), None)
    follower.wake()  # it does not wait for news
    follower.run()
    assert not follower.state.problem, follower.state.problem
