"""What holds of all commands, as their declarations say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from lumen_commands import all_commands

from lumen_tui.actions.registry import request_types
from lumen_tui.cli.main import main
from lumen_tui.cli.parser import Parser, UsageError
from lumen_tui.model.requests.base import declared_fields
from lumen_tui.storage.layout import Layout

GROUPS = {name: parser for name, parser in all_commands().below().items() if parser.below()}
LISTING = {name: parser for name, parser in GROUPS.items() if {"list", "status", "show"} & {*parser.below()}}


def commands(parser: Parser, *words: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Every command with its words, without the groups."""
    for name, below in parser.below().items():
        if below.below():
            yield from commands(below, *words, name)
        else:
            yield (*words, name), below


ALL = dict(commands(all_commands()))


def test_a_noun_that_has_something_to_list_lists_it_alone() -> None:
    assert {name: parser.alone for name, parser in LISTING.items()} == {
        name: next(word for word in ("list", "status", "show") if word in parser.below())
        for name, parser in LISTING.items()
    }


@pytest.mark.parametrize("noun", LISTING)
def test_a_noun_alone_is_its_listing_with_its_options(
    noun: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Layout(tmp_path / "state").create()

    def output(*words: str) -> tuple[int, object]:
        code = main(["--state", str(tmp_path / "state"), *words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    assert output(noun) == output(noun, LISTING[noun].alone)
    assert main(["--state", str(tmp_path / "state"), noun, "--no-such-option"]) == 2
    assert f"lumen-tui {noun} {LISTING[noun].alone} --help" in capsys.readouterr().err
    assert main([noun, "--help"]) == 0
    assert f"`{noun}` alone is `{noun} {LISTING[noun].alone}`" in capsys.readouterr().out


def test_a_noun_without_a_listing_names_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for noun in [noun for noun, parser in GROUPS.items() if not parser.alone]:
        assert main([noun]) == 2
        assert f"{noun} needs one of {', '.join(GROUPS[noun].below())}" in capsys.readouterr().err


NUMBERS = [
    (verb, name, field.hint)
    for verb, kind in request_types().items()
    for name, field in declared_fields(kind).items()
    if {int, float} & {field.hint, *get_args(field.hint)}
]


@pytest.mark.parametrize(("verb", "name", "hint"), NUMBERS, ids=str)
def test_a_number_is_read_as_one_and_words_are_refused(verb: str, name: str, hint: object) -> None:
    parser = Parser(prog="lumen-tui")
    parser.fields(request_types()[verb], name)
    (option,) = (action for action in parser._actions if action.dest == name)
    words = [option.option_strings[-1]] if option.option_strings else []
    value = getattr(parser.parse_args([*words, "3"]), name)
    assert msgspec.convert(value, hint, strict=True) == 3
    with pytest.raises(UsageError):
        parser.parse_args([*words, "many"])


NO_REQUEST = {
    ("init",),
    ("hook",),
    ("hooks", "install"),
    ("hooks", "uninstall"),
    ("service", "install"),
    ("service", "remove"),
    ("completions",),
    ("mcp",),
    ("serve",),
    ("acp",),
    ("host",),
}


def test_every_command_prints_json_where_it_is_asked_to() -> None:
    without = {words for words, parser in ALL.items() if "--json" not in parser._option_string_actions}
    assert without == NO_REQUEST


def test_every_option_and_every_word_says_what_it_is_for() -> None:
    silent = [(*words, action.dest) for words, parser in ALL.items() for action in parser._actions if not action.help]
    assert silent == []


@pytest.mark.parametrize(
    "words",
    [
        ("signal", "tests pass"),
        ("create", "a race", "--tags", "lock,io"),
        ("task", "new", "count the lines"),
        ("wu", "new", "a title"),
        ("start", "--wu", "WU-001"),
        ("decide", "which port?", "--wu", "WU-001"),
        ("checkpoint", "half of it", "--wu", "WU-001"),
        ("blocks", "new", "site", "launch in May"),
        ("role", "fire", "builder", "-r", "too dear"),
    ],
)
def test_what_changes_something_names_it_in_one_document(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Layout(tmp_path / "state").create()
    assert main(["--state", str(tmp_path / "state"), *words, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done.get("action_id") or done["session"]["session_id"]
