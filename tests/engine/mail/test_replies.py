"""What needs you comes by mail and is answered by a reply: by a real SMTP server, in threads, once, by an operator."""

from __future__ import annotations

import pytest
from lumen_smtp import ANA, letter, reply_to
from msgspec.structs import replace

from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.model.notifying import retry_pause
from lumen_tui.store import approvals

COMMAND = "git push --force origin main"


def call(mailed, command: str = COMMAND, **more: object) -> Approval:
    world, arguments = mailed.world, {"command": command}
    request = Approval(
        id=approvals.id_for("loop-000001", command, 1),
        task_id="loop-000001",
        tool="shell",
        hash=call_hash("shell", dict(arguments)),
        arguments=dict(arguments),
        asked_at=times.iso(world.now),
        expires_at=times.iso(world.now + 6 * 3600),
        summary=f"run {command[:30]}",
        role="builder",
        lasting=True,
    )
    return approvals.ask(world.layout, replace(request, **more))


def decision(mailed, request: Approval) -> Decision | None:
    return approvals.decision(mailed.world.layout, request.id)


async def sent(mailed, request: Approval, count: int = 1):
    await mailed.beat()
    await mailed.until(lambda: len(mailed.post.letters) >= count)
    return mailed.post.letters[-1]


async def test_a_reply_allows_the_call_that_was_shown_and_only_once(mailed, monkeypatch, capsys) -> None:
    mailed.settings()
    request = call(mailed)
    asked = await sent(mailed, request)
    assert COMMAND in mailed.post.text()
    assert (asked["To"], asked["Auto-Submitted"]) == (ANA, "auto-generated")
    assert mailed.deliver(reply_to(asked, "Allow, it is a branch of mine"), monkeypatch) == 0
    answer = decision(mailed, request)
    assert (answer.allowed, answer.by, answer.via, answer.reason) == (True, "ana", "mail", "it is a branch of mine")
    assert mailed.deliver(reply_to(asked, "deny"), monkeypatch) == 0
    assert [(line.outcome, line.why.partition(":")[0]) for line in mailed.lines()] == [
        ("answered", "allowed"), ("refused", "replayed"),
    ]  # fmt: skip


async def test_a_reply_denies_with_its_reason(mailed, monkeypatch) -> None:
    mailed.settings()
    request = call(mailed)
    asked = await sent(mailed, request)
    mailed.deliver(reply_to(asked, "deny: not on a Friday"), monkeypatch)
    answer = decision(mailed, request)
    assert (answer.allowed, answer.reason) == (False, "not on a Friday")


async def test_a_question_is_answered_in_words_or_by_a_number(mailed, monkeypatch) -> None:
    mailed.settings()
    request = call(mailed, tool="ask_operator", question="Which port?", options=("8080", "9090"), default="8080")
    asked = await sent(mailed, request)
    mailed.deliver(reply_to(asked, "I am out of the office until Monday"), monkeypatch)
    assert decision(mailed, request) is None
    mailed.deliver(reply_to(asked, "answer: neither, take 7070"), monkeypatch)
    answer = decision(mailed, request)
    assert (answer.answer, answer.order) == ("neither, take 7070", True)
    assert mailed.lines()[0].why.startswith("unclear: ")


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
async def test_a_spoofed_sender_with_a_token_and_an_operator_without_one_answer_nothing(mailed, monkeypatch) -> None:
    mailed.settings()
    request = call(mailed)
    asked = await sent(mailed, request)
    for sender in ("eve@example.org", f'"{ANA}" <eve@example.org>', f"{ANA}, eve@example.org", f"eve@x.org ({ANA})"):
        mailed.deliver(reply_to(asked, "allow", sender), monkeypatch)
    mailed.deliver(letter("allow"), monkeypatch)
    mailed.deliver(letter("allow\nlumen-" + "x" * 32), monkeypatch)
    assert decision(mailed, request) is None
    assert [line.outcome for line in mailed.lines()] == ["refused"] * 4 + ["received", "refused"]
    assert mailed.lines()[0].why.startswith("spoofed")
    assert mailed.lines()[-1].why.startswith("forged")
    mailed.deliver(reply_to(asked, "allow", f"Ana Example <{ANA.upper()}>"), monkeypatch)
    assert decision(mailed, request).allowed


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
async def test_an_automatic_reply_with_the_token_in_it_answers_nothing(mailed, monkeypatch) -> None:
    mailed.settings()
    request = call(mailed)
    asked = await sent(mailed, request)
    for headers in ({"Auto_Submitted": "auto-replied"}, {"Precedence": "bulk"}, {"Return_Path": "<>"}):
        mailed.deliver(reply_to(asked, "allow", **headers), monkeypatch)
    assert decision(mailed, request) is None
    assert [line.outcome for line in mailed.lines()] == ["automatic"] * 3


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
async def test_a_call_with_a_masked_secret_can_be_denied_and_nothing_else(mailed, monkeypatch) -> None:
    mailed.settings()
    request = call(mailed, hash="of the real one")
    asked = await sent(mailed, request)
    assert f"approvals show {request.id}" in mailed.post.text()
    mailed.deliver(reply_to(asked, "allow"), monkeypatch)
    assert decision(mailed, request) is None
    mailed.deliver(reply_to(asked, "deny"), monkeypatch)
    assert not decision(mailed, request).allowed


async def test_all_that_is_told_of_one_item_is_one_thread_and_a_second_try_the_same_message(mailed) -> None:
    mailed.settings()
    request = call(mailed)
    mailed.post.refuse = "451 try again later"
    await mailed.beat()
    await mailed.until(lambda: mailed.receipts("failed"))
    mailed.post.refuse = ""
    await mailed.beat(retry_pause(1) + 1)
    first = await sent(mailed, request)
    await mailed.beat(3600)
    second = await sent(mailed, request, 2)
    assert first["Message-ID"] == f"<{mailed.receipts('failed')[0].transition}@example.org>"
    assert first["Message-ID"] != second["Message-ID"]
    assert first["References"] == second["References"] == second["In-Reply-To"]


async def test_what_the_server_refuses_for_good_is_not_sent_again(mailed) -> None:
    mailed.settings()
    call(mailed)
    mailed.post.refuse = "554 no"
    await mailed.beat()
    await mailed.until(lambda: mailed.receipts("refused"))
    assert mailed.receipts("refused")[0].problem == "the mail server refused it (SMTP 554)"


@pytest.mark.parametrize("mailed", ["certificate"], indirect=True)
async def test_a_wrong_certificate_is_refused_by_name(mailed) -> None:
    mailed.settings("smtps")
    call(mailed)
    await mailed.beat()
    await mailed.until(lambda: mailed.receipts("failed"))
    assert "its certificate is refused: self-signed certificate" in mailed.receipts("failed")[0].problem
    assert mailed.post.letters == []


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
async def test_no_token_of_a_mail_is_left_in_the_state_folder(mailed, monkeypatch) -> None:
    mailed.settings()
    asked = await sent(mailed, call(mailed))
    token = mailed.post.text().split()[-1]
    mailed.deliver(reply_to(asked, "maybe"), monkeypatch)
    mailed.deliver(reply_to(asked, "allow", "eve@example.org"), monkeypatch)
    mailed.deliver(reply_to(asked, "allow"), monkeypatch)
    assert mailed.lines()[-1].outcome == "answered"
    everything = b"".join(path.read_bytes() for path in mailed.world.root.rglob("*") if path.is_file())
    assert token.startswith("lumen-")
    assert token.encode() not in everything
