"""Answers from a phone: bound to the whole call, once, refused by name, resumed after a kill, no token at rest."""

from __future__ import annotations

import threading

import pytest
from lumen_ntfy import Ntfy, ntfy
from lumen_until import until
from msgspec.structs import replace

from lumen_tui.__main__ import main
from lumen_tui.engine.answering import Answers
from lumen_tui.engine.mouths.following import AnswerFollower
from lumen_tui.model import times
from lumen_tui.model.answers import AnswerLine, Refusal, Verdict
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.model.notify_config import NtfyConfig
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals

COMMAND = "git push --force origin main"
CHOICES = [("Allow once", Verdict.ALLOW, ""), ("Deny", Verdict.DENY, "")]


def call(world, command: str = COMMAND, minutes: float = 60, **more: object) -> Approval:
    """A call that waits without a task."""
    arguments: dict[str, object] = {"command": command}
    request = Approval(
        id=approvals.id_for("loop-000001", command, 1),
        task_id="loop-000001",
        tool="shell",
        hash=call_hash("shell", arguments),
        arguments=arguments,
        asked_at=times.iso(world.now),
        expires_at=times.iso(world.now + minutes * 60),
        summary=f"run {command[:30]}",
        risk="high",
        role="builder",
        lasting=True,
    )
    return approvals.ask(world.layout, replace(request, **more))


def settings(told, phone: Ntfy, **more: str) -> None:
    lines = {"server": phone.address, "topic": "lumen-a-long-and-random-name", "answers": "lumen-answers", **more}
    told.settings('[notify]\noperator = "ana"\n[notify.ntfy]\n' + "".join(f'{k} = "{v}"\n' for k, v in lines.items()))


def journal(world) -> list[AnswerLine]:
    return list(Journal(world.layout.answers).records(AnswerLine))


def outcomes(world) -> list[str]:
    return [f"{line.kind} {line.why.partition(':')[0]}".strip() for line in journal(world) if line.kind != "offered"]


async def asked(told, phone: Ntfy) -> list[dict]:
    """The buttons of the newest message."""
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    return phone.messages("lumen-a-long-and-random-name")[-1]["actions"]


def press(phone: Ntfy, button: dict) -> None:
    assert button["url"].startswith(phone.address)
    phone.publish(button["url"].rpartition("/")[2], button["body"])


def decision(world, request: Approval) -> Decision | None:
    return approvals.decision(world.layout, request.id)


async def test_a_button_allows_the_call_that_was_shown_in_the_name_of_the_operator(told, phone, capsys) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, deny = await asked(told, phone)
    event = phone.messages("lumen-a-long-and-random-name")[-1]
    assert COMMAND in event["message"]
    assert (allow["label"], deny["label"]) == ("Allow once", "Deny")
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    answer = decision(told.world, request)
    assert (answer.allowed, answer.by, answer.via, answer.hash) == (True, "ana", "ntfy", request.hash)
    press(phone, allow)
    press(phone, deny)
    await told.until(lambda: len(outcomes(told.world)) == 5)
    assert outcomes(told.world) == ["taken", "done", "refused replayed", "taken", "refused late"]
    assert main(["--state", str(told.world.root), "approvals", "show", request.id]) == 0
    assert "allowed by ana via ntfy" in capsys.readouterr().out
    assert main(["--state", str(told.world.root), "why", request.id]) == 0
    assert "ana via ntfy" in capsys.readouterr().out
    await told.beat(1)
    assert main(["--state", str(told.world.root), "notifications"]) == 0
    assert "answered by ana via ntfy" in capsys.readouterr().out


async def test_an_option_of_a_question_is_answered_as_an_order(told, phone) -> None:
    settings(told, phone)
    request = call(
        told.world, tool="ask_operator", question="Which port?", options=("8080", "9090"), default="8080", hash="h"
    )
    first, second = await asked(told, phone)
    assert (first["label"], second["label"]) == ("8080", "9090")
    press(phone, second)
    await told.until(lambda: decision(told.world, request))
    answer = decision(told.world, request)
    assert (answer.answer, answer.order, answer.via) == ("9090", True, "ntfy")


