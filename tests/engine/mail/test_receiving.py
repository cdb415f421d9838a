"""Mail from anybody is data: kept, bounded, told once to the agent, never run, whatever it holds, also after a kill."""

from __future__ import annotations

import json
import os
import resource
import time
from email.message import EmailMessage

import pytest
from lumen_kills import killed_before, state_calls
from lumen_smtp import AGENT, letter

from lumen_tui.__main__ import main
from lumen_tui.engine.mail import receiving
from lumen_tui.engine.mail.parsing import parse
from lumen_tui.model.records import Signal
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config


def signals(inbox) -> list[Signal]:
    return list(Journal(inbox.world.layout.signals).records(Signal))


def kept(inbox) -> dict[str, bytes]:
    root = inbox.world.layout.mail_kept
    return {path.name: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.threat("S3", "orders in files, results, signals, relays, mail and chat are data")
def test_a_message_becomes_one_signal_that_is_no_order(inbox, monkeypatch) -> None:
    message = letter("Could you look at the build?\x1b[2J\n", "bo@example.org", "The build\u202e")
    assert inbox.deliver(message, monkeypatch) == 0
    assert inbox.deliver(message, monkeypatch) == 0
    (signal,) = signals(inbox)
    assert (signal.sender, signal.target_agent, signal.order) == ("mail", "lumen", False)
    assert "from bo@example.org: The build" in signal.message
    assert "Could you look at the build?␛[2J" in signal.message
    assert [line.outcome for line in inbox.lines()] == ["received"]


@pytest.mark.threat("S5", "names from a skill, a message and a change list that lead out")
def test_attachments_are_kept_under_plain_names_and_cannot_be_run(inbox, monkeypatch) -> None:
    message = letter("See the files", "bo@example.org")
    for name in ("../../../.bashrc", "report.pdf", "a\x00b.sh", "CON:..\\..\\x.exe", ".ssh", "x" * 300):
        message.add_attachment(b"#!/bin/sh\n", maintype="application", subtype="octet-stream", filename=name)
    assert inbox.deliver(message, monkeypatch) == 0
    (line,) = inbox.lines()
    assert len(line.attachments) == 6
    assert all(name[:2].isdigit() and "/" not in name and ".." not in name for name in line.attachments)
    assert line.attachments[1] == "02-report.pdf"
    folder = inbox.world.layout.mail_kept / line.id
    assert set(line.attachments) <= set(os.listdir(folder))
    assert not any(path.stat().st_mode & 0o111 for path in folder.iterdir())


def nested(depth: int) -> bytes:
    head = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (number, number) for number in range(depth)
    )
    return b"From: bo@example.org\r\n" + head + b"Content-Type: text/plain\r\n\r\nhi\r\n"


BOMBS = {
    "its parts are nested too deep": nested(60),
    "it has too many parts": nested(3000),
    "its headers are too long": b"X-Long: " + b"a" * 2_000_000 + b"\r\n\r\nhi\r\n",
}


@pytest.mark.parametrize("why", BOMBS)
def test_a_bomb_is_refused_by_name_and_nobody_is_told(inbox, monkeypatch, why: str) -> None:
    assert inbox.deliver(BOMBS[why], monkeypatch) == 0
    assert [(line.outcome, line.why) for line in inbox.lines()] == [("refused", why)]
    assert signals(inbox) == []


_HEAD = b"From: bo@example.org\nSubject: hi\n"
SLOW = {
    "parameters": _HEAD
    + b"Content-Disposition: attachment; "
    + b"; ".join(b"filename*%d*=%%41" % i for i in range(12_000)),
    "quotes": _HEAD + b'Content-Type: text/plain; charset="' + b'\\"' * 120_000,
    "folds": _HEAD + b"X: a" + b"\n a" * 80_000,
    "quoted-printable": _HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=41" * 1_000_000,
    "empty lines": _HEAD + b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\n' + b"\n" * 3_000_000,
    "open tags": _HEAD + b"Content-Type: text/html\n\n" + b"<div>" * 200_000,
    "references": _HEAD + b"References: " + b"<a@b> " * 40_000,
}


@pytest.mark.parametrize("kind", SLOW)
def test_what_is_made_to_be_slow_is_taken_apart_in_seconds_of_the_processor(kind: str) -> None:
    begun = time.thread_time()
    parse(SLOW[kind] + b"\n\nhi\n")
    assert time.thread_time() - begun < 10


def test_a_message_of_a_hundred_megabytes_is_refused_and_not_held(inbox, monkeypatch) -> None:
    class Endless:
        left = 100_000_000

        def read(self, size: int) -> bytes:
            piece = b"x" * min(size, self.left)
            self.left -= len(piece)
            return piece

    class Stdin:
        buffer = Endless()

    monkeypatch.setattr("sys.stdin", Stdin())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["--state", str(inbox.world.root), "mail", "deliver"]) == 65
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB
    (line,) = inbox.lines()
    assert (line.outcome, line.size, line.why) == ("refused", 100_000_000, "it has more than 10 MB")
    assert list(inbox.world.layout.mail_new.iterdir()) == []


RUBBISH = {
    "nothing": b"",
    "noise": bytes(range(256)) * 100,
    "no such charset": b"From: bo@x.org\nSubject: =?punycode?b?AAAA?=\nContent-Type: text/plain; charset=zip\n\n\xff",
    "wrong base64": b"From: bo@x.org\nContent-Transfer-Encoding: base64\n\n====\x00!",
    "two senders": b"From: bo@x.org\nFrom: ana@example.org\n\nhi",
    "a page": b"From: bo@x.org\nContent-Type: text/html\n\n<p>Hello <script>alert(1)</script><b>you</b>",
    "open parts": b'From: bo@x.org\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n--b\n--b\n',
}


