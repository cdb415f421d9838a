"""`notifications` and its screen show by which mouths something was told; `--test` tries each of them."""

from __future__ import annotations

import json

from lumen_tui.__main__ import main


async def test_notifications_name_the_mouths_that_told_it_and_those_that_failed(told, phone, capsys) -> None:
    told.settings(
        f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n[notify.command]\nrun = "echo no; exit 3"\n'
    )
    told.signal("look")
    await told.beat()
    await told.until(lambda: told.receipts("sent") and told.receipts("failed"))
    assert main(["--state", str(told.world.root), "notifications"]) == 0
    line = capsys.readouterr().out
    assert "ntfy" in line
    assert "command failed: the command ended with 3: no" in line
    assert main(["--state", str(told.world.root), "notifications", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert {each["mouth"]: each["outcome"] for each in shown["told"]} == {"ntfy": "sent", "command": "failed"}


async def test_the_test_message_goes_out_at_once_and_says_what_failed(told, phone, capsys) -> None:
    told.settings(
        f'[notify.ntfy]\nserver = "{phone.address}"\ntopic = "lumen"\n'
        f'[notify.webhook]\nurl = "{phone.address}/hook"\nsecret = "env:NOT_SET_HERE"\n'
    )
    assert main(["--state", str(told.world.root), "notifications", "--test"]) == 1
    shown = capsys.readouterr()
    assert "ntfy: sent" in shown.out + shown.err
    assert "webhook: notify.webhook.secret: the variable NOT_SET_HERE is not set" in shown.out + shown.err
    assert [event["title"] for event in phone.messages("lumen")] == ["lumen: a test"]
    assert told.receipts() == []
