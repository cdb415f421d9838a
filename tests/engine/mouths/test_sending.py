"""Mouths that send: once for each transition, again after a failure, never in the way of a beat, and never a secret."""

from __future__ import annotations

import base64
import hmac
import json
import os
import time

import pytest
from lumen_ntfy import ntfy

from lumen_tui.model.notifying import retry_pause


async def test_ntfy_gets_title_priority_and_tags_once_for_each_transition(told, phone) -> None:
    told.settings(f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\nclick = "ssh://box"\n')
    told.signal("the port is taken")
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    for _ in range(3):
        await told.beat(300)
    (event,) = phone.messages("lumen")
    assert (event["title"], event["message"]) == ("lumen: signal needs you", "agent-a: the port is taken")
    assert (event["priority"], event["tags"], event["click"]) == (4, ["signal"], "ssh://box")
    assert [receipt.outcome for receipt in told.receipts()] == ["sending", "sent"]


async def test_a_webhook_is_signed_and_keeps_its_id_when_it_is_sent_again(told, phone, monkeypatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", "a-long-shared-secret")
    told.settings(f'[notify.webhook]\nurl = "{phone.address}/hook?x=1"\nsecret = "env:HOOK_SECRET"\n')
    phone.refuse = 503
    told.signal("look")
    await told.beat()
    await told.until(lambda: told.receipts("failed"))
    phone.refuse = 0
    await told.beat(retry_pause(1) + 1)
    await told.until(lambda: told.receipts("sent"))
    (path, _, first), (_, body, second) = phone.requests
    assert path == "/hook?x=1"
    assert first["webhook-id"] == second["webhook-id"] == json.loads(body)["id"]
    signed = f"{second['webhook-id']}.{second['webhook-timestamp']}.{body}".encode()
    digest = base64.b64encode(hmac.digest(b"a-long-shared-secret", signed, "sha256")).decode()
    assert second["webhook-signature"] == f"v1,{digest}"
    assert json.loads(body)["items"][0]["text"] == "agent-a: look"
    assert [(each.outcome, each.tries) for each in told.receipts()] == [
        ("sending", 1), ("failed", 1), ("sending", 2), ("sent", 2),
    ]  # fmt: skip
    assert b"a-long-shared-secret" not in b"".join(
        path.read_bytes() for path in told.world.root.rglob("*") if path.is_file()
    )


async def test_tries_end_after_their_number_and_go_ever_further_apart(told, phone) -> None:
    told.settings(f'[notify]\ntries = 3\n[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    phone.refuse = 500
    told.signal("look")
    await told.beat()
    for number in (1, 2, 3):
        await told.until(lambda number=number: len(told.receipts("failed")) == number)
        await told.beat(retry_pause(number) - 2)
        assert len(phone.requests) == number
        await told.beat(3)
    await told.beat(3500)
    assert len(phone.requests) == 3
    assert told.receipts("failed")[-1].problem == "it cannot take it now (HTTP 500)"


@pytest.mark.parametrize("status", [400, 401, 413, 307])
async def test_what_a_server_refuses_for_good_is_not_sent_again(told, phone, status: int) -> None:
    told.settings(f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    phone.refuse = status
    told.signal("look")
    await told.beat()
    await told.until(lambda: told.receipts("refused"))
    await told.beat(3000)
    assert len(phone.requests) == 1


async def test_what_a_kill_cut_off_is_sent_again_under_the_same_id(told, phone) -> None:
    told.settings(f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    told.signal("look")
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    told.world._engine.mouths.close()
    told.world.crash()
    lines = told.world.layout.told.read_bytes().splitlines(keepends=True)
    told.world.layout.told.write_bytes(lines[0])  # killed after the request and before its receipt
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    first, second = phone.messages("lumen")
    assert first["sequence_id"] == second["sequence_id"]
    assert told.receipts("sent")[0].tries == 2


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
async def test_a_flood_becomes_one_digest_and_a_failed_digest_stays_one(told, phone) -> None:
    told.settings(f'[notify]\nmost = 2\n[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    phone.refuse = 503
    for number in range(4):
        told.signal(f"number {number}")
    await told.beat()
    await told.until(lambda: told.receipts("failed"))
    phone.refuse = 0
    await told.beat(retry_pause(1) + 1)
    await told.until(lambda: told.receipts("sent"))
    (event,) = phone.messages("lumen")
    assert event["title"] == "lumen: 4 need you"
    assert len({json.loads(body)["sequence_id"] for _, body, _ in phone.requests}) == 1


async def test_quiet_hours_hold_a_message_back_until_they_end(told, phone) -> None:
    begin = time.strftime("%H:%M", time.gmtime(told.world.now - 60))
    end = time.strftime("%H:%M", time.gmtime(told.world.now + 3600))
    told.settings(
        f'[notify]\nquiet = "{begin}-{end}"\nzone = "UTC"\n[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n'
    )
    told.signal("look")
    await told.beat()
    await told.beat(1800)
    assert phone.requests == []
    await told.beat(1900)
    await told.until(lambda: told.receipts("sent"))
    assert len(phone.messages("lumen")) == 1


async def test_a_wrong_certificate_is_refused_by_name_and_gets_no_token(told, certificate, monkeypatch) -> None:
    monkeypatch.setenv("NTFY_TOKEN", "tk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    with ntfy(certificate=certificate) as server:
        told.settings(f'[notify.ntfy]\nserver = "{server.address}"\ntopic = "lumen"\ntoken = "env:NTFY_TOKEN"\n')
        told.signal("look")
        await told.beat()
        await told.until(lambda: told.receipts("failed"))
        assert "certificate verify failed" in told.receipts("failed")[0].problem
        assert server.requests == []


async def test_a_secret_that_is_missing_or_that_others_may_read_is_named_and_nothing_is_sent(
    told, phone, tmp_path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("tk_something\n")
    secret.chmod(0o644)
    told.settings(
        f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\ntoken = "file:{secret}"\n'
        f'[notify.webhook]\nurl = "{phone.address}/hook"\nsecret = "env:NOT_THERE"\n'
    )
    told.signal("look")
    await told.beat()
    await told.until(lambda: len(told.receipts("failed")) == 2)
    problems = {each.mouth: each.problem for each in told.receipts("failed")}
    assert problems["ntfy"] == f"notify.ntfy.token: others may read {secret}: chmod 600 it"
    assert "the variable NOT_THERE is not set" in problems["webhook"]
    assert phone.requests == []
    secret.chmod(0o600)
    await told.beat(retry_pause(1) + 1)
    await told.until(lambda: told.receipts("sent"))
    assert phone.requests[0][2]["Authorization"] == "Bearer tk_something"


async def test_a_secret_or_plain_http_in_the_settings_is_no_setting(told) -> None:
    told.settings(
        '[notify.ntfy]\nserver = "http://example.org"\ntopic = "lumen"\ntoken = "tk_in_clear_text"\n'
        '[notify.webhook]\nurl = "https://user:word@example.org/"\n'
    )
    await told.beat()
    config = told.world.engine().config.notify
    assert (config.ntfy.server, config.ntfy.token, config.webhook.url) == ("https://ntfy.sh", "", "")
    assert b"tk_in_clear_text" not in told.world.layout.events.read_bytes()


async def test_a_command_is_told_in_variables_that_no_text_escapes_from(told, tmp_path) -> None:
    out = tmp_path / "out"
    told.settings(
        f"[notify.command]\nrun = '''printf '%s|%s|%s' \"$LUMEN_TITLE\" \"$LUMEN_BODY\" \"$LUMEN_NEED\" > {out}'''\n"
    )
    told.signal("$(touch /tmp/owned) `id` \x1b[2J'\"; rm -rf /")
    await told.beat()
    await told.until(lambda: told.receipts("sent"))
    text = out.read_text()
    assert text.startswith("lumen: signal needs you|agent-a: $(touch /tmp/owned) `id` ")
    assert text.endswith("|signal")
    assert "\x1b" not in text


async def test_a_command_that_hangs_is_ended_and_holds_up_no_beat(told, tmp_path) -> None:
    marker = tmp_path / "pid"
    told.settings(
        f"[notify.command]\nrun = \"trap '' TERM; echo $$ > {marker}; while :; do sleep 1; done\"\nseconds = 0.3\n"
    )
    told.signal("look")
    began = time.process_time()
    await told.beat()
    assert time.process_time() - began < 2
    await told.until(lambda: told.receipts("failed"))
    assert told.receipts("failed")[0].problem == "ended after 0.3 s"
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


async def test_an_engine_that_ends_sends_what_is_due_first(told, phone) -> None:
    told.settings(f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    told.signal("look")
    await told.beat()
    told.world.engine().close("done")
    assert len(phone.messages("lumen")) == 1
    assert told.receipts("sent")


async def test_that_a_mouth_fails_and_works_again_is_an_event_each(told, phone) -> None:
    told.settings(f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n')
    phone.refuse = 503
    told.signal("look")
    await told.beat()
    await told.until(lambda: told.receipts("failed"))
    await told.beat(1)
    phone.refuse = 0
    await told.beat(retry_pause(1) + 1)
    await told.until(lambda: told.receipts("sent"))
    await told.beat(1)
    texts = [event.text for event in told.world.instead() if event.kind == "mouth"]
    assert texts == ["ntfy cannot tell you: it cannot take it now (HTTP 503)", "ntfy tells you again"]
