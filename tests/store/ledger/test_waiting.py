"""A worker for whose call there is no room waits at it, and goes on when there is."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from lumen_until import until

from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Spec, Usage
from lumen_tui.providers.base import ProviderError, Reserve
from lumen_tui.storage import lease
from lumen_tui.storage.journal import Journal
from lumen_tui.store.tasks.pauses import Kill, write_kill
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import TaskTally, World


def events(purse, name, kind):
    path = purse.layout.tasks / name / "events.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


def waits(purse, name="tsk-a"):
    until(lambda: events(purse, name, "waiting"))
    return events(purse, name, "waiting")[0]


def test_it_waits_until_the_cap_is_raised_and_says_why_it_had_waited(purse):
    purse.settings("[budget]\nday_tokens = 500\nday_usd = 0\n")
    child = purse.race("tsk-a", 1, 12)
    said = waits(purse)
    assert said["text"].startswith("today's budget has no room for a call of up to")
    assert said["data"] == {"budget": True}
    assert child.poll() is None
    purse.do("budget.raise", now=time.time(), tokens=100_000, reason="the report is due")
    out, _ = child.communicate(timeout=10)
    assert out.count("settled") == 12
    assert "goes on after" in events(purse, "tsk-a", "note")[0]["text"]
    assert "had waited because today's budget has no room" in events(purse, "tsk-a", "note")[0]["text"]
    assert purse.ledger.book.waited["tsk-a"] > 0


def test_a_cap_in_the_settings_counts_at_once(purse):
    purse.settings("[budget]\nday_tokens = 500\nday_usd = 0\n")
    child = purse.race("tsk-a", 1, 12)
    waits(purse)
    purse.settings("[budget]\nday_tokens = 0\nday_usd = 0\n")
    assert child.communicate(timeout=10)[0].count("settled") == 12


def test_a_roles_cap_holds_that_role_only(purse):
    purse.settings("[budget]\nday_tokens = 0\nday_usd = 0\n[budget.roles.researcher]\ntokens = 500\n")
    purse.race("tsk-a", 1, 12)
    assert "role researcher" in waits(purse)["text"]


def test_a_kill_ends_the_wait(purse):
    purse.settings("[budget]\nday_tokens = 500\nday_usd = 0\n")
    child = purse.race("tsk-a", 1, 12)
    waits(purse)
    write_kill(purse.layout, Kill(by="ann", reason="enough"))
    child.wait(3)
    assert child.returncode != 0


def test_no_call_is_made_once_killed(purse):
    write_kill(purse.layout, Kill(by="ann"))
    child = purse.race("tsk-a", 1, 12)
    child.wait(10)
    assert "held" not in child.communicate()[0]
    assert not purse.layout.spend.exists()


def test_a_task_past_its_own_budget_does_not_wait(purse):
    purse.settings("[budget]\nday_tokens = 0\nday_usd = 0\nloop_tokens = 600\n")
    child = purse.race("tsk-loop", 1, 50, role="main")
    out, _ = child.communicate(timeout=10)
    assert "refused the loop's budget has no room" in out
    assert purse.ledger.book.tasks["tsk-loop"].tokens <= 600


def test_a_ledger_that_cannot_be_written_lets_no_call_through(purse):
    purse.layout.spend.mkdir()
    out, _ = purse.race("tsk-a", 1, 5).communicate(timeout=10)
    assert "refused the ledger cannot be written, so no call is made" in out
    assert "held" not in out


def hurried(purse, step):
    """What a call costs and how its task fares, where each look at the clock takes `step` seconds."""
    purse.settings("[budget]\nday_tokens = 5\nday_usd = 0\n")
    folder, clock = purse.task("tsk-a"), itertools.count(100.0, step)
    stopper = Stopper(folder, lambda: next(clock))
    world = World(folder, time.time, lambda: next(clock), {}, stopper, lambda text: text)
    events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
    return Spending(world, TaskTally(brain="test"), Spec(id="tsk-a", objective="x"), events, reached=Progress)


@pytest.mark.long
def test_no_worker_waits_on_for_an_engine_that_does_not_come_back(purse):
    spending = hurried(purse, 10.0)
    with pytest.raises(ProviderError, match=r"no engine has driven for 10 m .*it waited because today's budget"):
        spending.reserve(Reserve(Usage(10, 0, 0.001), "test-model"))


def test_a_wait_that_a_new_day_did_not_end_ends(purse):
    held = lease.take_lease(purse.layout)
    assert held is not None
    spending = hurried(purse, 3600.0)
    with pytest.raises(ProviderError, match="the wait for the budget ended after"):
        spending.reserve(Reserve(Usage(10, 0, 0.001), "test-model"))
    held.release()


def test_only_work_counts_not_the_wait_for_a_person(purse):
    folder, clock = purse.task("tsk-a"), [100.0]
    stopper = Stopper(folder, lambda: clock[0])
    world = World(folder, time.time, lambda: clock[0], {}, stopper, lambda text: text)
    events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
    spending = Spending(world, TaskTally(brain="test"), Spec(id="tsk-a", objective="x"), events, reached=Progress)
    stopper.limit(1000.0)

    def work(seconds):
        clock[0] += seconds

    def call(seconds):
        spending.reserve(Reserve(Usage(10, 0, 0.001), "test-model"))
        work(seconds)
        spending.spent(Usage(5, 0, 0.0005))

    work(1.0)
    call(2.0)
    work(4.0)
    with stopper.untimed():  # as an approval is waited for
        work(600.0)
    call(8.0)
    work(16.0)
    call(0.0)
    assert purse.ledger.book.tasks["tsk-a"].seconds == 1 + 2 + 4 + 8 + 16
