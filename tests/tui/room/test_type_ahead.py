"""What is typed faster than the room can follow ends up where it was meant: over slow lines it comes in pieces."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path
from typing import Any

import lumen_sweeps
import pytest
from lumen_terminal import Terminal
from textual.events import Key

from lumen_tui.engine.port import RemotePort
from lumen_tui.model.requests.memory import CreateNode
from lumen_tui.storage import files
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.patches import type_ahead

_LETTERS = "jkgGqzunNpalmsxcdtirABDKT y"  # most of them are commands of the room


def _reasons(root: Path) -> list[str]:
    """With what reasons discoveries were archived, the first one first."""
    deeds = RemotePort(root, "me").audit_entries(1000)
    return [deed.reason for deed in reversed(deeds) if deed.verb == "triage.archive"]


def _objectives(root: Path) -> list[str]:
    """Of the tasks, the oldest first; a folder whose name begins with a dot is one that is being made."""
    specs = sorted(Layout(root).tasks.glob("[!.]*/spec.json"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(path.read_text())["objective"] for path in specs]


def _words(chance: random.Random) -> str:
    """With single spaces: a reason keeps no others."""
    return " ".join(("w" + "".join(chance.choice(_LETTERS) for _ in range(chance.randint(3, 14)))).split())


def _typed_in_pieces(terminal: Terminal, keys: str, chance: random.Random) -> None:
    while keys:
        size = chance.choice((1, 2, 3, 7, 20, 200))
        piece, keys = keys[:size], keys[size:]
        os.write(terminal.fd, piece.encode())
        terminal.read(chance.choice((0, 0, 0.001, 0.02)))


@pytest.mark.parametrize("seed", lumen_sweeps.seeds(4))
def test_no_key_behind_an_enter_reaches_the_form_that_it_sent(
    state: Path, terminals: list[Terminal], seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - what is typed
    port = RemotePort(state, "me")
    for number in range(20):
        port.submit(CreateNode(content=f"a thing to judge, {number}", priority="P3"))
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    reasons, objectives, keys = list[str](), list[str](), "5"
    for _ in range(8):
        if chance.random() < 0.6:
            reasons.append(_words(chance))
            keys += f"ar{reasons[-1]}\r" + chance.choice(("", "j", "jk", "jjk"))
        else:
            objectives.append(_words(chance))
            keys += f"t{objectives[-1]}\r5"
    _typed_in_pieces(terminal, keys, chance)
    terminal.until(lambda: len(_reasons(state)) + len(_objectives(state)) >= 8)
    assert _reasons(state) == reasons
    assert _objectives(state) == objectives
    terminal.press("q")
    assert terminal.end() == 0


def test_what_was_typed_last_is_saved_before_the_room_is_gone(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    with files.locked_log(Layout(state).memory):  # the disk takes its time
        os.write(terminal.fd, b"5a1q")
        terminal.wait_for("saving the last changes")
        assert not _reasons(state)
    assert terminal.end() == 0
    assert _reasons(state) == ["duplicate"]


def test_a_digit_behind_a_verdict_is_taken_before_its_question_is_seen(state: Path, terminals: list[Terminal]) -> None:
    terminals.append(terminal := Terminal(state))
    terminal.wait_for("something noticed")
    os.write(terminal.fd, b"5a1a2a1")
    terminal.until(lambda: len(_reasons(state)) >= 3)
    assert _reasons(state) == ["duplicate", "won't fix", "duplicate"]
    terminal.press("q")
    assert terminal.end() == 0


async def test_a_row_that_is_read_from_a_slow_disk_gets_the_keys_that_come_behind_its_enter(open_room) -> None:
    async with open_room() as room:
        read, done = room.port.node, threading.Event()

        def slowly(node_id: str) -> Any:
            threading.Event().wait(0.5)
            done.set()
            return read(node_id)

        room.port.node = slowly
        for key in ("6", "enter", "escape", "j", "space"):
            room.app.post_message(Key(key, key if len(key) == 1 else None))
        await room.until(lambda: done.is_set() and room.pane("decay").marked)
        await room.settle()
        assert room.app.screen is room.app.room
        assert room.pane("decay").marked


async def test_a_screen_that_is_never_ready_keeps_no_key_for_ever(open_room, monkeypatch) -> None:
    monkeypatch.setattr(type_ahead, "_PATIENCE", 0.1)
    async with open_room() as room:
        with room.app.awaited():
            for key in ("5", "j", "space"):
                room.app.post_message(Key(key, key if len(key) == 1 else None))
            await room.until(lambda: room.pane("discoveries").marked)
