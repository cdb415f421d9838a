"""A call for which not all the room is there is made with a shorter answer, as long as that is worth its prompt."""

from __future__ import annotations

import json
import time

import pytest

from lumen_tui.model.task_cost import Progress
from lumen_tui.model.tasks import Budget, Spec, Usage
from lumen_tui.providers.base import LEAST_OUTPUT, ProviderError, Reserve
from lumen_tui.storage.journal import Journal
from lumen_tui.worker.record import Recorder
from lumen_tui.worker.spending import Spending
from lumen_tui.worker.stopping import Stopper
from lumen_tui.worker.world import TaskTally, World

PROMPT, OUTPUT = 5_000, 16_000


def cost(output: int) -> Usage:
    return Usage(PROMPT, output, PROMPT * 2e-6 + output * 10e-6)


@pytest.fixture
def make(purse):
    def spending(budget: Budget | None = None, name: str = "tsk-a") -> Spending:
        folder = purse.task(name)
        stopper = Stopper(folder, time.monotonic)
        world = World(folder, time.time, time.monotonic, {}, stopper, lambda text: text)
        events = Recorder(Journal(folder / "events.jsonl"), 1, world.now, world.redact, stopper.guard)
        return Spending(
            world,
            TaskTally(brain="test"),
            Spec(id=name, objective="x", budget=budget or Budget()),
            events,
            reached=Progress,
        )

    return spending


def notes(purse, name: str = "tsk-a") -> list[str]:
    lines = (purse.layout.tasks / name / "events.jsonl").read_bytes().splitlines()
    return [event["text"] for event in map(json.loads, lines) if event["kind"] == "note"]


def ask(spending: Spending) -> int:
    return spending.reserve(Reserve(cost(OUTPUT), "test-model", cost(LEAST_OUTPUT)))


def test_where_there_is_room_nothing_is_cut(purse, make):
    assert ask(make(Budget(tokens=PROMPT + OUTPUT))) == 0
    (hold,) = purse.ledger.book.open.values()
    assert hold.tokens == PROMPT + OUTPUT


@pytest.mark.parametrize(
    ("budget", "output"),
    [
        (Budget(tokens=8_000), 3_000),
        (Budget(usd=0.05), 4_000),
        (Budget(tokens=8_000, usd=0.03), 2_000),
        (Budget(tokens=PROMPT + LEAST_OUTPUT), LEAST_OUTPUT),
    ],
)
def test_an_answer_is_as_long_as_the_tasks_budget_lets_it_be(purse, make, budget, output):
    assert ask(make(budget)) == output
    (hold,) = purse.ledger.book.open.values()
    assert hold.tokens == PROMPT + output
    assert hold.usd == pytest.approx(cost(output).usd)
    assert notes(purse)[0].startswith(f"the answer may have {output:,} tokens at most: the task's budget has no room")


def test_below_the_shortest_it_is_refused(purse, make):
    with pytest.raises(ProviderError, match="the task's budget has no room for a call of up to 6,024 tokens"):
        ask(make(Budget(tokens=PROMPT + LEAST_OUTPUT - 1)))
    assert purse.ledger.book.open == {}


def test_what_was_spent_before_counts(purse, make):
    spending = make(Budget(tokens=20_000))
    assert ask(spending) == 15_000
    spending.spent(cost(4_000))
    assert ask(spending) == 6_000
    assert [hold.tokens for hold in purse.ledger.book.open.values()] == [11_000]


def test_the_rest_of_a_shared_cap_goes_to_one_call(purse, make):
    purse.settings("[budget]\nday_tokens = 10000\nday_usd = 0\n")
    assert ask(make()) == 5_000
    assert "today's budget has no room for more" in notes(purse)[0]


def test_of_a_shared_cap_a_call_waits_while_others_hold_room_and_takes_what_is_left(purse, make):
    purse.settings("[budget]\nday_tokens = 30000\nday_usd = 0\n")
    first, second = make(), make(name="tsk-b")
    assert ask(first) == 0
    second._sleep_until_news = lambda: first.spent(cost(4_000))  # type: ignore[method-assign]
    assert ask(second) == 0  # 21,000 are left
    (hold,) = purse.ledger.book.open.values()
    assert (hold.task, hold.tokens) == ("tsk-b", PROMPT + OUTPUT)
