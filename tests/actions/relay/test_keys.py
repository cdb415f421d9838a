"""Idempotency keys: the same key makes one, also when two processes ask at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lumen_tui.storage.journal import Journal
from lumen_tui.store.signals.inbox import unread

RACER = """
import sys
from pathlib import Path
from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.store import Store
store = Store(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(25):
    for verb, what in (
        ("node.create", {"content": "noticed"}), ("signal.send", {"message": "done"}), ("wu.new", {"title": "Do it"}),
        ("task.new", {"objective": "look"}),
    ):
        print(perform(store, named(verb, {**what, "key": f"k{number}"}), by=sys.argv[2], now=1.0).target)
"""


def test_two_processes_with_the_same_keys_make_one_of_each(desk) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(desk.layout.root), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("ann", "bob")
    ]  # fmt: skip
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    first, second = (racer.communicate(timeout=60)[0].split() for racer in racers)
    assert first == second
    assert len(set(first)) == len(first) == 100
    assert len(list(desk.store.nodes.lines())) == len(list(desk.store.signals.lines())) == 25
    assert len(list(desk.layout.work.glob("WU-*.md"))) == 25
    assert len([path for path in desk.layout.tasks.iterdir() if path.name.startswith("tsk-")]) == 25


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [("node.create", {"content": "noticed"}), ("signal.send", {"message": "done"}), ("wu.new", {"title": "Do it"}),
     ("task.new", {"objective": "look"})],
)  # fmt: skip
def test_asked_again_it_says_that_it_was_there(desk, verb: str, arguments: dict) -> None:
    first, again = desk.do(verb, **arguments, key="k 1"), desk.do(verb, "bob", **arguments, key="k 1")
    other = desk.do(verb, **arguments, key="k 2")
    assert first.target == again.target != other.target
    assert "already under this key" in again.summary
    assert "already" not in first.summary + other.summary


def test_a_link_that_was_cut_off_is_made_and_none_twice(desk) -> None:
    source = desk.do("node.create", content="first").target
    for _ in range(2):
        desk.do("node.create", content="second", discovered_from=source, key="k")
    assert len(list(desk.store.relationships.lines())) == 1
    desk.layout.relationships.unlink()
    desk.do("node.create", content="second", discovered_from=source, key="k")
    assert len(list(Journal(desk.layout.relationships).lines())) == 1


def test_a_retired_work_unit_is_not_made_anew(desk) -> None:
    made = desk.do("wu.new", title="Do it", lane="Core", key='with "quotes" \\ and more').target
    desk.do("wu.claim", wu_id=made)
    desk.do("wu.release", wu_id=made)
    assert desk.do("wu.new", title="Do it", key='with "quotes" \\ and more').target == made


def test_the_command_line_takes_keys(desk, monkeypatch, capsys) -> None:
    from lumen_tui.__main__ import main

    monkeypatch.setenv("LUMEN_STATE", str(desk.layout.root))
    monkeypatch.setenv("LUMEN_OPERATOR", "ann")
    for words in (["signal", "hello"], ["create", "noticed"], ["wu", "new", "Do it"], ["task", "new", "look"]):
        for _ in range(2):
            assert main([*words, "--key", "k1"]) == 0
    lines = capsys.readouterr().out.split()
    assert lines[0] == lines[1]
    assert len(unread(str(desk.layout.memory.parent), "bob", 10).signals) == 1
    assert len(list(desk.store.nodes.lines())) == 1
