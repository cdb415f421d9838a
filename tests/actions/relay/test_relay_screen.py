"""The screen of relays, driven by keys in a small app with the room's styles."""

from __future__ import annotations

from typing import Any

from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.engine.port import RemotePort
from lumen_tui.store.memory.relays import RelayIndex
from lumen_tui.tui.screens.relays import RelayScreen


def on_stage(desk: Any, refusal: str = "") -> Stage:
    index = RelayIndex(desk.layout)

    def read() -> Any:
        index.refresh()
        return index.boxes

    return Stage(RelayScreen(RemotePort(desk.layout.root, "ann"), desk.now, read, refusal))


async def test_what_is_held_is_released_dropped_and_taken_back(desk) -> None:
    desk.submit("first of all", 0)
    held = desk.submit("a late answer", 0, "agent-b")
    app = on_stage(desk)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "conflict: based on position" in app.shown and "1 held" in app.shown)
        await pilot.press("y")
        await until(pilot, lambda: "released at position 2 of outbox" in app.shown and "0 held" in app.shown)
        await pilot.press("d")
        await until(pilot, lambda: "is in the relay already" in app.shown)
        assert desk.texts == ["first of all", "a late answer"]
        await pilot.press("u")
        await until(pilot, lambda: desk.needs() == [held.id] and "1 held" in app.shown)
        await pilot.press("d")
        await until(pilot, lambda: "a late answer" in app.shown and "Drop" in app.shown)
        await pilot.press(*"old", "f2")
        await until(pilot, lambda: desk.needs() == [])
        assert desk.box.by_id[held.id].note == "old"
        await pilot.press("enter")
        await until(pilot, lambda: "at position 1" in app.shown)


async def test_a_read_only_room_and_hostile_words(desk) -> None:
    desk.submit("first", 0)
    held = desk.submit("[/] \x1b]52;c;x\x07 \u202e [@click=app.quit]x", 0, "agent-b")
    app = on_stage(desk, "this room only reads")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1 held" in app.shown)
        await pilot.press("y")
        await until(pilot, lambda: "this room only reads" in app.shown)
        assert "\x1b" not in app.shown
        assert "\u202e" not in app.shown
        assert desk.needs() == [held.id]
