"""`:` takes what `lumen-tui` takes: completed, with the lines of before, refused in its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lumen_tui.actions.typed_lines import keep_line, typed_lines
from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.model.requests.tasks import NewTask
from lumen_tui.storage.layout import Layout


@pytest.fixture
def folder(tmp_path: Path) -> RemotePort:
    Layout(tmp_path / "state").create()
    port = RemotePort(tmp_path / "state", "someone")
    port.submit(NewTask(objective="count the files", id="count-files"))
    port.submit(CreateNode(content="a leak", priority="P1"))
    return port


async def opened_line(room: Any) -> None:
    """Open the line, and wait until it knows what `lumen-tui` takes."""
    await room.press("colon")
    await room.until(lambda: room.app.screen._grammar is not None)


async def typed(room: Any, text: str) -> None:
    await room.press(*["space" if char == " " else char for char in text])


async def test_a_listing_opens_on_a_page(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "task list --all")
        await room.press("enter")
        await room.sees("lumen-tui task list --all", "count the files")
        await room.press("escape", "semicolon")
        await room.sees("lumen-tui task list --all", "1 command")


async def test_a_line_acts_as_a_key_does_and_u_takes_it_back(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "signal hello")
        await room.press("enter")
        await room.sees("1 unread")
        assert folder.snapshot().signals[0].signal.message == "hello"
        await opened_line(room)
        await typed(room, f"triage --archive {folder.snapshot().discoveries[0].node.id} -r old")
        await room.press("enter")
        await room.until(lambda: not folder.snapshot().discoveries)
        await room.sees("5 Discoveries · none")
        await room.press("u")
        await room.until(lambda: folder.snapshot().discoveries)


async def test_tab_completes_verbs_options_ids_and_values(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "task can")
        await room.press("tab")
        field = room.app.screen._field
        assert field.value == "task cancel "
        await room.press("tab")
        assert field.value == "task cancel count-files"
        await typed(room, " --r")
        await room.press("tab")
        assert field.value == "task cancel count-files --reason "
        field.value = "create x --type "
        await room.sees("discovery", "checkpoint")
        await typed(room, "check")
        await room.press("tab")
        assert field.value == "create x --type checkpoint "
        field.value = "task new x --role rese"
        await room.press("tab")
        assert field.value == "task new x --role researcher "


async def test_tab_goes_through_what_fits(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "fact re")
        await room.press("tab")
        assert room.app.screen._field.value == "fact retire "
        room.app.screen._field.value = "wu "
        seen = []
        for _ in range(3):
            await room.press("tab")
            seen.append(room.app.screen._field.value)
        assert seen == ["wu list", "wu show", "wu new"]


async def test_a_mistake_is_told_in_the_words_of_the_command_line_and_can_be_mended(
    folder: RemotePort, open_room: Any
) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "task cancle count")
        await room.press("enter")
        await room.sees("'cancle' is unknown", "did you mean: cancel?")
        assert room.app.screen._field.value == "task cancle count"
        room.app.screen._field.value = "task show 'open"
        await room.press("enter")
        await room.sees("a quote or a backslash is left open")


async def test_lines_of_before_come_back_also_in_another_room(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        for line in ("wu list", "attention list"):
            await opened_line(room)
            await typed(room, line)
            await room.press("enter")
            await room.until(lambda expected=line: typed_lines(Layout(folder.root), "someone")[-1:] == (expected,))
            await room.press("escape")
    async with open_room(port=folder) as room:
        await opened_line(room)
        await room.press("up")
        assert room.app.screen._field.value == "attention list"
        await room.press("up")
        assert room.app.screen._field.value == "wu list"
        await room.press("down", "down")
        assert room.app.screen._field.value == ""


async def test_what_ends_something_asks_first_and_kill_asks_as_its_key_does(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "role fire builder --reason idle")
        await room.press("enter")
        await room.sees("Run this?", "role fire builder")
        await room.press("escape", "escape")
        assert "builder" in {role.name for role in folder.snapshot().roles}
        await opened_line(room)
        await typed(room, "kill ")
        await room.press("enter")
        await room.sees("Kill everything", "Type lumen to go on")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("events --follow", "--follow goes on for ever"),
        ("evolve --watch", "--watch goes on for ever"),
        ("run x ", "`run` drives a task by itself"),
        ("task list --state /tmp", "--state is of the shell"),
        ("role adjust builder --edit", "an editor needs the terminal"),
        ("chat --fresh", "a conversation has a screen of its own"),
    ],
)
async def test_what_makes_no_sense_in_a_room_says_so(
    folder: RemotePort, open_room: Any, line: str, sentence: str
) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, line)
        await room.press("enter")
        await room.sees(sentence)


async def test_a_read_only_room_reads_and_writes_nothing(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder, read_only=True) as room:
        await opened_line(room)
        await typed(room, "signal hello")
        await room.press("enter")
        await room.sees("opened with --read-only")
        room.app.screen._field.value = "task list"
        await room.press("enter")
        await room.sees("count the files")
        assert not folder.snapshot().signals


async def test_the_names_of_room_commands_come_first(folder: RemotePort, open_room: Any) -> None:
    async with open_room(port=folder) as room:
        await opened_line(room)
        await typed(room, "budget")
        await room.press("enter")
        await room.sees("Budget")
        assert room.app.screen.heading == "Budget"


def test_secrets_in_a_line_are_masked_where_it_is_kept(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    key = "sk-ant-" + "api03-" + "a1B2" * 20
    keep_line(layout, "someone", f"signal 'the key is {key}'")
    assert key not in str(typed_lines(layout, "someone"))
    keep_line(layout, "someone", "task list\nwu list")
    keep_line(layout, "someone", "task list")
    assert typed_lines(layout, "someone")[-1] == "task list"
    (layout.operators / "someone.lines").write_bytes(b"\xff\xfe\n" + b"x" * 5000 + b"\n\x1b[31mred\n")
    assert all(line.isprintable() for line in typed_lines(layout, "someone"))
    assert typed_lines(layout, "nobody") == ()
