"""What is offered for a word that is not known is near to it, whatever the verb; else what there is is named."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest
from lumen_commands import all_commands
from lumen_rows import each_row

from lumen_tui.actions.refusal import nearest
from lumen_tui.cli.main import main
from lumen_tui.cli.parser import COMMANDS


@each_row(
    ("word", "known", "wanted"),
    [
        ("-r", ("-h", "--help", "-n"), ()), ("-R", ("-h", "-r", "--reason"), ("-r",)),
        ("--resaon", ("-r", "--reason", "--help"), ("--reason",)), ("--pri", ("-p", "--priority"), ("--priority",)),
        ("-reason", ("-r", "--reason"), ("--reason",)), ("--xyz", ("-x", "--help", "--json"), ()),
        ("debt", ("bug", "idea", "question"), ()), ("bgu", ("bug", "idea"), ("bug",)),
        ("disc", ("discovery", "note"), ("discovery",)), ("help", ("--help", "-h"), ()), ("", ("bug",), ()),
        ("P9", ("P0", "P1"), ()), ("Reseacher", ("researcher", "reviewer"), ("researcher",)),
    ],
)  # fmt: skip
def test_only_what_is_near_is_offered_and_options_for_options(word, known, wanted):
    assert nearest(word, known)[:1] == wanted[:1]
    assert bool(nearest(word, known)) == bool(wanted)


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _parsers(inner)


EVERY = [one for one in _parsers(all_commands()) if len(one.prog.split()) > 1]


def test_no_verb_offers_one_letter_for_another_or_for_a_word():
    assert len(EVERY) > len(COMMANDS)
    for parser in EVERY:
        known = parser._option_string_actions
        for letter in "abcdefghijklmnopqrstuvwxyz":
            assert set(nearest(f"-{letter}", known)) <= {f"-{letter}"}, parser.prog
            assert not nearest(letter, known), parser.prog
        for name in known:
            if name.startswith("--"):
                assert all(near.startswith("--") for near in nearest(name[:-1], known)), parser.prog


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "x", "--type", "debt"), "bug, idea, question, dependency"),
        (("mem:create", "x", "--type", "debt"), "bug, idea, question, dependency"),
        (("wu", "new", "x", "--type", "debt"), "one of task, bug"),
        (("ready", "--type", "debt"), "discovery"),
        (("role", "show", "zzz"), "there is"),
        (("role", "fire", "zzz", "-q", "why"), "unrecognized arguments: -q why"),
        (("task", "new", "x", "-q", "P1"), "unrecognized arguments: -q P1"),
        (("triage", "-z"), "-z"),
    ],
)
def test_where_nothing_is_near_nothing_is_offered_and_what_there_is_is_named(here, capsys, words, said):
    assert main(["wu", "new", "there"]) == 0
    assert main(list(words)) in (2, 3)
    told = capsys.readouterr().err
    assert said in told
    assert "did you mean" not in told
