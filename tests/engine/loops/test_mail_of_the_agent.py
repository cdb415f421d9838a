"""The main agent answers mail: each message is left for a person, shown whole, and sent in the thread once allowed."""

from __future__ import annotations

import msgspec
import pytest
from lumen_apiserver import tool, tools, use
from lumen_smtp import Post, posting

from lumen_tui.engine.mail import receiving
from lumen_tui.model.approvals import whole_call
from lumen_tui.model.mail import MailLine, OutgoingMail
from lumen_tui.model.records import Signal
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config

AGENT, BO = "lumen@example.org", "bo@example.org"
DONE = tool("deposit", wake_state="Out.")
FROM_BO = (
    b"From: Bo <bo@example.org>\nTo: lumen@example.org\nSubject: The build\nMessage-ID: <b2@example.org>\n"
    b"References: <a1@example.org>\n\nWhen is it ready?\n"
)


@pytest.fixture
def post():
    with posting() as server:
        yield server


@pytest.fixture
def posted(office, post: Post):
    """An office whose agent can send mail; `post` is the server."""
    configure(office, post)
    office.post = post
    yield office
    office.engine.mail.close()


def configure(office, post: Post, more: str = "") -> None:
    office.layout.config.write_text(
        f'{office.layout.config.read_text().partition("[mail]")[0]}[mail]\naddress = "{AGENT}"\n'
        f'smtp = "smtp://localhost:{post.port}"\n{more}'
    )


def comes(office, raw: bytes = FROM_BO) -> str:
    """A message comes in; returns its id."""
    name = receiving.spool(office.store, raw)
    assert receiving.deal_with(office.store, name, load_config(office.layout)[0], "ann", office.clock.now())
    return name


async def a_loop(office, api, *calls: dict, number: int = 1) -> str:
    """Run a loop in which the agent makes these calls; returns what it was told of the last ones."""

    def first(request) -> bool:
        return "deposit" in request.tool_names

    api.when(first, tools(*calls), DONE)
    office.do("signal.send", message=f"look {number}")
    await office.beat("asked")
    await office.loop_over(number)
    return api.requests[-1].last_text


def outcomes(office) -> list[str]:
    return [line.outcome for line in Journal(office.layout.mail_log).records(MailLine) if line.id.startswith("msg-")]


def answer(**more: str) -> dict:
    return use("send_mail", **{"to": BO, "subject": "Re: The build", "text": "On Friday.\n\nLumen", **more})


async def test_an_answer_waits_for_a_person_who_sees_it_whole_and_goes_out_in_the_thread(posted, api) -> None:
    mail_id = comes(posted)
    await a_loop(posted, api, answer(reply_to=mail_id))
    (asked,) = await posted.asked()
    assert whole_call(asked) == f"to: {BO}\nsubject: Re: The build\nreply to: {mail_id}\n\nOn Friday.\n\nLumen"
    assert (asked.tool, asked.lasting, asked.rule) == ("send_mail", True, BO)
    assert posted.post.letters == []
    posted.do("approval.allow", approval_ids=asked.id)
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
    (letter,) = posted.post.letters
    assert posted.post.recipients == [[BO]]
    assert letter["In-Reply-To"] == "<b2@example.org>"
    assert letter["References"] == "<a1@example.org> <b2@example.org>"
    assert letter["Auto-Submitted"] == "auto-replied"
    assert posted.post.text().splitlines() == ["On Friday.", "", "Lumen"]
    assert list(posted.layout.mail_out.iterdir()) == []
    assert outcomes(posted) == ["queued", "sending", "sent"]


async def test_what_a_person_refuses_is_not_sent_and_the_agent_hears_of_it(posted, api) -> None:
    await a_loop(posted, api, answer())
    (asked,) = await posted.asked()
    posted.do("approval.deny", approval_ids=asked.id, reason="too early")
    await posted.until(
        lambda: [each for each in Journal(posted.layout.signals).records(Signal) if each.sender == "mail"]
    )
    signal = next(each for each in Journal(posted.layout.signals).records(Signal) if each.sender == "mail")
    assert "was refused by ann and is not sent: too early" in signal.message
    assert not signal.order
    assert outcomes(posted) == []


async def test_an_address_that_a_person_allowed_for_good_needs_no_word_and_no_other_address_gains(posted, api) -> None:
    await a_loop(posted, api, answer(text="one"))
    (asked,) = await posted.asked()
    posted.do("approval.allow_always", approval_id=asked.id)
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
    posted.clock.pass_time(600)
    await a_loop(posted, api, answer(text="two"), answer(to="eve@example.org", text="three"), number=2)
    await posted.until(lambda: len(posted.post.letters) == 2)
    assert [letter.get_payload().strip() for letter in posted.post.letters] == ["one", "two"]
    assert [request.arguments["to"] for request in await posted.asked()] == ["eve@example.org"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"to": "bo@example.org, eve@example.org"}, "no address for you to write to"),
        ({"to": AGENT}, "no address for you to write to"),
        ({"to": "bo@example.org\nBcc: eve@example.org"}, "no address for you to write to"),
        ({"subject": "a\nBcc: eve@example.org"}, "a secret or invisible characters"),
        ({"text": "the key is ghp_" + "a1B2" * 9}, "a secret or invisible characters"),
        ({"text": "see\u202e here"}, "a secret or invisible characters"),
        ({"reply_to": "eml-0000000000000"}, "is no message that can be answered"),
    ],
)
async def test_what_cannot_be_sent_is_refused_with_the_reason(posted, api, call, why) -> None:
    told = await a_loop(posted, api, answer(**call))
    assert why in told
    assert posted.picture().approvals == ()


