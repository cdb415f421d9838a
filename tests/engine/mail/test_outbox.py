"""A message that was allowed is queued once and sent, at whatever point an engine is killed."""

from __future__ import annotations

import pytest
from lumen_kills import killed_before, state_calls
from lumen_smtp import Post

from lumen_tui.__main__ import main
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.mail.outbox import MailOutbox
from lumen_tui.engine.monitors import ApprovalMonitor
from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, Decision, call_hash
from lumen_tui.model.mail import QUEUED, SENT
from lumen_tui.store import approvals
from lumen_tui.store.settings.config import load_config
from tests.engine.mail.conftest import Mailed, sweep

TOOL = "send_mail"


def allowed(mailed: Mailed, number: int) -> Approval:
    """A message that a person has allowed and nobody has queued yet."""
    world = mailed.world
    arguments: dict[str, object] = {"to": "bo@example.org", "subject": f"Number {number}", "text": "Hi", "reply_to": ""}
    request = Approval(
        id=approvals.id_for("loop-000001", f"call {number}", 0),
        task_id="loop-000001",
        tool=TOOL,
        hash=call_hash(TOOL, arguments),
        arguments=arguments,
        asked_at=times.iso(world.now),
        expires_at=times.iso(world.now + 3600),
        role="main",
        lasting=True,
    )
    approvals.ask(world.layout, request)
    answer = Decision(allowed=True, hash=request.hash, at=times.iso(world.now), by="ana")
    approvals.decide(world.layout, request, answer, world.now)
    return request


def settle_and_send(mailed: Mailed) -> None:
    """What an engine does with it, in the thread that calls."""
    world = mailed.world
    ApprovalMonitor(world.layout, EventLog(world.store, ()), lambda task: None).check_all(world.now)
    MailOutbox(world.layout, world.clock, lambda note: None)._send_due(load_config(world.layout)[0])


def outcomes(mailed: Mailed, outcome: str) -> list[str]:
    return [line.subject for line in mailed.lines() if line.outcome == outcome]


def subjects(post: Post) -> dict[str, set[str]]:
    """The Message-IDs under which each subject came."""
    came: dict[str, set[str]] = {}
    for letter in post.letters:
        came.setdefault(letter["Subject"], set()).add(letter["Message-ID"])
    return came


@pytest.mark.fault("R1", "SIGKILL before each write of mail, schedules and what hosts send")
def test_a_kill_before_any_write_loses_nothing_queues_nothing_twice_and_keeps_the_message_id(mailed) -> None:
    mailed.settings()
    allowed(mailed, 0)
    settle_and_send(mailed)
    allowed(mailed, 1)
    calls = len(state_calls(mailed.world.root, lambda: settle_and_send(mailed)))
    assert calls > 10
    killed = 0
    for call in range(calls):
        allowed(mailed, call + 2)
        killed += killed_before(call, mailed.world.root, lambda: settle_and_send(mailed))
        sweep(mailed)
        settle_and_send(mailed)
    assert killed == calls
    wanted = [f"Number {number}" for number in range(calls + 2)]
    assert outcomes(mailed, QUEUED) == wanted
    assert sorted(outcomes(mailed, SENT)) == sorted(wanted)
    assert {subject: len(ids) for subject, ids in subjects(mailed.post).items()} == dict.fromkeys(wanted, 1)
    assert len(mailed.post.letters) <= len(wanted) + 1  # one kill is between the server's yes and its line
    assert list(mailed.world.layout.mail_out.iterdir()) == []


def test_status_log_and_show_tell_how_what_is_sent_goes(mailed, capsys) -> None:
    mailed.settings()
    mailed.post.refuse = "451 later"
    allowed(mailed, 0)
    settle_and_send(mailed)
    assert main(["--state", str(mailed.world.root), "mail"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 20 went out" in shown
    assert "bo@example.org  the mail server refused it (SMTP 451)" in shown
    (name,) = {line.id for line in mailed.lines()}
    assert main(["--state", str(mailed.world.root), "mail", "show", name]) == 0
    shown = capsys.readouterr().out
    assert "failed: the mail server refused it (SMTP 451)" in shown
    assert shown.endswith("\nHi\n")


def test_an_answer_for_another_message_sends_nothing(mailed) -> None:
    mailed.settings()
    request = allowed(mailed, 0)
    path = mailed.world.layout.approval(request.id)
    path.write_bytes(path.read_bytes().replace(b"bo@example.org", b"eve@example.org"))
    settle_and_send(mailed)
    assert mailed.post.letters == []
    assert outcomes(mailed, QUEUED) == []
