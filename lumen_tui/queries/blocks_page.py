"""The blocks with their histories, read at once for a screen."""

from __future__ import annotations

import msgspec

from lumen_tui.model.blocks import Block, Step, shown_difference
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import block_files, blocks


class BlocksPage(msgspec.Struct, frozen=True):
    """What is shown of them."""

    blocks: tuple[Block, ...] = ()
    steps: dict[str, tuple[Step, ...]] = {}  # of each block, oldest first


def read_page(layout: Layout, now: float, *, write: bool) -> BlocksPage:
    """Read all blocks; where it may `write`, edits by hand are recorded first."""
    if write:
        try:
            blocks.take_in(layout, now)
        except files.StoreError:
            pass  # a full disk: what is in the files is shown all the same, as changed by hand
    histories = block_files.history(layout)
    return BlocksPage(tuple(blocks.read_all(layout)), {name: tuple(steps) for name, steps in histories.items()})


def diff_of(layout: Layout, steps: tuple[Step, ...], number: int) -> str:
    """Return what one step changed; a sentence where a text is damaged or nothing changed."""
    index = next((n for n, step in enumerate(steps) if step.step == number), -1)
    if index < 0:
        return ""
    before = steps[index - 1] if index else None
    try:
        old = block_files.kept_text(layout, before) if before else ""
        new = block_files.kept_text(layout, steps[index])
    except block_files.DamagedText as error:
        return f"! {error}"
    return shown_difference(old, new, f"step {before.step if before else 0}", f"step {number}")
