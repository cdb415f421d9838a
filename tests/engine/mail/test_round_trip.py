"""A call is answered by mail on real servers: the question goes out by SMTP, the reply comes in by IMAP."""

from __future__ import annotations

import time

import pytest
from lumen_dovecot import PASSWORD, USER, dovecot
from lumen_smtp import reply_to

from lumen_tui.store import approvals, mail_sources
from tests.engine.mail.test_replies import call, decision, sent

TRIPS = 30


@pytest.fixture
def round_trip(mailed, certificate, trusted, monkeypatch):
    """The state folder that tells by SMTP and reads a mailbox over TLS; `server` is the mailbox."""
    monkeypatch.setenv("IMAP_PASSWORD", PASSWORD)
    with dovecot(certificate) as server:
        mailed.settings(
            "smtps",
            f'imap = "imaps://localhost:{server.tls_port}"\nimap_user = "{USER}"\nca = "{trusted}"\n'
            'imap_password = "env:IMAP_PASSWORD"\nper_hour = 1000\n',
        )
        mailed.server = server
        yield mailed


async def begun(mailed) -> None:
    await mailed.beat()
    await mailed.until(lambda: (source := mail_sources.read_source(mailed.world.layout.mail_imap)) and source.looked_at)


def why(mailed) -> list[str]:
    return [line.why.partition(":")[0] for line in mailed.lines()]


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
@pytest.mark.parametrize("mailed", ["certificate"], indirect=True)
async def test_a_reply_counts_once_and_not_after_the_call_changed(round_trip) -> None:
    await begun(round_trip)
    first = call(round_trip)
    asked = await sent(round_trip, first)
    round_trip.server.put(reply_to(asked, "allow").as_bytes())
    await round_trip.until(lambda: decision(round_trip, first))
    assert (decision(round_trip, first).by, decision(round_trip, first).via) == ("ana", "mail")
    round_trip.server.put(reply_to(asked, "deny").as_bytes())
    await round_trip.until(lambda: "replayed" in why(round_trip))
    second = call(round_trip, "rm -rf build")
    asked = await sent(round_trip, second, 2)
    path = round_trip.world.layout.approval(second.id)
    path.write_bytes(path.read_bytes().replace(b"rm -rf build", b"rm -rf /home"))
    round_trip.server.put(reply_to(asked, "allow").as_bytes())
    await round_trip.until(lambda: "changed" in why(round_trip))
    assert decision(round_trip, second) is None


@pytest.mark.parametrize("mailed", ["certificate"], indirect=True)
async def test_question_to_mail_and_reply_to_answer_take_a_moment(round_trip, record_property) -> None:
    """30 trips. On a quiet machine the 95th percentiles are below a second; here they are bounded for any load."""
    await begun(round_trip)
    out: list[float] = []
    back: list[float] = []
    for number in range(TRIPS):
        request = call(round_trip, f"make release-{number}")
        start = time.monotonic()
        asked = await sent(round_trip, request, number + 1)
        out.append(time.monotonic() - start)
        raw = reply_to(asked, "allow").as_bytes()
        start = time.monotonic()
        round_trip.server.put(raw)
        await round_trip.until(lambda request=request: decision(round_trip, request))
        back.append(time.monotonic() - start)
        round_trip.world.clock.pass_time(400)  # no digest
    figures = {"out": sorted(out)[28], "back": sorted(back)[28]}
    record_property("p95", figures)
    assert max(figures.values()) < 10
    assert all(decision(round_trip, request).allowed for request in approvals.every(round_trip.world.layout))
