"""The list of what needs a person offers what can be done about the row under the cursor."""

from __future__ import annotations

import dataclasses
from typing import Any


async def test_what_stays_is_not_offered_to_be_put_aside(desk: Any, open_room: Any) -> None:
    desk.ended(desk.task("part 1"))
    desk.do("kill", reason="too much")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 2", "resume")
        assert "dismiss" not in room.text
        await room.press("j")
        await room.sees("R retry", "d dismiss", "l snooze")


async def test_who_only_looks_is_offered_no_answer(desk: Any, open_room: Any) -> None:
    desk.ask("make one")
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("y allow", "d deny", "l snooze", "u undo")
        sheet = room.app.screen
        sheet.needs_host = dataclasses.replace(sheet.needs_host, refusal=lambda: "read-only")
        sheet._show_keys()
        await room.until(lambda: "y allow" not in room.text)
        for word in ("deny", "snooze", "undo", "mark"):
            assert word not in room.text


async def test_the_list_takes_the_lines_that_it_needs_and_the_room_below_it_offers_nothing(
    desk: Any, open_room: Any
) -> None:
    desk.ended(desk.task("part 1"))
    async with open_room(desk) as room:
        below = room.lines[12:-1]
        await room.press("exclamation_mark")
        await room.sees("Needs you · 1", "R retry")
        assert room.lines[12:-1] == below
        assert not room.lines[-1].strip()
        before = len(room.app.screen.query_one(".box").region.line_span)
        await room.press("d")
        await room.sees("Nothing needs you.")
        assert len(room.app.screen.query_one(".box").region.line_span) == before, "it keeps its lines while it is open"
        await room.press("escape")
        await room.until(lambda: room.lines[-1].strip())


async def test_a_list_longer_than_the_window_scrolls_in_all_of_it(desk: Any, open_room: Any) -> None:
    for number in range(50):
        desk.ended(desk.task(f"part {number}"))
    async with open_room(desk) as room:
        await room.press("exclamation_mark")
        await room.sees("Needs you · 50", "esc back")
        last = next(number for number, line in enumerate(room.lines) if "esc back" in line)
        assert room.lines[last + 1].startswith("╰")
        await room.press("G")
        await room.until(lambda: any(line.startswith("│ ▌") for line in room.lines[last - 4 : last]))
