"""What a line of `lumen-tui` may go on with, and what it may do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lumen_tui.cli.reference import grammar as real_grammar
from lumen_tui.model import grammar as lines
from lumen_tui.model.grammar import Candidate, Grammar
from lumen_tui.model.requests import spelling

GRAMMAR = real_grammar()


def values(command: str, field: str) -> Sequence[Candidate]:
    return [Candidate("tsk-1", "count"), Candidate("tsk-2", "look")] if field == "task_id" else ()


def offered(text: str) -> list[str]:
    return [each.word for each in lines.candidates(GRAMMAR, lines.split_line(text), values)]


def test_the_first_word_is_a_command_and_the_second_one_below_it() -> None:
    assert offered("attent") == ["attention"]
    assert offered("attention ") == ["list", "snooze", "aside", "back"]
    assert offered("lumen-tui attention s") == ["snooze"]
    assert offered("signal cl") == ["cleanup"]
    assert offered("nothing such ") == []


def test_values_stand_before_options_and_an_option_is_offered_once() -> None:
    assert offered("task cancel ") == ["tsk-1", "tsk-2", "--reason", "--after", "--json"]
    assert offered("task cancel tsk-1 --reason x ") == ["--after", "--json"]
    assert offered("task cancel --reason x tsk") == ["tsk-1", "tsk-2"]
    assert offered("task cancel tsk-1 --r") == ["--reason"]
    assert offered("task cancel -") == ["--reason", "--after", "--json"]
    assert offered("triage --promote mem-1 --pro") == ["--promote"]  # takes several, and may come again


def test_a_value_of_a_few_is_offered_behind_its_option() -> None:
    assert set(offered("create x --type ")) >= {"discovery", "bug"}
    assert offered("create x --type id") == ["idea"]
    assert offered("role hire a --tier ") == ["haiku", "sonnet", "opus"]
    assert offered("task cancel --reason ") == []


@pytest.mark.parametrize("text", ["signal 'half ", 'signal "', "signal a\\"])
def test_within_quotes_nothing_is_offered(text: str) -> None:
    assert offered(text) == []


def test_a_completed_word_is_quoted_where_it_must_be() -> None:
    text = "wu new x --lane Fra"
    assert lines.completed(text, lines.split_line(text), "Frame: Core") == "wu new x --lane 'Frame: Core' "
    text = "wu new x --lane 'Frame: Core' "
    assert lines.split_line(text).words[-1] == "Frame: Core"
    assert lines.common_start([Candidate("snooze"), Candidate("snore")]) == "sno"
    assert lines.common_start([Candidate("a"), Candidate("ab")]) == "a"
    assert lines.common_start([]) == ""


def test_every_name_in_the_rules_is_one_of_a_command() -> None:
    named = {command.words for command in GRAMMAR.commands}
    ruled = {*lines._READS, *lines._WRITES_WITH, *lines._READS_WITH, *lines._GRAVE, *lines._EDITORS}
    assert ruled - named - {"help", "at"} == set()


def test_no_command_that_makes_a_request_is_taken_to_read() -> None:
    guarded = {"triage": "--archive", "inbox": "", "evolve": "--accept", "chat": "--once", "budget raise": ""}
    for command in set(spelling.COMMANDS.values()):
        words = [*command.split(), *filter(None, [guarded.get(command, "")])]
        if command == "decay set":
            continue
        assert lines.writes(GRAMMAR, words), command
    for line in ("task", "task list", "triage", "budget", "help task", "decay --dry-run", "evolve --list", "inbox -c"):
        assert not lines.writes(GRAMMAR, line.split()), line
    assert lines.writes(GRAMMAR, ["mem:create", "x"])
    assert lines.writes(Grammar(), ["status"])


def test_a_line_that_ends_something_is_asked_about_unless_it_only_looks() -> None:
    assert lines.is_grave(GRAMMAR, ["cleanup"])
    assert not lines.is_grave(GRAMMAR, ["cleanup", "--dry-run"])
    assert not lines.is_grave(GRAMMAR, ["signal", "stop"])
    assert lines.is_grave(GRAMMAR, ["stop", "--after", "now"])


def test_an_option_with_a_value_of_that_name_is_no_editor() -> None:
    assert lines.why_not_here(GRAMMAR, ["evolve", "--edit", "evo-1", "--text", "x"], "") == ""
    assert "editor" in lines.why_not_here(GRAMMAR, ["changes", "edit", "7f2", "a"], "")
    assert "read-only" in lines.why_not_here(GRAMMAR, ["beat"], "read-only")
    assert lines.why_not_here(GRAMMAR, ["beat"], "") == ""
    assert lines.why_not_here(GRAMMAR, [], "") == ""
