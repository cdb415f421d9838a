"""A writer that is killed before any of its system calls leaves nothing that looks like somebody else's work."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from blocks_folder import NOON, Memory

from lumen_tui.model.blocks import Block
from lumen_tui.store.memory import block_files, blocks
from lumen_tui.store.memory.blocks import Write

_CALLS = ("open", "write", "fsync", "fdatasync", "replace", "unlink", "ftruncate", "mkdir")


class Killed(BaseException):
    """What SIGKILL does, as far as a test in the same process can."""


def _killed_before(number: int, act: Callable[[], object]) -> bool:
    """Carry `act` out and kill it before its call of this number; whether it came so far."""
    made, real = 0, {name: getattr(os, name) for name in _CALLS}

    def counted(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made >= number:
                raise Killed
            return real[name](*given, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, counted(name))
        try:
            act()
        except Killed:
            return True
    return False


def _append(memory: Memory) -> None:
    def decide(before: Block) -> Write:
        return Write(before.text + " poison", before.fields, "web-reader", "append", "untrusted", person=False)

    blocks.write(memory.layout, "human", decide, now=NOON)


def test_a_kill_before_any_call_blames_nobody_else(memory: Memory) -> None:
    memory.do("block.append", name="human", text="Ann")
    number, done = 1, False
    while not done:
        before = memory.block().text
        done = not _killed_before(number, lambda: _append(memory))
        memory.do("block.append", name="persona", text=f"look {number}")
        after = memory.block()
        assert after.text in (before, before + " poison")
        assert not after.by_hand
        assert not memory.layout.block_pending.exists()
        for step in memory.steps():
            said = block_files.stored_text(memory.layout, step)
            assert (step.by, step.trust) == ("web-reader", "untrusted") if "poison" in said else step.by == "ana"
        number += 1
    assert number > 20
    assert "poison" in memory.block().text
