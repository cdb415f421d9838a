"""What a worker on a host asks of its engine: each call is booked once at home, whatever dies between."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from functools import partial
from pathlib import Path

import msgspec
import pytest
from lumen_kills import killed_before, state_calls
from lumen_until import until

from lumen_tui.hosts.ask_handler import AskHandler
from lumen_tui.model import asks
from lumen_tui.model.asks import Ask, AskAnswer, AskRefused, HoldAsk, HoldReply, NewsAsk, PaidNote, SentNote, SpentNote
from lumen_tui.model.spendbook import Book
from lumen_tui.model.tasks import Exit, Run, Usage
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.tasks.task_records import read_json

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
STEPS = [("list_dir", {"path": path}) for path in ("/", "/bin", "/etc")]
NOW = 1_800_000_000.0


def booked(layout: Layout) -> Book:
    return Ledger(layout).refresh()


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def settings(home, text: str) -> None:
    home.layout.config.write_text(text)


async def begun(home, host, task_id: str, attempt: int = 1):
    task = await host.begin(home.order(task_id, attempt))
    task.launch(KEYS)
    return task


async def test_each_call_of_a_worker_on_a_host_is_booked_at_home_and_nowhere_else(home, host, server):
    server.script = [*STEPS, "The answer."]
    task = await begun(home, host, task_id := home.task("anything"))
    until(lambda: not home.tend(task))
    book = booked(home.layout)
    assert book.tasks[task_id].calls == 4 and book.tasks[task_id].tokens == 4 * 120
    assert not book.open and not book.lost
    assert not Layout(task.folder.parent.parent).spend.exists()
    record = read_json(home.layout.task(task_id) / "exit.json", Exit)
    assert record is not None and (record.status, record.usage.tokens) == ("done", 480)


async def test_a_worker_without_word_from_its_engine_makes_no_call(home, host, server):
    server.script = ["The answer."]
    task = await begun(home, host, task_id := home.task("anything"))
    until(lambda: b'"hold"' in content(task.folder / asks.ASKS))
    assert task.state().alive and server.asked == []
    until(lambda: not home.tend(task))
    assert len(server.asked) == 1 and booked(home.layout).tasks[task_id].calls == 1


async def test_a_cap_at_home_holds_on_the_host_and_a_raised_one_lets_it_go_on(home, host, server):
    server.script = ["The answer."]
    settings(home, "[budget]\nday_tokens = 10\nday_usd = 0\n")
    task = await begun(home, host, home.task("anything"))
    events = home.layout.task(task.task_id) / "events.jsonl"
    until(lambda: home.tend(task) and task.task_id in booked(home.layout).waits)
    assert server.asked == [] and b'"waiting"' in content(events)
    settings(home, "[budget]\nday_tokens = 0\nday_usd = 0\n")
    until(lambda: not home.tend(task))
    assert len(server.asked) == 1 and b"goes on after" in events.read_bytes()


async def test_the_budget_of_a_task_is_that_of_its_spec_at_home(home, host, server):
    server.script = [*STEPS, "The answer."]
    task_id = home.task("anything")
    path = home.layout.task(task_id) / "spec.json"
    task = await host.begin(home.order(task_id))
    spec = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(spec | {"budget": {"tokens": 10, "usd": 0.0, "seconds": 0.0}}))
    task.launch(KEYS)
    until(lambda: not home.tend(task))
    record = read_json(home.layout.task(task_id) / "exit.json", Exit)
    assert record is not None and record.status == "failed" and record.cap == "task"
    assert "the task's budget has no room" in record.reason and server.asked == []


async def test_a_call_that_a_killed_worker_had_sent_stays_set_aside(home, host, server):
    server.script = [30.0]
    task = await begun(home, host, home.task("anything"))
    until(lambda: home.tend(task) and len(server.asked) == 1)
    run = read_json(task.folder / "run.json", Run)
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: not home.tend(task))
    (hold,) = booked(home.layout).open
    home.handler(task.task_id).close()
    assert list(booked(home.layout).open) == [hold]


class Written:
    """A task at home with what a host sent as its asks."""

    def __init__(self, home, *what: object, attempt: int = 1) -> None:
        self.home, self.id = home, home.task("anything")
        self.layout: Layout = home.layout
        self.folder = home.layout.task(self.id)
        self.journal = Journal(self.folder / asks.ASKS)
        for number, question in enumerate(what, 1):
            self.journal.append(Ask(number, attempt, question))

    def handler(self, attempt: int = 1, layout: Layout | None = None) -> AskHandler:
        return AskHandler(layout or self.layout, self.home.spec(self.id), attempt, lambda: NOW)

    def replies(self, layout: Layout | None = None) -> dict[int, object]:
        path = (layout or self.layout).task(self.id) / asks.ANSWERS
        return {answer.number: answer.reply for answer in Journal(path).records(AskAnswer)}


HOLD = HoldAsk(Usage(1000, 200, 0.01), "a-model", tells=True)


def test_a_hold_whose_request_never_left_is_let_go_once_its_worker_has_gone(home):
    task = Written(home, HOLD)
    handler = task.handler()
    assert handler.serve() == 1 and len(booked(home.layout).open) == 1
    handler.close()
    book = booked(home.layout)
    assert not book.open and book.tasks[task.id].tokens == 0


TALK = (HOLD, SentNote(1), PaidNote(Usage(900, 100, 0.005), 1), HOLD, SentNote(4), PaidNote(Usage(1, 1, 0.001), 4))
TALK += (SpentNote(Usage(10, 10, 0.002), "a-model"), HOLD)


@pytest.mark.long
def test_the_engines_side_killed_before_any_of_its_writes_books_each_call_once(home, tmp_path, sampled):
    task = Written(home, *TALK)

    def serve(root: Path) -> None:
        AskHandler(Layout(root), home.spec(task.id), 1, lambda: NOW).serve()

    def copy(name: str) -> Path:
        shutil.copytree(home.layout.root, tmp_path / name)
        return tmp_path / name

    calls = state_calls(copy("whole"), partial(serve, tmp_path / "whole"))
    whole = booked(Layout(tmp_path / "whole"))
    assert whole.tasks[task.id].calls == 3 and len(whole.open) == 1
    for point in sampled(list(range(len(calls))), 12):
        root = copy(f"at-{point}")
        assert killed_before(point, root, partial(serve, root))
        serve(root)
        book = booked(Layout(root))
        assert book.tasks == whole.tasks and book.open.keys() == whole.open.keys()
        assert task.replies(Layout(root)) == task.replies(Layout(tmp_path / "whole"))


def test_a_hold_of_a_link_that_died_is_told_again_and_its_price_replaces_the_loss(home):
    task = Written(home, HOLD)
    child = os.fork()
    if not child:
        task.handler().serve()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(Ledger(home.layout).give_up_dead(NOW)) == 1
    task.journal.append(Ask(2, 1, SentNote(1)))
    task.journal.append(Ask(3, 1, PaidNote(Usage(900, 100, 0.005), 1)))
    task.handler().serve()
    book = booked(home.layout)
    assert not book.lost and not book.open
    assert book.tasks[task.id].tokens == 1000 and book.tasks[task.id].calls == 1


def test_a_host_pays_for_no_call_of_another_task(home):
    mine = Written(home, HOLD)
    mine.handler().serve()
    (theirs,) = booked(home.layout).open
    thief = Written(home, PaidNote(Usage(0, 0), key=theirs), PaidNote(Usage(0, 0), 7), SentNote(7))
    thief.handler().serve()
    assert all(isinstance(reply, AskRefused) for reply in thief.replies().values())
    assert list(booked(home.layout).open) == [theirs]


def test_an_attempt_that_is_over_gets_no_room_and_what_it_paid_is_still_booked(home):
    task = Written(home, HOLD)
    task.handler().serve()
    for number, what in enumerate((SentNote(1), PaidNote(Usage(900, 100, 0.005), 1), HOLD, NewsAsk()), 2):
        task.journal.append(Ask(number, 1, what))
    task.handler(attempt=2).serve()
    replies = task.replies()
    assert replies[4] == replies[5] == AskRefused("attempt 1 is over")
    assert booked(home.layout).tasks[task.id].calls == 1 and not booked(home.layout).open


def test_an_ask_that_cannot_be_read_is_refused_by_its_number_and_spoils_no_other(home):
    task = Written(home, HOLD)
    with open(task.folder / asks.ASKS, "ab") as file:
        file.write(b'\xff\xfe{"number":\n{"number":2,"attempt":1,"what":{"type":"format"}}\n')
    task.journal.append(Ask(3, 1, SentNote(1)))
    task.handler().serve()
    replies = task.replies()
    assert isinstance(replies[1], HoldReply) and "another version" in replies[2].reason and 3 in replies


async def test_a_worker_that_waits_for_its_engine_ends_when_it_is_told_to(home, host, server):
    task = await begun(home, host, home.task("anything"))
    until(lambda: content(task.folder / asks.ASKS))
    await asyncio.wait_for(task.end("the test is over"), 30)
    assert read_json(task.folder / "exit.json", Exit).status == "cancelled" and server.asked == []