async def test_an_answer_goes_to_who_wrote_and_to_no_program(posted, api) -> None:
    mail_id = comes(posted)
    assert "came from bo@example.org" in await a_loop(posted, api, answer(to="eve@example.org", reply_to=mail_id))
    posted.clock.pass_time(600)
    automatic = comes(posted, FROM_BO.replace(b"Subject", b"List-Unsubscribe: <mailto:x@example.org>\nSubject"))
    told = await a_loop(posted, api, answer(reply_to=automatic), number=2)
    assert "is no message that can be answered" in told


async def test_no_more_go_out_in_a_day_than_the_settings_say(posted, api) -> None:
    configure(posted, posted.post, "out_per_day = 2\n")
    told = await a_loop(posted, api, *(answer(text=f"number {number}") for number in range(3)))
    assert "2 messages a day are the most" in told
    assert len(await posted.asked()) == 2


async def test_a_message_of_the_agent_that_comes_back_tells_nobody(posted, api) -> None:
    await a_loop(posted, api, answer())
    (asked,) = await posted.asked()
    posted.do("approval.allow", approval_ids=asked.id)
    await posted.until(lambda: posted.post.letters)
    name = comes(posted, posted.post.letters[0].as_bytes().replace(AGENT.encode(), b"forwarder@example.org"))
    line = next(line for line in Journal(posted.layout.mail_log).records(MailLine) if line.id == name)
    assert line.outcome == "automatic"


async def test_a_server_that_refuses_for_good_is_told_to_the_agent_and_one_that_is_busy_is_asked_again(
    posted, api
) -> None:
    posted.post.refuse = "451 later"
    await a_loop(posted, api, answer())
    (asked,) = await posted.asked()
    posted.do("approval.allow", approval_ids=asked.id)
    await posted.until(lambda: outcomes(posted)[-1:] == ["failed"])
    posted.post.refuse = "554 no"
    posted.clock.pass_time(10)
    await posted.until(lambda: outcomes(posted)[-1:] == ["not sent"])
    signal = next(each for each in Journal(posted.layout.signals).records(Signal) if each.sender == "mail")
    assert "could not be sent: the mail server refused it (SMTP 554)" in signal.message
    assert outcomes(posted) == ["queued", "sending", "failed", "sending", "not sent"]


async def test_after_a_kill_between_the_servers_yes_and_its_line_it_has_the_same_message_id(posted, api) -> None:
    await a_loop(posted, api, answer())
    (asked,) = await posted.asked()
    posted.do("approval.allow", approval_ids=asked.id)
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
    lines = posted.layout.mail_log.read_bytes().splitlines(keepends=True)
    name = f"{posted.post.letters[0]['Message-ID'].strip('<>').partition('@')[0]}"
    posted.engine.mail.close()
    posted.crash()
    kept = posted.layout.mail_kept / name / "text.txt"
    (posted.layout.mail_out / f"{name}.json").write_bytes(
        msgspec.json.encode(
            OutgoingMail(
                id=name,
                to=BO,
                subject="Re: The build",
                text=kept.read_text(),
                at="2026-11-23T00:00:00Z",
                message_id=f"<{name}@example.org>",
            )
        )
    )
    posted.layout.mail_log.write_bytes(b"".join(lines[:-1]))
    await posted.beat()
    await posted.until(lambda: len(posted.post.letters) == 2)
    first, second = posted.post.letters
    assert first["Message-ID"] == second["Message-ID"]
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
    assert outcomes(posted) == ["queued", "sending", "sending", "sent"]


async def test_a_long_message_is_read_whole_from_where_its_signal_says_that_it_is(posted, api) -> None:
    mail_id = comes(posted, FROM_BO + b"x" * 70 + b"\n" + b"and more of it\n" * 300 + b"the very end\n")
    signal = next(each for each in Journal(posted.layout.signals).records(Signal) if each.sender == "mail")
    path = str(posted.layout.mail_kept / mail_id / "text.txt")
    assert path in signal.message
    assert "the very end" not in signal.message
    assert "the very end" in await a_loop(posted, api, use("read_file", path=path))


async def test_a_reply_by_mail_allows_a_message_that_it_shows_whole(posted, api) -> None:
    configure(posted, posted.post, 'operators = ["ann@example.org"]\ntell = true\n')
    await a_loop(posted, api, answer())
    await posted.until(lambda: posted.post.letters)
    (asked,) = posted.post.letters
    shown = posted.post.text()
    assert f"to: {BO}\r\nsubject: Re: The build\r\n\r\nOn Friday.\r\n\r\nLumen" in shown
    comes(
        posted, f"From: ann@example.org\nSubject: Re: {asked['Subject']}\n\nallow\n\n> {shown.split()[-1]}\n".encode()
    )
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
    assert posted.post.recipients == [["ann@example.org"], [BO]]


async def test_nothing_goes_out_while_the_kill_switch_is_on(posted, api) -> None:
    await a_loop(posted, api, answer())
    (asked,) = await posted.asked()
    posted.do("kill")
    posted.do("approval.allow", approval_ids=asked.id)
    await posted.until(lambda: outcomes(posted) == ["queued"])
    await posted.beat()
    posted.engine.poll(posted.clock.now())
    assert outcomes(posted) == ["queued"]
    posted.do("unkill")
    await posted.until(lambda: outcomes(posted)[-1:] == ["sent"])
