"""`budget`, `kill` and `unkill` from the shell."""

from __future__ import annotations

import json
import time

from lumen_tui.cli.main import main
from lumen_tui.model.spendbook import SPENT
from lumen_tui.model.times import iso


def run(purse, capsys, *words):
    code = main([*words, "--state", str(purse.root), "--operator", "ann"])
    return code, capsys.readouterr()


def test_the_page_and_its_json(purse, capsys, a_hold):
    day = iso(time.time())[:10]
    hostile = "m\x1b[2J\u202e"
    purse.ledger.append(a_hold("spd-1", 1500, kind=SPENT, at=iso(time.time()), day=day, usd=0.25, model=hostile))
    code, said = run(purse, capsys, "budget")
    assert code == 0
    assert "today's budget: 1,500 of 2,000,000 tokens, $0.25 of $5.00 spent (5%)" in said.out
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    found = json.loads(run(purse, capsys, "budget", "--json")[1].out)
    assert found["day"] == day
    assert found["roles"][0]["amount"]["tokens"] == 1500
    assert len(found["hours"]) == 24


def test_raise_undo_and_bad_words(purse, capsys):
    assert run(purse, capsys, "budget", "raise", "--usd", "5", "--reason", "why not")[0] == 0
    assert "of $10.00" in run(purse, capsys, "budget")[1].out
    assert run(purse, capsys, "undo")[0] == 0
    assert "of $5.00" in run(purse, capsys, "budget")[1].out
    code, said = run(purse, capsys, "budget", "--usd", "5")
    assert (code, "budget raise" in said.err) == (2, True)
    assert run(purse, capsys, "budget", "raise")[0] == 2


def test_kill_and_unkill(purse, capsys):
    assert run(purse, capsys, "unkill")[0] == 3
    child = purse.stubborn("tsk-a")
    code, said = run(purse, capsys, "kill", "--reason", "it ran wild")
    assert (code, "1 worker ended in 0." in said.out) == (0, True)
    assert child.wait(1) != 0
    assert "killed by ann: it ran wild" in run(purse, capsys, "status")[1].out
    assert "it was killed by ann: it ran wild" in run(purse, capsys, "unkill")[1].out
    assert "killed" not in run(purse, capsys, "status")[1].out


def test_the_full_cap_of_one_role_is_told_of_that_role_alone(purse, capsys, a_hold):
    purse.store.layout.config.write_text("[budget.roles.reviewer]\ntokens = 1000\n")
    now = time.time()
    spent = a_hold("spd-1", 1500, kind=SPENT, at=iso(now), day=iso(now)[:10], usd=0.0, role="reviewer")
    purse.ledger.append(spent)
    said = run(purse, capsys, "status")[1].out
    assert "role reviewer starts nothing that uses a model: today's budget of role reviewer is used up" in said
    assert "nothing that uses a model starts" not in said
    spend = json.loads(run(purse, capsys, "status", "--json")[1].out)["spend"]
    assert (spend["full"], list(spend["full_roles"])) == ("", ["reviewer"])
    purse.store.layout.config.write_text("[budget]\nday_tokens = 1000\n")
    assert "nothing that uses a model starts: today's budget is used up" in run(purse, capsys, "status")[1].out
