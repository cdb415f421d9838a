"""The room on a real terminal: the wire, signals, bytes."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from lumen_terminal import Terminal

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.signals import SendSignal
from lumen_tui.model.requests.tasks import NewTask

_EVIL = "a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9bd\u202ee [/] [@click=app.exit]f[/]"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_gives_the_terminal_back(state: Path, terminals: list[Terminal], number: signal.Signals) -> None:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    os.kill(terminal.pid, number)
    assert terminal.end() == 128 + number
    assert b"\x1b[?1049l" in terminal.sent
    assert terminal.sent.rfind(b"\x1b[?25h") > terminal.sent.rfind(b"\x1b[?25l")


def test_few_bytes_for_a_move_and_none_for_nothing(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    terminal.answer("4")
    assert 0 < len(terminal.answer("j")) < 700
    assert 0 < len(terminal.answer("k")) < 700
    assert terminal.read(1.0) == b""
    terminal.press("q")
    assert terminal.end() == 0


def test_no_color_sends_none(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state, NO_COLOR="1"))
    terminal.wait_for("something noticed")
    styles = {code for match in re.findall(rb"\x1b\[([0-9;]*)m", terminal.sent) for code in match.split(b";")}
    assert styles <= {b"", b"0", b"1", b"2", b"22", b"27", b"7"}
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.threat("S1", "what a terminal is sent, byte by byte")
def test_hostile_text_never_reaches_the_wire(state: Path, terminals: list[Terminal]) -> None:
    port = RemotePort(state, "me")
    port.submit(CreateNode(content=_EVIL, priority="P0"))
    port.submit(SendSignal(message=_EVIL, priority="P0"))
    port.submit(NewTask(objective=_EVIL))
    (state / "wake-state.md").write_text(_EVIL)
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    for key in ("4", "3", "5", "n", "2", "z"):
        terminal.answer(key)
    assert terminal.foreign() == ""
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize("manners", ["trap '' INT", "trap 'exit 3' INT"])
def test_ctrl_c_in_the_editor_is_the_editors(
    state: Path, terminals: list[Terminal], tmp_path: Path, manners: str
) -> None:
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{manners}\necho EDITING\nread line\n")
    program.chmod(0o700)
    terminals.append(terminal := Terminal(state, EDITOR=str(program), VISUAL=""))
    terminal.wait_for("something noticed")
    terminal.press("4")
    os.write(terminal.fd, b"e")
    terminal.wait_for("EDITING")
    for _ in range(3):
        terminal.press("\x03")
    terminal.press("\n")
    terminal.press("\x03")
    before = len(terminal.sent)
    os.write(terminal.fd, b"?")
    terminal.wait_for("command", before)  # the room is there, and draws
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 128 + signal.SIGTERM


def test_ctrl_l_draws_all_of_it_again(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    assert len(terminal.answer("\x0c")) > 3_000
    before = len(terminal.sent)
    os.write(terminal.fd, b"t")
    terminal.wait_for("New task", before)
    assert len(terminal.answer("\x0c")) > 3_000, "above a form, too"
    terminal.press("\x1b")
    terminal.press("q")
    assert terminal.end() == 0


def test_what_an_editor_left_on_the_terminal_is_painted_over(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state, EDITOR="true", VISUAL=""))
    terminal.wait_for("something noticed")
    terminal.press("4")
    before = len(terminal.sent)
    os.write(terminal.fd, b"e")
    terminal.wait_for("something noticed", before)
    terminal.press("q")
    assert terminal.end() == 0
