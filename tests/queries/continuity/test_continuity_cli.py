"""`capsule`, `packets` and `since` as a shell sees them."""

from __future__ import annotations

import json
import time

import pytest

from lumen_tui.cli.main import main
from lumen_tui.model.config import Config
from lumen_tui.model.loop import LeftOut
from lumen_tui.queries import digest


@pytest.fixture
def run(home, capsys):
    def carry_out(*words: str) -> tuple[int, str, str]:
        code = main(["--state", str(home.root), "--operator", "ann", *words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return carry_out


def test_capsule_prints_its_text_and_reports_what_was_cut(home, run):
    home.packets(*[home.packet(loop, abandoned=(LeftOut(f"way {loop}"),)) for loop in range(1, 31)])
    code, out, err = run("capsule", "--budget", "260")
    assert code == 0 and "# Capsule for loop 31" in out and "Left out of this capsule" in out
    assert "of 260 tokens" in err and "cut: Recent loops: 10 of 12 left out" in err
    code, out, _ = run("capsule", "--json")
    made = json.loads(out)
    assert (code, made["loop"], made["cut"], made["first_loop"]) == (0, 31, [], 19)
    assert made["tokens"] <= Config().capsule.tokens and made["text"].startswith("# Capsule")
    assert run("capsule", "--budget", "10")[0] == 2
    code, _, err = run("capsule", "--loop", "7")
    assert code == 3 and "none was written yet" in err


def test_the_capsule_that_a_loop_woke_with_can_be_read_later(home, run):
    from lumen_tui.engine.loops.capsules import Capsules

    home.packets(home.packet(1))
    Capsules(home.layout).wake(2, Config(), time.time())
    for name in ("2", "loop 2", "loop-000002"):
        assert run("capsule", "--loop", name)[1].startswith("# Capsule for loop 2\n")
    code, _, err = run("capsule", "--loop", "5")
    assert code == 3 and "loops 2 to 2" in err
    code, _, err = run("capsule", "--loop", "-5")
    assert code == 2 and "'-5' is no loop: write it as 12" in err


def test_packets_lists_newest_first_and_shows_one_whole(home, run):
    assert run("packets")[0] == 3
    home.packets(*[home.packet(loop) for loop in range(1, 6)])
    home.packets(home.packet(7, failed="429", decided_against=(LeftOut("a database", "files do"),)))
    code, out, err = run("packets", "3")
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == ["7", "5", "4"]
    assert "429" in out and "orientation: median 15 s, 1,000 tokens read, $0.0020 over 3 loops" in err
    assert [one["loop"] for one in json.loads(run("packets", "2", "--json")[1])] == [7, 5]
    code, out, _ = run("packets", "--loop", "7")
    assert "Decided against:\n  a database: files do" in out and "Orientation:" in out
    assert run("packets", "--loop", "6")[0] == 3 and run("packets", "0")[0] == 2


def test_since_begins_where_the_operator_looked_last(home, run):
    now = time.time()
    home.ended("tsk-1", at=now - 7200)
    code, out, err = run("since")
    assert code == 0 and "in the last 24 h: 1 task ended, $0.50" in out and "has not looked before" in err
    assert run("since", "--seen")[0] == 0
    assert digest.read_visit(home.layout, "ann").at == pytest.approx(now, abs=60)
    assert "nothing happened since just now" in run("since")[1]
    home.ended("tsk-2", "failed", at=now)
    assert "1 failed" in run("since")[1] and "tsk-1" not in run("since")[1]
    document = json.loads(run("since", "--at", "3h", "--json")[1])
    assert [group["name"] for group in document["groups"]] == ["failed", "ended"]
    assert document["groups"][1]["entries"][0]["target"] == "tsk-1"
    assert run("since", "--at", "soon")[0] == 2
    assert main(["--state", str(home.root), "since", "--operator", "bob"]) == 0
