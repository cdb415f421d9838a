"""`blocks` on the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from blocks_folder import Memory

from lumen_tui.cli import main as cli

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(memory: Memory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("CLAUDECODE", raising=False)

    def call(*words: str) -> tuple[int, str, str]:
        code = cli.main(["--state", str(memory.layout.root), "--operator", "ana", "blocks", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_from_the_first_word_to_the_way_back(memory: Memory, run: Run, tmp_path: Path) -> None:
    assert "empty" in run("list")[1]
    assert run("append", "human", "Ann likes tea")[1] == "appended to human: step 1, 13 of 20,000 characters\n"
    assert run("replace", "human", "tea", "coffee")[0] == 0
    (tmp_path / "h.txt").write_text("Ann\n")
    assert run("rethink", "human", "--file", str(tmp_path / "h.txt"), "--base", "2")[0] == 0
    assert run("show", "human")[1] == "Ann\n\n"
    code, out, _ = run("history", "human", "--diff")
    assert code == 0
    assert "-Ann likes tea" in out
    assert "+Ann likes coffee" in out
    assert run("restore", "human", "--step", "1")[0] == 0
    assert memory.block().text == "Ann likes tea"


def test_json_says_all_of_it(memory: Memory, run: Run) -> None:
    run("new", "plans", "May", "--limit", "50", "-d", "what is next", "--read-only")
    (plans,) = [one for one in json.loads(run("list", "--json")[1]) if one["name"] == "plans"]
    wanted = {"chars": 3, "limit": 50, "description": "what is next", "read_only": True, "by": "ana", "step": 1}
    assert {key: plans[key] for key in wanted} == wanted
    made = json.loads(run("append", "plans", "June", "--json")[1])
    assert (made["text"], made["action_id"][:4]) == ("May\nJune", "act-")
    steps = json.loads(run("history", "plans", "--json", "--diff")[1])
    assert [(one["how"], "+June" in one["diff"]) for one in steps] == [("new", False), ("append", True)]


def test_refusals_and_their_codes(memory: Memory, run: Run) -> None:
    run("append", "human", "Ann")
    for words, code, said in (
        (("show", "humen"), 3, "blocks list"), (("append", "humen", "x"), 3, "blocks new humen"),
        (("append", "human", ""), 2, "nothing to append"), (("rethink", "human"), 2, "give the new text"),
        (("rethink", "human", "x", "--base", "9"), 2, "no step 9"), (("rethink", "human", "Ann"), 3, "already"),
        (("restore", "human"), 2, "one of the arguments"), (("restore", "human", "--step", "7"), 3, "history"),
        (("unlock", "human"), 3, "not locked"), (("set", "human", "--limit", "0"), 2, "a limit is 1"),
        (("set", "human", "--limit", "2"), 2, "limit is 2"), (("history", "persona"), 3, "no history"),
        (("append", "human", "x", "--file", "y"), 2, "not both"), (("new", "Bad Name"), 2, "not usable"),
    ):  # fmt: skip
        found = run(*words)
        assert (found[0], said in found[2]) == (code, True), (words, found)
    assert memory.block().text == "Ann"


def test_a_patch_from_standard_input(memory: Memory, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("append", "human", "Ann")
    monkeypatch.setattr("sys.stdin", io.StringIO("--- old\n+++ new\n@@ -1 +1 @@\n-Ann\n+Anna\n"))
    assert run("patch", "human")[0] == 0
    assert memory.block().text == "Anna"


def test_what_an_agents_program_writes_is_no_persons_word(
    memory: Memory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("append", "human", "Ann")
    run("new", "rules", "a", "--read-only")
    monkeypatch.setenv("CLAUDECODE", "1")
    run("append", "human", "tea")
    assert memory.block().trust == "agent"
    run("rethink", "human", "all mine")
    assert memory.block().trust == "agent"
    for words in (("append", "rules", "b"), ("set", "rules", "--writable"), ("restore", "human", "--step", "1")):
        assert run(*words)[0] == 2
    run("lock", "human")
    assert run("unlock", "human")[0] == 2


@pytest.mark.threat("S1", "hostile text in what commands and servers print")
def test_hostile_text_does_not_reach_the_terminal(memory: Memory, run: Run) -> None:
    run("append", "human", "\x1b]52;c;aGk=\x07\u202ehi")
    for words in (("show", "human"), ("list",), ("history", "human", "--diff"), ("list", "--json")):
        assert "\x1b" not in "".join(run(*words)[1:])


def test_what_cannot_be_recorded_is_shown_all_the_same(memory: Memory, run: Run) -> None:
    run("append", "human", "Ann")
    memory.by_hand("Ann", "Anna")
    memory.layout.block_texts.rename(memory.layout.blocks / "elsewhere")
    memory.layout.block_texts.write_text("in the way")
    code, out, err = run("show", "human")
    assert (code, out) == (0, "Anna\n")
    assert "could not be recorded" in err


def test_an_edit_by_hand_is_told(memory: Memory, run: Run) -> None:
    run("new", "notes", "a", "--limit", "5")
    memory.by_hand("\na\n", "\nabcdefgh\n", "notes")
    _, out, err = run("list")
    assert "3 over" in out
    assert "3 characters over its limit" in err
    memory.file("notes").write_bytes(b"+++\nlimit = \n+++\n")
    assert "blocks/notes.md, line 2" in run("list")[2]
