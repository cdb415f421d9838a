"""The same key makes the same thing, however often it is asked for: what was killed may be typed again."""

from __future__ import annotations

import json

import pytest

from lumen_tui.storage.journal import Journal

CALLS = (
    ("signal", "x"), ("create", "x"), ("checkpoint", "x"), ("decide", "Which port?"), ("handoff", "x"),
    ("start", "--wu", "WU-001"), ("fact", "add", "the port is 8080"), ("wu", "new", "x"), ("task", "new", "x"),
    ("role", "hire", "scribe", "--like", "researcher"), ("archive", "insert", "x"),
    ("role", "hire", "guest", "--like", "researcher", "--for", "7d"),
)  # fmt: skip
SAY_SO = ("checkpoint", "decide", "handoff", "start", "fact", "role")
NODES = ("create", "checkpoint", "decide", "handoff")


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_the_same_key_makes_one(shell, words):
    shell.ok("start", "--wu", "WU-009")
    first = shell(*words, "--key", "k1")
    assert first.returncode == 0, first.stderr
    before = shell("wu", "list").stdout, {path: path.stat().st_size for path in journals(shell)}
    again = shell(*words, "--key", "k1")
    assert again.returncode == 0, again.stderr
    if words[0] not in ("role", "task"):
        assert again.stdout.splitlines()[0] == first.stdout.splitlines()[0], "the same id"
    assert (shell("wu", "list").stdout, {path: path.stat().st_size for path in journals(shell)}) == before
    if words[:2] != ("role", "hire"):
        other = shell(*words, "--key", "k2") if words[0] != "fact" else shell("fact", "add", "another", "--key", "k2")
        assert other.returncode == 0
        assert other.stdout != first.stdout


def journals(shell):
    return [*(shell.root / "memory").glob("*.jsonl"), *(shell.root / "sessions").glob("*.json")]


@pytest.mark.parametrize("words", [call for call in CALLS if call[0] in SAY_SO], ids=" ".join)
def test_a_second_time_says_so(shell, words):
    shell.ok("start", "--wu", "WU-009")
    shell.ok(*words, "--key", "k1")
    again = shell(*words, "--key", "k1")
    assert "was there already under this key" in again.stderr + again.stdout


def test_one_key_of_two_verbs_is_two_things(shell):
    shell.ok("start", "--wu", "WU-009")
    made = [shell.ok(*words, "--key", "k").splitlines()[0] for words in CALLS if words[0] in NODES]
    assert len(set(made)) == 4


def test_an_answer_under_its_key_is_given_once(shell):
    asked = shell.ok("decide", "Which port?", "--wu", "WU-001")
    for _ in range(2):
        shell.ok("decide", "--resolve", asked, "--answer", "8080", "--key", "k")
    assert shell("decide", "--resolve", asked, "--answer", "8081", "--key", "other").returncode == 2


def test_a_fact_that_was_cut_off_is_finished_by_its_key(shell):
    fact = shell.ok("fact", "add", "the port is 8080", "--no-suggest", "--key", "k").splitlines()[0]
    (shell.root / "memory" / "confirmations.jsonl").unlink()  # what a kill behind the first write leaves
    assert shell("fact", "add", "the port is 8080", "--no-suggest").returncode == 2, "without a key it is another one"
    shell.ok("fact", "add", "the port is 8080", "--no-suggest", "--key", "k")
    (word,) = [json.loads(line) for line in Journal(shell.root / "memory" / "confirmations.jsonl").lines()]
    assert (word["fact_id"], word["by"]) == (fact, "ana")
