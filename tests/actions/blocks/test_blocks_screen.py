"""The screen of the memory blocks, driven by keys in a small app with the room's styles."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from blocks_folder import Memory
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.engine.port import RemotePort
from lumen_tui.model import times
from lumen_tui.tui.kit import editor
from lumen_tui.tui.kit.parts import Facts
from lumen_tui.tui.screens.blocks import BlocksScreen


def on_stage(memory: Memory, refusal: str = "") -> Stage:
    port = RemotePort(memory.layout.root, "ana")
    return Stage(BlocksScreen(port, port.snapshot(), refusal))


@pytest.fixture
def written(memory: Memory) -> Memory:
    memory.do("block.append", name="persona", text="Calm and short. [/] \x1b]52;c;aGk=\x07")
    memory.do("block.append", name="persona", text="Never guesses.")
    return memory


async def test_blocks_with_text_history_and_the_way_back(written: Memory) -> None:
    app = on_stage(written)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "Never guesses." in app.shown)
        for words in ("persona", "human", "of 20,000 characters", "by", "ana", "2 blocks", "Who the agent is"):
            assert words in app.shown
        assert "\x1b" not in app.shown
        await pilot.press("H")
        await until(pilot, lambda: "+Never guesses." in app.shown and "history of persona" in app.shown)
        await pilot.press("j", "b")
        await until(pilot, lambda: "persona put back to step 1" in app.shown)
        assert "Never" not in written.block("persona").text
        await pilot.press("u")
        await until(pilot, lambda: "Never guesses." in written.block("persona").text)
        await pilot.press("escape")
        await until(pilot, lambda: "history of" not in app.shown)


async def test_lock_and_unlock(written: Memory) -> None:
    app = on_stage(written)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "persona" in app.shown)
        await pilot.press("K")
        await until(pilot, lambda: written.block("persona").fields.locked == "ana" and "locked" in app.shown)
        await pilot.press("K")
        await until(pilot, lambda: not written.block("persona").fields.locked)


async def test_a_text_that_is_refused_is_opened_again(written: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def typed(_: object, text: str) -> str:
        """The operator adds a line, while the agent does as well the first time."""
        opened.append(text)
        if len(opened) == 1:
            written.do("block.append", by="lumen", name="persona", text="Asks first.", agent=True)
            return text + "Mine.\n"
        return "Calm. Asks first. Mine.\n"

    monkeypatch.setattr(editor, "edit", typed)
    app = on_stage(written)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "Never guesses." in app.shown)
        await pilot.press("e")
        await until(pilot, lambda: "was written since you read step 2" in app.shown)
        await pilot.press("e")
        await until(pilot, lambda: written.block("persona").text == "Calm. Asks first. Mine.")
        assert opened[1].endswith("Never guesses.\nMine.\n")


async def test_a_read_only_room_says_so_and_records_nothing(written: Memory) -> None:
    written.by_hand("Calm", "Quiet", "persona")
    app = on_stage(written, "this room was opened with --read-only")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "Quiet and short" in app.shown)
        await pilot.press("K")
        await until(pilot, lambda: "--read-only" in app.shown)
        assert len(written.steps("persona")) == 2
        await pilot.press("enter")
        await until(pilot, lambda: "copy" in app.shown)


async def test_a_new_block_is_made_in_a_form_that_refuses_a_name_that_is_taken(written: Memory) -> None:
    app = on_stage(written)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "t new" in app.shown and "2 blocks" in app.shown)
        await pilot.press("t")
        await until(pilot, lambda: "New memory block" in app.shown)
        await pilot.press(*"human", "enter")
        await until(pilot, lambda: "There is a block human already" in app.shown)
        await pilot.press(*"2", "tab", *"a b", "enter")
        await until(pilot, lambda: "block human2 made" in app.shown and "3 blocks" in app.shown)
        assert written.block("human2").fields.description == "a b"
        await pilot.press("u")
        await until(pilot, lambda: "2 blocks" in app.shown)


async def test_a_locked_block_opens_no_editor(written: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    written.do("block.lock", name="persona")
    monkeypatch.setattr(editor, "edit", lambda *_: pytest.fail("the editor was opened"))
    app = on_stage(written)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "locked" in app.shown)
        await pilot.press("e")
        await until(pilot, lambda: "K unlocks it" in app.shown)


async def test_ages_go_on_with_the_rooms_clock_and_nothing_else_is_painted(
    written: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = on_stage(written)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: "Never guesses." in app.shown)
        sheet = app.sheet
        assert isinstance(sheet, BlocksScreen)
        now = times.epoch(written.block("persona").at) + 60
        sheet.tick(now)
        await until(pilot, lambda: "1 min" in app.shown)
        painted: list[object] = []
        for widget in (sheet.rows, sheet.query_one(Facts)):
            monkeypatch.setattr(widget, "refresh", recording(widget.refresh, painted))
        sheet.tick(now + 1)
        assert painted == []
        sheet.tick(now + 2 * 3600)
        assert len(painted) == 2  # the age in the row, and the line beside it
        await until(pilot, lambda: app.shown.count("2 h") == 2)


def recording(refresh: Callable[..., object], painted: list[object]) -> Callable[..., object]:
    def recorded(*regions: object, **how: object) -> object:
        painted.append(regions)
        return refresh(*regions, **how)

    return recorded
