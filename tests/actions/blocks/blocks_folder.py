"""A state folder with blocks, and who writes in it."""

from __future__ import annotations

from pathlib import Path

from lumen_folder import StateFolder

from lumen_tui.model.blocks import Block, Step
from lumen_tui.store.memory import blocks

NOON = 1_800_000_000.0


class Memory(StateFolder):
    """The blocks of one state folder; each call is a second later."""

    STEP = 1.0

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOON)
        self.layout.create()

    def block(self, name: str = "human") -> Block:
        return blocks.read(self.layout, name)

    def steps(self, name: str = "human") -> list[Step]:
        return blocks.steps(self.layout, name)

    def file(self, name: str = "human") -> Path:
        return self.layout.blocks / f"{name}.md"

    def by_hand(self, old: str, new: str, name: str = "human") -> None:
        """Edit the file as a person does in an editor."""
        text = self.file(name).read_text()
        assert old in text
        self.file(name).write_text(text.replace(old, new))
