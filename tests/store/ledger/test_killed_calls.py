"""A call that was killed: what never left costs nothing, what left and was never told counts in full and is shown."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import pytest
from lumen_apiserver import text

from lumen_tui.cli.main import main
from lumen_tui.engine.events import EventLog
from lumen_tui.engine.monitors import Budgets
from lumen_tui.model import budget
from lumen_tui.model.config import BudgetConfig
from lumen_tui.model.spendbook import HOLD, LOST, RELEASE, SENT, SETTLE, Amount, Book, LedgerEntry
from lumen_tui.providers.base import Reserve, Spent

KILLED = Path(__file__).with_name("killed_call.py")
ON_THE_WAY = Path(__file__).with_name("killed_on_the_way.py")


def killed(purse, task: str, *words: str) -> None:
    purse.task(task, role="builder")
    child = purse._child([str(KILLED), str(purse.root), task, *words])
    assert child.wait(30) == -9


def today(purse) -> Book:
    Budgets(purse.store, EventLog(purse.store)).poll(BudgetConfig(), time.time(), costs=True)
    return purse.ledger.book


def test_what_never_left_is_free_again(purse):
    killed(purse, "tsk-a", "0", "tells")
    book, day = today(purse), budget.day_of(time.time(), "00:00")
    assert (book.days.get(day, Amount()).usd, book.held(day), book.unknown(day)) == (0.0, Amount(), Amount())
    assert purse.events("spend_freed") == [
        "1,000 tokens, $0.3700 are free again: the worker ended before its request left"
    ]
    assert purse.events("spend_unknown") == []


@pytest.mark.parametrize("words", [("1", "tells"), ("0", "tells-not"), ("1", "tells-not")])
def test_what_left_or_may_have_left_counts_in_full_and_is_shown_apart(purse, words, capsys):
    killed(purse, "tsk-a", *words)
    book, day = today(purse), budget.day_of(time.time(), "00:00")
    assert (book.days[day].usd, book.unknown(day)) == (0.37, Amount(1000, 0.37, 0.0, 1))
    assert book.unknown(day, "main") == Amount()
    assert purse.events("spend_freed") == []
    main(["--state", str(purse.root), "budget"])
    assert "spent, 1,000 tokens, $0.37 of it unknown and counted in full" in capsys.readouterr().out
    main(["--state", str(purse.root), "status"])
    assert "of today's $0.37, $0.37 is unknown and counted in full" in capsys.readouterr().out
    main(["--state", str(purse.root), "status", "--json"])
    spend = json.loads(capsys.readouterr().out)["spend"]
    assert (spend["usd"], spend["unknown_usd"], spend["unknown_tokens"]) == (0.37, 0.37, 1000)


def entries(*kinds: str) -> list[LedgerEntry]:
    hold = LedgerEntry("c", HOLD, "2026-11-22T08:00:00Z", day="2026-11-22", tokens=10, usd=1.0, unsent=True)
    cost = {"tokens": 4, "usd": 0.4}
    return [
        hold if kind == HOLD else LedgerEntry("c", kind, hold.at, day=hold.day, **(cost if kind == SETTLE else {}))
        for kind in kinds
    ]


ORDERS = [(HOLD, SENT, SETTLE), (SENT, HOLD, SETTLE), (SETTLE, HOLD, SENT), (SENT, SETTLE, HOLD)]


@pytest.mark.parametrize("kinds", [(HOLD, SENT), (SENT, HOLD)])
def test_a_hold_that_was_sent_is_known_as_such(kinds):
    book = Book()
    for entry in entries(*kinds):
        book.take(entry)
    assert not book.open["c"].unsent
    book.take(entries(LOST)[0])
    assert book.unknown("2026-11-22").usd == 1.0
    free = Book()
    for entry in entries(HOLD, RELEASE):
        free.take(entry)
    assert (free.unknown("2026-11-22"), free.days["2026-11-22"].usd) == (Amount(), 0.0)


def test_every_request_is_told_before_it_leaves(api, tmp_path):
    """By what the server has seen when the step comes, for each kind of server."""
    from lumen_tui.model.config import Config
    from lumen_tui.model.roles import Role
    from lumen_tui.model.tasks import Spec
    from lumen_tui.providers.base import Job
    from lumen_tui.providers.choose import choose_provider

    api.otherwise(lambda request: text("ok"))
    provider = choose_provider(Config().models, Role("x", ""), Spec(id="t", objective="o"), api.anthropic_env)
    seen = []
    job = Job(system="s", objective="o", sent=lambda: seen.append(("sent", len(api.requests))))
    for step in provider.converse(job):
        if isinstance(step, Reserve | Spent):
            seen.append((type(step), len(api.requests)))
    assert seen == [(Reserve, 0), ("sent", 0), (Spent, 1)]


@pytest.mark.sweep(most=2)
@pytest.mark.parametrize("kind", ["anthropic", "openai"])
@pytest.mark.parametrize(("scheme", "left"), [("https", False), ("http", True)])
def test_a_call_that_is_killed_while_it_connects_is_free(purse, kind, scheme, left):
    """The server says nothing: neither in the handshake, nor to the request."""
    purse.task("tsk-a", role="builder")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"{scheme}://127.0.0.1:{server.getsockname()[1]}/v1"
        child = purse._child([str(ON_THE_WAY), str(purse.root), "tsk-a", kind, url])
        server.settimeout(60)
        with server.accept()[0] as connection:
            connection.settimeout(60)
            said = connection.recv(4)
            assert (said == b"POST") == left
            child.kill()
            child.wait()
    book = today(purse)
    assert bool(book.unknown(budget.day_of(time.time(), "00:00")).tokens) == left
    assert (len(purse.events("spend_freed")), len(purse.events("spend_unknown"))) == (not left, left)


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_a_call_that_cannot_be_noted_does_not_leave(api, kind):
    from lumen_tui.model.config import ModelsConfig, ServerConfig
    from lumen_tui.model.roles import Role
    from lumen_tui.model.tasks import Spec
    from lumen_tui.providers.base import Job, ProviderError
    from lumen_tui.providers.choose import choose_provider

    def refuse() -> None:
        raise ProviderError("the ledger is closed")

    api.otherwise(lambda request: text("ok"))
    url = api.openai_url if kind == "openai" else api.anthropic_env["ANTHROPIC_BASE_URL"]
    config = ModelsConfig(provider="box", endpoints={"box": ServerConfig(kind, url)})
    provider = choose_provider(config, Role("x", ""), Spec(id="t", objective="o"), {"BOX_API_KEY": "k"})
    with pytest.raises(ProviderError, match="the ledger is closed"):
        list(provider.converse(Job(system="s", objective="o", sent=refuse)))
    assert api.requests == []


def test_a_cap_of_few_minutes_says_how_much_of_it_is_spent():
    cap = budget.Cap("c", budget.Limit(seconds=60), Amount(seconds=50))
    assert cap.words == "0.83 of 1 minutes spent"
