"""Memory blocks as their screen draws them: a line in the list, and beside it who wrote it and what it says."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment

from lumen_tui.model import times
from lumen_tui.model.blocks import Block, Step, description
from lumen_tui.queries.blocks_page import BlocksPage
from lumen_tui.tui import words
from lumen_tui.tui.kit.cells import Cell, line
from lumen_tui.tui.kit.parts import Fact
from lumen_tui.tui.kit.rows_sheet import Rows
from lumen_tui.tui.kit.timestamps import moment


class BlockRow(NamedTuple):
    """A block, or with `past` one step of its history."""

    key: str
    block: Block
    past: Step | None = None


def block_rows(page: BlocksPage) -> list[BlockRow]:
    """The standard blocks first."""
    return [BlockRow(block.name, block) for block in page.blocks]


def step_rows(page: BlocksPage, name: str) -> list[BlockRow]:
    """The history of one block, newest first."""
    block = next((one for one in page.blocks if one.name == name), Block(name))
    return [BlockRow(f"{name}:{step.step}", block, step) for step in reversed(page.steps.get(name, ()))]


def state_of(block: Block) -> tuple[str, bool]:
    """What holds a writer up or is wrong, in a word or two, and whether it is bad news."""
    if block.problem:
        return "unreadable", True
    if block.over:
        return f"{block.over:,} over", True
    if block.doubtful:
        return block.trust, True
    return ("locked" if block.fields.locked else "read-only" if block.fields.read_only else ""), False


class BlockRows(Rows[BlockRow]):
    """Name, size of limit, state, author, age; of a step its number, how, author, age and note."""

    def key(self, row: BlockRow) -> str:
        return row.key

    def line(self, row: BlockRow, width: int, selected: bool, marked: bool) -> list[Segment]:
        ink = self.look.ink
        said = ink.strong if selected else ink.text
        if row.past is not None:
            return self._step(row.past, width, selected)
        block, (state, bad) = row.block, state_of(row.block)
        age = words.age(self.now - times.epoch(block.at)) if block.at else "empty"
        size = f"{words.kilo(block.chars)}/{words.kilo(block.fields.limit)}"
        return line(width, (
            Cell(block.name, said if block.text else ink.muted),
            *((Cell(state, ink.bad if bad else ink.muted, 11),) if state or width >= 44 else ()),
            *((Cell(size, ink.muted, 11, right=True),) if width >= 28 else ()),
            *((Cell(block.by, ink.muted, 10),) if width >= 50 else ()),
            *((Cell(age, ink.muted, 6, right=True),) if width >= 22 else ()),
        ))  # fmt: skip

    def _step(self, step: Step, width: int, selected: bool) -> list[Segment]:
        ink = self.look.ink
        return line(width, (
            Cell(str(step.step), ink.strong if selected else ink.text, 5, right=True),
            Cell(step.how, ink.strong if selected else ink.text, 8),
            Cell(step.by, ink.text),
            *((Cell(step.trust, ink.muted, 10),) if width >= 48 else ()),
            Cell(f"{words.kilo(step.chars)}", ink.muted, 6, right=True),
            Cell(words.age(self.now - times.epoch(step.at)), ink.muted, 6, right=True),
        ))  # fmt: skip

    def words(self, row: BlockRow) -> str:
        if row.past is not None:
            return f"{row.past.how} {row.past.by} {row.past.trust} {row.past.note} {row.past.source}"
        return f"{row.block.name} {row.block.text} {row.block.by}"

    def fields(self, row: BlockRow) -> dict[str, str]:
        of = row.past or row.block
        return {"by": of.by, "trust": of.trust, "how": of.how, "name": row.block.name}


def facts_of(row: BlockRow, now: float) -> list[Fact]:
    """Beside the list."""
    of = row.past or row.block
    fields = row.past.fields if row.past else row.block.fields
    facts: list[Fact] = [
        ("size", f"{of.chars:,} of {fields.limit:,} characters"),
        ("written", moment(times.epoch(of.at), now) if of.at else "never: e writes it"),
    ]
    facts += [(name, value) for name, value in (
        ("by", of.by), ("trust", of.trust if of.at else ""), ("source", of.source), ("note", of.note),
        ("step", str(of.step) if of.step else ""), ("locked", f"by {fields.locked}" if fields.locked else ""),
        ("agents", "may not write it" if fields.read_only else ""), ("problem", row.block.problem),
        ("for", description(row.block.name, fields)),
    ) if value]  # fmt: skip
    return facts
