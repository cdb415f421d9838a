"""Agents and persons at once: nothing that was acknowledged is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from blocks_folder import NOON, Memory

from lumen_tui.model.blocks import Block, appended
from lumen_tui.store.memory import block_files, blocks
from lumen_tui.store.memory.blocks import Write

_WRITERS, _EACH = 4, 8


@pytest.mark.fault("R6", "writers beside rewrites, killed at random")
def test_a_crowd_of_writers_and_an_editor_lose_nothing(memory: Memory) -> None:
    memory.do("block.append", name="human", text="begin")

    def write(writer: int) -> None:
        for number in range(_EACH):
            line = f"writer {writer} line {number}"

            def decide(before: Block, line: str = line) -> Write:
                return Write(appended(before.text, line), before.fields, f"w{writer}", "append", "agent", person=False)

            blocks.write(memory.layout, "human", decide, now=NOON + number)

    def edit() -> None:
        """Saves what was opened before, whatever was written since, as an editor does."""
        for number in range(_EACH):
            beside = memory.file().with_suffix(".swp")
            beside.write_text(memory.file().read_text() + f"by hand {number}\n")
            beside.replace(memory.file())
            blocks.take_in(memory.layout, NOON + number)

    with ThreadPoolExecutor(_WRITERS + 1) as pool:
        jobs = [pool.submit(write, writer) for writer in range(_WRITERS)] + [pool.submit(edit)]
        for job in jobs:
            job.result()
    steps = memory.steps()
    assert [one.step for one in steps] == list(range(1, len(steps) + 1))
    texts = [block_files.stored_text(memory.layout, one) for one in steps]
    for writer in range(_WRITERS):
        for number in range(_EACH):
            assert any(f"writer {writer} line {number}" in text for text in texts)
    assert memory.block().text == texts[-1]
    assert not memory.block().by_hand
