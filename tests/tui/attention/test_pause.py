"""P asks what to pause, and what was asked reaches the engine's orders."""

from __future__ import annotations

from typing import Any

from lumen_tui.model.loop import Command
from lumen_tui.model.times import epoch

NOW = 1_800_000_000.0


def orders(desk: Any) -> list[Command]:
    import msgspec

    lines = (desk.store.root / "commands.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Command) for line in lines]


async def test_everything_for_two_hours_with_a_reason(driven: Any, open_room: Any) -> None:
    async with open_room(driven, size=(80, 24)) as room:
        await room.press("P")
        await room.sees("everything", "the loop", "role builder", "Nothing new starts.")
        await room.press("tab", "tab", "right", "tab", *"2h", "tab", *"copy", "enter")
        await room.until((driven.store.root / "commands.jsonl").exists)
        (order,) = orders(driven)
        assert (order.verb, order.target, order.after, order.reason) == ("pause", "", "step", "copy")
        assert epoch(order.until) == NOW + 7200


async def test_the_loop_alone_and_its_way_back(driven: Any, open_room: Any) -> None:
    async with open_room(driven) as room:
        await room.press("P", "right")
        await room.sees("workers continue")
        await room.press("enter")
        await room.until((driven.store.root / "commands.jsonl").exists)
        await room.press("P", "right", "tab", "right", "enter")
        await room.until(lambda: len(orders(driven)) == 2)
        assert [(order.verb, order.target) for order in orders(driven)] == [("pause", "loop"), ("resume", "loop")]


async def test_what_cannot_be_read_is_asked_again(driven: Any, open_room: Any) -> None:
    async with open_room(driven) as room:
        await room.press("P", "tab", "tab", "tab", *"soon", "enter")
        await room.sees("is not a duration")
        await room.press("escape")
        assert not (driven.store.root / "commands.jsonl").exists()


async def test_without_an_engine_there_is_nothing_to_pause(desk: Any, open_room: Any) -> None:
    async with open_room(desk) as room:
        await room.press("P")
        await room.sees("no engine is running; ctrl+e starts one")