@pytest.mark.parametrize("kind", RUBBISH)
def test_rubbish_is_kept_and_told_as_well_as_it_can_be_read(inbox, monkeypatch, kind: str) -> None:
    assert inbox.deliver(RUBBISH[kind], monkeypatch) == 0
    assert [line.outcome for line in inbox.lines()] == ["received"]
    assert len(signals(inbox)) == 1


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
def test_mail_of_the_agent_itself_and_beyond_the_rate_tells_nobody(inbox, monkeypatch) -> None:
    inbox.settings(more="per_hour = 3\n")
    inbox.deliver(letter("loop", AGENT), monkeypatch)
    for number in range(5):
        inbox.deliver(letter(f"number {number}", "bo@example.org"), monkeypatch)
    outcomes = [line.outcome for line in inbox.lines()]
    assert outcomes == ["automatic", "received", "received", "received", "held", "held"]
    assert len(signals(inbox)) == 3


@pytest.mark.threat("S7", "secrets in the words of every verb, in an engine's copies and in imports")
@pytest.mark.parametrize("encoding", ["7bit", "base64"])
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_a_secret_in_a_message_is_kept_in_its_attachment_alone(inbox, monkeypatch, kind: str, encoding: str) -> None:
    key = "gh" + "p_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = f'"{key}" <bo@example.org>', AGENT, f"Take {key}"
    message.set_content(f"{'x ' * 985}the key is {key}\n", subtype=kind, cte=encoding)
    message.add_attachment(key.encode(), maintype="application", subtype="octet-stream", filename=f"{key}.txt")
    assert inbox.deliver(message, monkeypatch) == 0
    kept_text = kept(inbox)
    assert set(kept_text) == {"text.txt", "01-masked-github-pat-.txt"}
    assert "the key is [masked: github-pat]" in kept_text["text.txt"].decode()
    files = {
        path.name for path in inbox.world.root.rglob("*") if path.is_file() and key[:12].encode() in path.read_bytes()
    }
    assert files == {"01-masked-github-pat-.txt"}
    assert "[masked: github-pat" in signals(inbox)[0].message


@pytest.mark.threat("S10", "floods of signals, requests, messages and calls")
def test_beyond_the_bytes_of_a_day_the_mail_server_is_asked_to_try_again(inbox, monkeypatch) -> None:
    inbox.settings(more="day_mb = 0.001\n")
    assert inbox.deliver(letter("x" * 70 + "\n" + "y" * 900, "bo@example.org"), monkeypatch) == 0
    assert inbox.deliver(letter("tomorrow", "bo@example.org"), monkeypatch) == 75
    assert len(signals(inbox)) == 1
    assert list(inbox.world.layout.mail_new.iterdir()) == []


@pytest.mark.fault("R5", "a full disk (a tmpfs of a few pages, a bound on the size of files)")
def test_a_disk_that_takes_nothing_asks_the_mail_server_to_try_again(inbox, monkeypatch) -> None:
    inbox.world.layout.mail_log.mkdir()
    assert inbox.deliver(letter("hi", "bo@example.org"), monkeypatch) == 75
    inbox.world.layout.mail_log.rmdir()
    assert inbox.deliver(letter("hi", "bo@example.org"), monkeypatch) == 0
    assert len(signals(inbox)) == 1


def test_list_and_show_name_what_came_and_its_files(inbox, monkeypatch, capsys) -> None:
    message = letter("The text", "bo@example.org", "About this")
    message.add_attachment(b"1", maintype="text", subtype="csv", filename="a.csv")
    inbox.deliver(message, monkeypatch)
    (line,) = inbox.lines()
    capsys.readouterr()
    assert main(["--state", str(inbox.world.root), "mail", "log"]) == 0
    assert "bo@example.org  About this  received" in capsys.readouterr().out
    assert main(["--state", str(inbox.world.root), "mail", "show", line.id[:9], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["text"], shown["mail"]["attachments"]) == ("The text\n", ["01-a.csv"])
    assert main(["--state", str(inbox.world.root), "mail", "show", "eml-0000000000000"]) == 3


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
async def test_a_kill_before_any_write_loses_nothing_and_tells_nothing_twice(inbox, tmp_path) -> None:
    """Each point at which `mail deliver` can be killed: the mail server tries again, or the engine finds it."""
    store, config = inbox.world.store, load_config(inbox.world.layout)[0]

    def act(number: int) -> None:
        raw = letter(f"number {number}", "bo@example.org").as_bytes()
        receiving.deal_with(store, receiving.spool(store, raw), config, "ana", inbox.world.now)

    act(0)
    calls = len(state_calls(inbox.world.root, lambda: act(1)))
    assert calls > 5
    killed = 0
    for call in range(calls):
        number = call + 2
        killed += killed_before(call, inbox.world.root, lambda number=number: act(number))
        spooled = list(inbox.world.layout.mail_new.glob("eml-*.eml"))
        for path in spooled:
            os.utime(path, (0, 0))
        if call % 2 or not spooled:
            act(number)  # the mail server was told nothing, and tries again
        else:
            await inbox.beat()
            await inbox.until(lambda: not list(inbox.world.layout.mail_new.glob("eml-*.eml")))
    assert killed == calls
    words = [line for signal in signals(inbox) for line in signal.message.splitlines() if line.startswith("number ")]
    assert sorted(words, key=lambda word: int(word.split()[1])) == [f"number {number}" for number in range(calls + 2)]
    assert len(inbox.lines()) == calls + 2
