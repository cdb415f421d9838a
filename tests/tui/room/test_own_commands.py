"""The operator's own commands in the room: told in variables, asked in a form, shown on a page, ended with it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from lumen_until import until

from lumen_tui.engine.own_commands import run
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.own_commands import questions, script, variables
from lumen_tui.storage.layout import Layout

HOSTILE = "$(touch owned) `touch owned`; touch owned \"' \\ \x1b[2J"


def test_what_is_asked_becomes_a_variable() -> None:
    template = "deploy {ask:reason} --to {ask: where } {ask:reason}"
    assert questions(template) == ("reason", "where")
    assert script(template) == 'deploy "$LUMEN_ASK_1" --to "$LUMEN_ASK_2" "$LUMEN_ASK_1"'
    assert script("echo {id} ${HOME}") == "echo {id} ${HOME}"


def test_hostile_words_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = variables("workers", HOSTILE, [HOSTILE], "/state", [HOSTILE])
    finished = run(script('printf "%s\\n" "$LUMEN_ID" {ask:what}'), told, 10, threading.Event())
    assert finished.output.count("$(touch owned)") == 2 and finished.code == 0
    assert "\x1b" not in finished.output and not (tmp_path / "owned").exists()


def test_one_that_is_late_ends_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    finished = run(f"sleep 60 & echo $! > {started}; wait", {}, 0.3, threading.Event())
    assert finished.why == "ended after 0.3 s" and finished.code not in (0, None)
    until(lambda: not _alive(int(started.read_text())))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_page_that_is_left_ends_it() -> None:
    stop = threading.Event()
    stop.set()
    began = time.monotonic()
    assert run("sleep 60", {}, 60, stop).why == "ended: its page was left"
    assert time.monotonic() - began < 20


def test_endless_output_is_cut_and_does_not_fill_the_memory() -> None:
    finished = run("head -c 5000000 /dev/zero | tr '\\0' x", {}, 30, threading.Event())
    assert finished.cut and len(finished.output) == 256 * 1024 and finished.code == 0


def test_what_it_leaves_behind_holds_nothing_up() -> None:
    finished = run("(sleep 60 &) ; echo done", {}, 30, threading.Event())
    assert finished.output == "done\n" and finished.seconds < 20


COMMANDS = """[commands.tell]
run = "printf '%s %s <%s>' $LUMEN_PANE $LUMEN_ID {ask:what to say}"
key = "ctrl+y"
help = "says it"
[commands.broken]
run = "echo oops >&2; exit 3"
pane = "discoveries"
[commands.taken]
run = "true"
key = "t"
"""


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_they_are_chosen_asked_and_shown(open_room: Any, state: Path, size: tuple[int, int]) -> None:
    Layout(state).config.write_text(COMMANDS)
    port = RemotePort(state, "me")
    signal = port.snapshot().signals[0].signal.id
    async with open_room(port=port, size=size) as room:
        await room.sees("a note, number 3")
        await room.press("4", "ctrl+y")
        await room.sees("what to say")
        await room.press(*"$(id)", "enter")
        await room.until(lambda: f"signals {signal} <$(id)>" in " ".join(room.text.split()) and "exit 0" in room.text)
        await room.press("escape", "underscore")
        await room.sees("says it", "its key is task already")
        assert "broken" not in room.text, "it is of another pane"
        await room.press("escape", "5", "underscore")
        await room.sees("broken")
        await room.press("enter")
        await room.sees("oops", "exit 3")


async def test_a_room_that_only_looks_runs_none(open_room: Any, state: Path) -> None:
    Layout(state).config.write_text(COMMANDS)
    async with open_room(port=RemotePort(state, "me"), read_only=True) as room:
        await room.sees("a note, number 3")
        await room.press("ctrl+y")
        assert "--read-only" in room.footer
        await room.press("underscore")
        assert "--read-only" in room.footer and "Your commands" not in room.text


async def test_without_any_the_list_says_how_one_is_made(open_room: Any, state: Path) -> None:
    async with open_room(port=RemotePort(state, "me")) as room:
        await room.press("underscore")
        await room.sees("No commands of your own yet: [commands.NAME]")


async def test_leaving_the_page_ends_the_command(open_room: Any, state: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    Layout(state).config.write_text(f'[commands.wait]\nrun = "echo $$ > {pid}; exec sleep 60"\n')
    async with open_room(port=RemotePort(state, "me")) as room:
        await room.sees("a note, number 3")
        await room.press("underscore", "enter")
        await room.until(lambda: pid.exists() and pid.read_text().strip() != "")
        assert _alive(int(pid.read_text()))
        await room.press("escape")
        await room.until(lambda: not _alive(int(pid.read_text())))
