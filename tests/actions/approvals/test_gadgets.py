"""What makes a harmless program load code, run another, or go by what a file says is never allowed in silence.

gadgets.txt has the families of such options, as they are known of each program that a rule may be about, in several
spellings; plain.txt has what must stay possible.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lumen_rows import each_row

from lumen_tui.model.runners import ALL, OPTIONS, runs_files
from lumen_tui.tools.policy.verdict import PolicyCall, narrow_rule


def lines(name: str) -> list[str]:
    """The commands of a file, without its comments."""
    text = (Path(__file__).parent / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


WITH_OPTIONS = sorted({*OPTIONS, "git", "systemctl"})


@each_row("program", WITH_OPTIONS)
def test_of_every_program_with_such_options_both_kinds_are_tried(program: str) -> None:
    for name in ("gadgets.txt", "plain.txt"):
        assert [line for line in lines(name) if line.split()[0] == program]
    assert program not in ALL


@pytest.mark.threat("S11", "rules that cover more than they show; ends that nobody saw")
@each_row("around", ["{}", "cd x && {}", "echo a | {}", "{} 2>&1", "{}; true", "sleep 1 & {}"])
def test_no_gadget_is_taken_for_harmless(around: str) -> None:
    commands = [around.format(line) for line in lines("gadgets.txt")]
    assert [command for command in commands if not runs_files(command)] == []
    assert [command for command in commands if narrow_rule(PolicyCall("shell", command), unsandboxed=True)] == []


def test_what_does_as_it_is_told_stays_so() -> None:
    assert {line: runs_files(line) for line in lines("plain.txt")} == dict.fromkeys(lines("plain.txt"), "")
