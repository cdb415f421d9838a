"""From what needs a person to what is wrong with a file and what to do about it."""

from __future__ import annotations

from typing import Any

from lumen_tui.model.problem import Problem
from lumen_tui.model.snapshot import Attention, Need

PROBLEMS = (
    Problem("lumen.toml:3", "not a number", "write one"),
    Problem("work/WU-9.md:1", "no front matter", "begin it with +++"),
)
NEEDS = tuple(Attention(Need.PROBLEM, one.where, f"{one.where}: {one.what}") for one in PROBLEMS)


async def test_enter_on_a_problem_shows_what_to_do(open_room: Any) -> None:
    async with open_room() as room:
        room.port.change(attention=NEEDS, problems=PROBLEMS)
        await room.until(lambda: room.app.room.snapshot.problems == PROBLEMS)
        await room.press("exclamation_mark", "j", "enter")
        assert "2 problems" in room.text
        assert "begin it with +++" in room.text
        assert "write one" not in room.text
        room.port.change(attention=NEEDS[:1], problems=PROBLEMS[:1])
        await room.until(lambda: "1 problem " in room.text and "write one" in room.text)
        await room.press("enter")
        assert "what to do" in room.text
        await room.press("escape", "escape")
        assert "2 problems" not in room.text


async def test_the_problems_have_a_key_which_the_next_need_names(open_room: Any) -> None:
    async with open_room() as room:
        await room.press("X")
        assert "every file can be read" in room.footer
        room.port.change(attention=NEEDS, problems=PROBLEMS)
        await room.until(lambda: room.app.room.snapshot.problems == PROBLEMS)
        await room.press("n")
        assert "lumen.toml:3: not a number" in room.text
        await room.press("enter")
        assert "write one" in room.text
        await room.press("escape", "X")
        assert "write one" in room.text
