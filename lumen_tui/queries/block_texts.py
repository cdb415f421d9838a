"""The memory blocks as a prompt has them: each as data, with whose word it is, within a share of characters."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model import times
from lumen_tui.model.blocks import Block, description
from lumen_tui.model.capsule import bounded
from lumen_tui.model.fences import fence
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.store.memory import block_files, blocks

MOST = 24_000  # characters of all blocks together; each has an equal share where they do not fit whole
_HEAD = 700  # characters that may be needed around a text
_WORDS = {
    "untrusted": "NOT TRUSTED: part of it was written after a look at the web",
    "worker": "a worker's word",
    "imported": "imported from an agent file",
    "agent": "the main agent's own word",
    "person": "a person's word",
}


def entries(layout: Layout, now: float, most: int = MOST) -> list[str]:
    """Return one entry for each block that has text, `most` characters together."""
    try:
        present = [block for block in blocks.read_all(layout) if block.text.strip() or block.problem]
    except (files.StoreError, OSError) as error:
        return [f"- the memory blocks cannot be read: {error}"]
    return _entries(layout, present, now, most) if present else []


def _entries(layout: Layout, present: Sequence[Block], now: float, most: int) -> list[str]:
    share = most // len(present) - _HEAD
    whole = sum(block.chars + _HEAD for block in present) <= most
    return [_entry(layout, block, now, block.chars if whole else max(200, share)) for block in present]


def _entry(layout: Layout, block: Block, now: float, most: int) -> str:
    facts = [
        f"block {block.name}, step {block.step}",
        f"by {block.by or 'nobody known'}",
        f"written {times.stamp(times.epoch(block.at, now))}",
        f"{block.size} characters",
        _WORDS.get(block.trust, _WORDS["untrusted"]),
        block.source if block.doubtful else "",
    ]
    lines = [f"- {block.name}: {description(block.name, block.fields)}".rstrip(": ")]
    lines += [f"  {text}" for text in _remarks(block)]
    text = bounded(
        block.text[: max(most, block.fields.limit)], most, f"read_file {block_files.path_of(layout, block.name)}"
    )
    return "\n".join([*lines, fence(text, ", ".join(fact for fact in facts if fact))])


def _remarks(block: Block) -> list[str]:
    """Return what a writer of the block must know."""
    remarks = []
    if block.problem:
        remarks.append(f"its file cannot be read, this is the text of its last step: {block.problem}")
    if block.over:
        remarks.append(f"it is {block.over:,} characters over its limit, by a person's hand: nothing can be added")
    if block.fields.locked or block.fields.read_only:
        remarks.append("you cannot write it")
    return remarks
