"""What a key did is shown as a command line that does the same, and `.` does it again."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode


@pytest.fixture
def folder(tmp_path: Path) -> RemotePort:
    """Six open discoveries, in the order of their priority."""
    from lumen_tui.storage.layout import Layout

    Layout(tmp_path / "state").create()
    port = RemotePort(tmp_path / "state", "someone")
    for number in range(6):
        port.submit(CreateNode(content=f"thing {number}", priority=f"P{min(3, number)}"))
    return port


def lines_of(room: Any) -> list[str]:
    """The command lines that the log shows."""
    return list(re.findall(r"lumen-tui [^│]*", room.text))


async def test_keys_stand_in_the_log_as_command_lines_with_their_results(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await room.sees("6 open")
        pane = room.pane("discoveries").focus()
        await pane.press("a", "r", *"it is known", "enter")
        await room.sees("5 open")
        await pane.press("j", "l")
        await room.sees("4 open")
        await pane.press("2", "u", "3")
        await room.sees("5 open")
        await room.press("semicolon")
        await room.sees("3 commands")
        first, second, third = lines_of(room)
        assert re.match(r"lumen-tui triage --archive mem-\w+ --reason 'it is known'", first)
        assert re.match(r"lumen-tui triage --keep mem-\w+", second)
        assert third.strip() == "lumen-tui undo"


async def test_a_copied_line_does_the_same_in_a_shell(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await room.sees("6 open")
        await room.pane("discoveries").focus().press("a", "r", *"-- odd; $(x)", "enter")
        await room.sees("5 open")
        copied: list[str] = []
        room.app.copy_to_clipboard = copied.append
        await room.press("u", "semicolon")
        await room.sees("2 commands")
        await room.press("g", "Y")
        await room.until(lambda: copied)
        words = shlex.split(copied[0])
        command = [sys.executable, "-m", "lumen_tui", "--state", str(folder.root), *words[1:]]
        ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        assert (words[0], ran.returncode, ran.stderr) == ("lumen-tui", 0, "")
        await room.press("escape")
        await room.sees("5 open")


async def test_a_refused_command_stands_there_with_its_reason(open_room: Any) -> None:
    async with open_room() as room:
        room.port.refusal = "the disk is full"
        await room.pane("signals").focus().press("A", "semicolon")
        await room.sees("lumen-tui inbox --read-all", "the disk is full")


async def test_an_empty_log_says_what_it_is_for(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("semicolon")
        await room.sees("No command yet.")


async def test_a_dot_repeats_the_last_command_with_its_arguments(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await room.sees("6 open")
        pane = room.pane("discoveries").focus()
        await pane.press("a", "r", *"seen", "enter")
        await room.sees("5 open")
        await pane.press("full_stop")
        await room.sees("4 open")
        await pane.press("space", "space", "full_stop")  # on what is marked
        await room.sees("2 open")
        reasons = {entry.reason for entry in folder.audit_entries(10) if entry.verb == "triage.archive"}
        assert reasons == {"seen"}
        await pane.press("p", *"Core", "enter")
        await room.sees("1 open")
        await pane.press("full_stop")
        await room.until(lambda: len(folder.snapshot().work) == 2)
        assert {unit.lane for unit in folder.snapshot().work} == {"Core"}


async def test_a_dot_says_what_it_repeats_and_where_it_does_not_fit(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("workers").focus().press("full_stop")
        assert "repeat: nothing to repeat yet" in room.footer
        await room.pane("discoveries").focus().press("a", "r", *"old", "enter")
        await room.until(lambda: room.port.asked)
        await room.pane("workers").focus().press("full_stop")
        assert "repeat: the last command was archive, in discoveries" in room.footer
        assert len(room.port.asked) == 1


async def test_a_dot_asks_again_before_what_was_asked_before(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("ctrl+k", *room.app.room.snapshot.config.agent.name, "enter")
        await room.until(lambda: room.port.asked)
        assert "every worker" not in room.text.lower()
        await room.press("full_stop")
        await room.sees("ended at once")
        assert [verb for verb, _ in room.port.asked] == ["kill"]


async def test_what_was_opened_and_so_read_is_not_what_a_dot_repeats(open_room: Any) -> None:
    async with open_room() as room:
        await room.pane("workers").focus().press("c")
        await room.until(lambda: room.port.asked)
        await room.pane("signals").focus().press("enter")
        await room.until(lambda: len(room.port.asked) == 2)
        await room.press("escape")
        await room.pane("workers").focus().press("j", "full_stop")
        await room.until(lambda: len(room.port.asked) == 3)
        assert room.port.asked[2][0] == "task.cancel"
        assert room.port.asked[2] != room.port.asked[0]


async def test_a_read_only_room_repeats_nothing(open_room: Any) -> None:
    async with open_room(read_only=True) as room:
        await room.pane("workers").focus().press("full_stop")
        assert "read-only" in room.footer
