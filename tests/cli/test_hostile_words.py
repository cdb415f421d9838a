"""Every command on a folder whose records hold hostile words: nothing that acts on a terminal leaves it.

The commands are those of the parser, so that a new one is in by itself. Each is given what there is of each kind.
"""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lumen_lived
import pytest
from lumen_commands import all_commands

from lumen_tui.__main__ import main
from lumen_tui.cli.parser import Parser
from lumen_tui.model.text import is_safe
from lumen_tui.storage.layout import Layout
from tests.tui.screens.test_readable import RUBBISH

# What does not end, asks a model, starts processes, or prints a file for another program.
APART = {
    "chat", "serve", "mcp", "acp", "host", "backup", "restore", "upgrade", "stop", "completions", "evolve sleep",
    "evolve run", "evolve learn", "af export", "role try", "hook", "service install", "service remove", "mail test",
    "hooks install", "hooks uninstall", "changes push", "hosts cert", "hosts add", "operator token", "access add",
}  # fmt: skip
FLAGS = ((), ("--json",), ("--all",))
ALWAYS = (
    "status", "inbox --no-mark --all", "triage", "task list", "events", "wu list", "fact list", "journal",
    "since --at 30d",
    "search zebra", "blocks history notes", "blocks show notes", "relay show general", "approvals list", "archive-list",
    "attention list", "prompt show builder", "why WU-042", "context --wu WU-042", "capsule", "packets", "recall zebra",
)  # fmt: skip
WORD = "zebra"  # in each of the hostile texts


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder in which everything was done once, with words that nobody should be able to do harm with."""
    root = tmp_path_factory.mktemp("hostile") / "lived" / "state"
    root.parent.mkdir()
    rubbish = itertools.cycle([text for text in RUBBISH if len(text) < 200])
    lumen_lived.live(root, time.time(), lambda text: f"{next(rubbish)}{WORD} {text}{next(rubbish)}")
    Layout(root).wake_state.write_bytes("\n".join(RUBBISH).encode() + b"\x00\xff\xfe")
    return root


def leaves(parser: Parser, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Each command with its parser."""
    below = parser.below()
    if not below:
        yield path, parser
    for name, inner in below.items():
        yield from leaves(inner, (*path, name))


def named_things(root: Path) -> list[str]:
    """One of each kind of thing that a command may be about."""
    layout = Layout(root)
    tasks = [path.parent.name for path in root.rglob("spec.json")]
    approvals = [path.stem for path in layout.approvals.glob("*.json") if path.stem.count(".") == 0]
    nodes = [line.split('"')[3] for line in layout.memory.read_text("utf-8", "replace").splitlines()[:3]]
    signals = [line.split('"')[3] for line in layout.signals.read_text("utf-8", "replace").splitlines()[:2]]
    return [*tasks, *approvals, *nodes, *signals, "WU-042", "WU-101", "builder", "notes", "human", "general", WORD]


def words_for(root: Path) -> Iterator[list[str]]:
    """Each command that asks for nothing, and each that asks for one thing about each thing."""
    things = named_things(root)
    for path, parser in leaves(all_commands()):
        if " ".join(path) in APART:
            continue
        actions: list[Any] = list(parser._actions)
        needed = [one for one in actions if not one.option_strings and one.nargs not in ("?", "*")]
        if any(one.option_strings and one.required for one in actions) or len(needed) > 1:
            continue
        takes_one = any(not one.option_strings for one in actions)
        for flags in FLAGS:
            if all(flag in parser.options() for flag in flags):
                yield from ([*path, *flags] for _ in range(not needed))
                yield from ([*path, thing, *flags] for thing in things if takes_one)


@pytest.mark.threat("S1", "hostile words in what every command prints")
def test_no_command_prints_what_acts_on_a_terminal(
    hostile: Path, capfd: pytest.CaptureFixture[str], sampled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    wrong, shown = [], set()
    points = list(words_for(hostile))
    for words in [*(line.split() for line in ALWAYS), *sampled(points, 120)]:
        code = main(["--state", str(hostile), *words])
        printed = "".join(capfd.readouterr())
        if WORD in printed.replace(" ".join(words), ""):
            shown.add(words[0])
        wrong += [(words, line[:100]) for line in printed.split("\n") if not is_safe(line)]
        assert code in (0, 1, 2, 3), words
    assert wrong == []
    assert len(points) > 500 and len(shown) > 8, shown