@pytest.mark.parametrize(
    ("command", "more"),
    [("echo " + "x" * 4000, {}), ("curl -H 'token: [masked: github]' example.org", {"hash": "of the real one"})],
)
async def test_a_call_that_cannot_be_shown_whole_can_be_denied_and_nothing_else(told, phone, command, more) -> None:
    settings(told, phone)
    request = call(told.world, command, **more)
    (button,) = await asked(told, phone)
    assert button["label"] == "Deny"
    assert f"approvals show {request.id}" in phone.messages("lumen-a-long-and-random-name")[-1]["message"]
    press(phone, button)
    await told.until(lambda: decision(told.world, request))
    assert not decision(told.world, request).allowed


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
async def test_forged_answers_are_refused_and_a_flood_of_them_fills_no_journal(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    for number in range(200):
        phone.publish("lumen-answers", f"lumen-guess-{number}\x1b[2J")
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    refused = [line for line in journal(told.world) if line.kind == "refused"]
    assert len(refused) == 60
    assert not any("guess" in line.why or line.digest for line in refused)
    assert decision(told.world, request).allowed


async def test_a_message_too_long_for_a_line_keeps_no_answer_out(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    for size in (200_000, 80_000, 1_000_000):
        phone.publish("lumen-answers", "look", title="y" * size)
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    assert outcomes(told.world) == ["taken", "done"]


@pytest.mark.parametrize(
    "rubbish",
    [
        {"message": 7},
        {"message": None},
        {"message": ["lumen-x"]},
        {"message": "\ud800 lumen"},
        {"id": "../../x"},
        {"id": ["m"]},
        {"event": {"a": 1}},
        {"extra": {"a": [[[{}]]]}},
        {"message": "\0" * 4000},
    ],
    ids=["number", "null", "list", "half a letter", "path", "ids", "object", "nested", "zeros"],
)
async def test_a_line_that_is_no_message_of_ntfy_keeps_no_answer_out(told, phone, rubbish) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    phone.publish("lumen-answers", **{"message": "x", **rubbish})
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    assert decision(told.world, request).allowed


async def test_without_its_journal_no_token_counts(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    told.world.layout.answers.unlink()
    press(phone, allow)
    await told.until(lambda: outcomes(told.world))
    assert outcomes(told.world) == ["refused forged"]
    assert decision(told.world, request) is None


async def test_an_answer_on_the_topic_of_the_messages_is_none(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, deny = await asked(told, phone)
    phone.publish("lumen-a-long-and-random-name", allow["body"])
    press(phone, deny)
    await told.until(lambda: decision(told.world, request))
    assert not decision(told.world, request).allowed


@pytest.mark.threat("S11", "forged approvals: another call, another hash, too late, twice, by another hand")
async def test_an_answer_after_the_call_changed_is_refused(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    path = told.world.layout.approval(request.id)
    path.write_text(path.read_text().replace("origin main", "origin prod"))
    press(phone, allow)
    await told.until(lambda: outcomes(told.world))
    assert outcomes(told.world) == ["refused changed"]
    assert decision(told.world, request) is None


async def test_an_answer_that_comes_too_late_is_refused(told, phone) -> None:
    settings(told, phone)
    request = call(told.world, minutes=60)
    allow, _ = await asked(told, phone)
    told.world.clock.pass_time(3601)
    press(phone, allow)
    await told.until(lambda: outcomes(told.world))
    assert outcomes(told.world) == ["refused expired"]
    assert not (decision(told.world, request) or Decision(False, "", "", "")).allowed


async def test_what_came_while_no_engine_ran_is_answered_once_by_the_next_one(told, phone) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    told.world._engine.mouths.close()
    told.world.crash()
    press(phone, allow)
    press(phone, allow)
    await told.beat()
    await told.until(lambda: len(outcomes(told.world)) == 3)
    assert outcomes(told.world) == ["taken", "done", "refused replayed"]
    assert decision(told.world, request).allowed


async def test_a_server_that_goes_away_is_found_again_and_repeats_are_not_answered_twice(told, phone) -> None:
    settings(told, phone)
    call(told.world)
    allow, deny = await asked(told, phone)
    press(phone, deny)
    await told.until(lambda: outcomes(told.world) == ["taken", "done"])
    phone.cut()
    await told.until(lambda: len(phone.listening) == 1 and phone.listening[0][1].empty())
    phone.kept[:] = [event for event in phone.kept if event["topic"] == "lumen-answers"]
    phone.kept[-1]["id"] += "x"  # the cursor is not known any more: all comes again, this one under another id
    phone.cut()
    press(phone, allow)
    await told.until(lambda: "refused late" in outcomes(told.world))
    assert outcomes(told.world).count("done") == 1


@pytest.mark.threat("S7", "keys of workers: environment, zygote, log, events, transcript, orders to hosts")
async def test_no_token_is_at_rest_anywhere(told, phone) -> None:
    settings(told, phone)
    call(told.world)
    allow, deny = await asked(told, phone)
    press(phone, allow)
    await told.until(lambda: "done" in outcomes(told.world))
    press(phone, allow)
    await told.until(lambda: "refused replayed" in outcomes(told.world))
    await told.beat(1)
    everything = b"".join(path.read_bytes() for path in told.world.root.rglob("*") if path.is_file())
    for button in (allow, deny):
        assert button["body"].encode() not in everything


async def test_a_topic_that_can_be_guessed_takes_no_answers_and_says_so(told, phone) -> None:
    settings(told, phone, topic="lumen")
    call(told.world)
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    assert phone.messages("lumen")[0]["actions"] == []
    await told.beat(1)
    assert any("nobody guesses" in event.text for event in told.world.instead() if event.kind == "mouth")


async def test_a_protected_topic_sends_the_phone_the_token_that_only_answers(told, monkeypatch) -> None:
    monkeypatch.setenv("NTFY_TOKEN", "tk_ours")
    monkeypatch.setenv("PHONE_TOKEN", "tk_phone")
    with ntfy() as server:
        server.token = "tk_ours"
        settings(told, server, topic="lumen", token="env:NTFY_TOKEN", answer_token="env:PHONE_TOKEN")
        call(told.world)
        await told.beat()
        await told.until(lambda: told.receipts("sent"))
        (allow, _) = server.messages("lumen")[0]["actions"]
        assert allow["headers"] == {"Authorization": "Bearer tk_phone"}
        await told.until(lambda: server.listening)


def test_of_two_that_bring_one_token_at_once_one_is_carried_out(world) -> None:
    request = call(world)
    offers = Answers(world.store, "ntfy", "ana").offer(request, CHOICES, world.now)
    results: list[str] = []

    def bring(number: int) -> None:
        try:
            results.append(Answers(world.store, "ntfy", "ana").redeem(offers[0].token, f"m{number}", world.now).summary)
        except Refusal as error:
            results.append(error.name)

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results, key=len)[:-1] == ["replayed"] * 7


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_kill_between_taking_and_carrying_out_neither_loses_nor_repeats(world, carried_out: bool) -> None:
    request = call(world)
    answers = Answers(world.store, "ntfy", "ana")
    offers = answers.offer(request, CHOICES, world.now)
    answers.redeem(offers[0].token, "m1", world.now)
    lines = world.layout.answers.read_bytes().splitlines(keepends=True)
    world.layout.answers.write_bytes(b"".join(lines[:-1]))  # killed before what became of it was written
    if not carried_out:
        approvals.set_decision(world.layout, request.id, None)
    again = Answers(world.store, "ntfy", "ana")
    assert not again.heard("m1")
    again.redeem(offers[0].token, "m1", world.now)
    assert approvals.decision(world.layout, request.id).allowed
    assert [line.kind for line in journal(world)][-1] == "done"
    with pytest.raises(Refusal, match=r"^replayed"):
        again.redeem(offers[0].token, "m2", world.now)


def test_a_token_counts_for_the_way_by_which_it_was_sent(world) -> None:
    offers = Answers(world.store, "ntfy", "ana").offer(call(world), CHOICES, world.now)
    with pytest.raises(Refusal, match=r"^forged"):
        Answers(world.store, "mail", "ana").redeem(offers[0].token, "m1", world.now)


def typed_code(phone: Ntfy) -> str:
    """The code for words of one's own in the newest message."""
    return phone.messages("lumen-a-long-and-random-name")[-1]["message"].splitlines()[-1].split()[0]


def question(world, **more: object) -> Approval:
    return call(world, tool="ask_operator", question="Which port?", hash="h", **more)


async def test_words_of_ones_own_answer_a_question_once(told, phone) -> None:
    settings(told, phone)
    request = question(told.world)
    await asked(told, phone)
    code = typed_code(phone)
    phone.publish("lumen-answers", code)
    phone.publish("lumen-answers", f"{code[:-1]}! take 1")
    phone.publish("lumen-answers", f"  {code.upper()}:  neither, take 7070\nand tell ann ")
    await told.until(lambda: decision(told.world, request))
    answer = decision(told.world, request)
    assert (answer.answer, answer.by, answer.via, answer.order) == (
        "neither, take 7070\nand tell ann", "ana", "ntfy", True,
    )  # fmt: skip
    phone.publish("lumen-answers", f"{code} 8080")
    await told.until(lambda: outcomes(told.world)[-1] == "refused replayed")
    assert outcomes(told.world)[:2] == ["refused unclear", "refused forged"]
    everything = b"".join(path.read_bytes() for path in told.world.root.rglob("*") if path.is_file())
    assert code.encode() not in everything


async def test_a_typed_number_is_the_option_of_that_number_and_a_code_expires_with_its_question(told, phone) -> None:
    settings(told, phone)
    request = question(told.world, options=("8080", "9090"), default="8080")
    await asked(told, phone)
    phone.publish("lumen-answers", f"{typed_code(phone)} 2")
    await told.until(lambda: decision(told.world, request))
    assert decision(told.world, request).answer == "9090"
    late = question(told.world, id=approvals.id_for("loop-000001", "late", 2), minutes=5)
    await told.beat(1)
    await told.until(lambda: len(phone.messages("lumen-a-long-and-random-name")) == 2)
    told.world.clock.pass_time(301)
    phone.publish("lumen-answers", f"{typed_code(phone)} 1")
    await told.until(lambda: outcomes(told.world)[-1] == "refused expired")
    assert decision(told.world, late) is None


async def test_a_code_answers_no_question_that_changed_and_a_call_has_none(told, phone) -> None:
    settings(told, phone)
    request = question(told.world)
    await asked(told, phone)
    path = told.world.layout.approval(request.id)
    path.write_bytes(path.read_bytes().replace(b"Which port?", b"Delete all?"))
    phone.publish("lumen-answers", f"{typed_code(phone)} yes")
    await told.until(lambda: outcomes(told.world)[-1:] == ["refused changed"])
    call(told.world, "make test")
    await told.beat(1)
    await told.until(lambda: len(phone.messages("lumen-a-long-and-random-name")) == 2)
    assert "words of your own" not in phone.messages("lumen-a-long-and-random-name")[-1]["message"]


def test_a_topic_is_not_followed_where_the_certificate_is_wrong(world, certificate, monkeypatch) -> None:
    monkeypatch.setenv("NTFY_TOKEN", "tk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    notes: list[str] = []
    with ntfy(certificate=certificate) as server:
        config = NtfyConfig(server=server.address, topic="lumen", answers="lumen-answers", token="env:NTFY_TOKEN")
        follower = AnswerFollower(Store(world.root), world.clock, config, "ana", notes.append)
        follower.start()
        until(lambda: notes)
        follower.end()
        follower.join(30)
        assert "certificate verify failed" in notes[0]
        assert (server.requests, server.listening) == ([], [])


def events(told) -> list[str]:
    path = told.world.layout.events
    return path.read_text().splitlines() if path.exists() else []


async def test_a_used_token_that_is_published_again_and_again_fills_no_journal(told, phone: Ntfy) -> None:
    """Whoever reads the topic of the answers has the tokens that were used."""
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    for _ in range(300):
        press(phone, allow)
    other = call(told.world, "rm -rf build")
    await told.beat(1)
    await told.until(lambda: len(phone.messages("lumen-a-long-and-random-name")) == 2)
    buttons = phone.messages("lumen-a-long-and-random-name")[-1]["actions"]
    press(phone, buttons[1])
    await told.until(lambda: decision(told.world, other))
    assert not decision(told.world, other).allowed
    assert outcomes(told.world).count("refused replayed") == 60
    await told.beat(1)
    assert 60 <= sum("an answer was refused" in text for text in events(told)) < 70


async def test_what_is_no_message_of_ours_is_passed_over(told, phone: Ntfy) -> None:
    settings(told, phone)
    request = call(told.world)
    allow, _ = await asked(told, phone)
    hostile: list[dict] = [
        {"id": "../../x"}, {"id": "é" * 12}, {"id": "²²²"}, {"id": "x" * 65}, {"id": ""}, {"message": 7},
        {"message": ["a"]}, {"event": "poll_request"}, {"message": "\x00\x1b]52;c;AAAA\x07"}, {"message": "x" * 60_000},
    ]  # fmt: skip
    for fields in hostile:
        event = phone.publish("lumen-elsewhere", "text")
        with phone.turn:
            for _, waiting in phone.listening:
                waiting.put({**event, "topic": "lumen-answers", **fields})
    press(phone, allow)
    await told.until(lambda: decision(told.world, request))
    assert decision(told.world, request).allowed
    heard = {line.message for line in journal(told.world) if line.message}
    assert all(message.isascii() and message.isalnum() for message in heard)
    assert "\x1b" not in "".join(events(told))
