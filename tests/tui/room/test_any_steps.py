"""After any steps the terminal was told what a room would tell it that draws all of it anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from lumen_sweeps import seeds
from textual.geometry import Offset

from lumen_tui.model.records import DiscoveryRow, SignalRow
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.themes import LIGHT, LUMEN, PLAIN
from lumen_tui.model.times import iso
from lumen_tui.tui.kit.line_list import LineList
from lumen_tui.tui.kit.lines import Lines
from lumen_tui.tui.patches.frame_buffer import FrameBuffer, FrameLine
from lumen_tui.tui.patches.painter import Painter

_STEPS = 80
_NOW = 1_800_000_000.0
_MOVES = ["j", "k", "down", "up", "pagedown", "pageup", "ctrl+d", "ctrl+u", "g", "G"]
_OTHERS = ["3", "4", "5", "6", "1", "tab", "space", "v", "*", "z", "s", "?", "!", "t", "L", "escape", "enter", "slash"]
_SIZES = [(120, 40), (190, 50), (80, 24), (60, 14)]


class Wire:
    """A terminal that takes everything at once, and what it was told."""

    is_free = True

    def __init__(self, app: Any) -> None:
        self._app = app
        self._painter = Painter(app, bool)
        self._painter.begin(self)
        app._display = lambda _, update: update and self._painter.show(update, Offset())

    def write(self, data: str) -> None:
        """Show it."""

    def call(self, act: Callable[[], object], after: float = 0.0) -> None:
        """Never: nothing is held back."""

    def wrong(self) -> list[tuple[str, str]]:
        """Return the lines that a first frame would tell in another way: as they were told, and as it would."""
        told, anew = self._painter._frame._shown, self._anew()
        return [(_text(told.get(y)), _text(line)) for y, line in anew.items() if told.get(y) != line]

    def _anew(self) -> dict[int, FrameLine]:
        """Draw the screen in front, and those behind it, from nothing."""
        app, buffer = self._app, FrameBuffer(*self._app.size)
        for screen in app.screen_stack:
            for widget in screen.walk_children(with_self=True):
                widget._styles_cache.clear()
                widget._dirty_regions.add(widget.size.region)
                if isinstance(widget, LineList):
                    widget._lines.forget()
                elif isinstance(widget, Lines):
                    widget._strips = None
        buffer.take(app.screen._compositor.render_update(True, app._background_screens), app.console)
        return buffer._wanted


def _many(snapshot: Snapshot) -> Snapshot:
    """The same room with lists that are longer than any window."""

    def note(row: SignalRow, number: int) -> SignalRow:
        texts = {"id": f"sig-{number:09d}", "message": f"note {number} äß漢", "created_at": iso(_NOW - 60 * number)}
        return SignalRow(msgspec.structs.replace(row.signal, **texts), number % 3 == 0)

    def found(row: DiscoveryRow, number: int) -> DiscoveryRow:
        node = msgspec.structs.replace(row.node, id=f"mem-{number:09d}", content=f"finding {number}")
        return DiscoveryRow(node, _NOW - 3600 * number, row.like)

    signals, discoveries = snapshot.signals, snapshot.discoveries
    return msgspec.structs.replace(
        snapshot,
        signals=tuple(note(signals[number % len(signals)], number) for number in range(150)),
        discoveries=tuple(found(discoveries[number % len(discoveries)], number) for number in range(90)),
    )


async def _step(room: Any, chance: random.Random) -> str:
    """Do something, and say what."""
    snapshot, what = room.port.now_shown, chance.random()
    if what < 0.6:
        keys = [chance.choice(_MOVES)] * chance.randint(1, 4)
    elif what < 0.85:
        keys = [chance.choice(_OTHERS)]
    elif what < 0.93 and len(snapshot.signals) > 3:
        gone = chance.randrange(3)
        unread = [row if chance.random() < 0.8 else SignalRow(row.signal, not row.unread) for row in snapshot.signals]
        room.port.change(signals=tuple(unread[gone:]), taken=snapshot.taken + chance.choice([0, 1, 60]))
        await room.settle()
        room.app.tick_screens(_NOW)  # what stands over the room takes in with the next second what changed behind it
        await room.settle()
        return f"other signals, without {gone}"
    elif what < 0.95:
        room.app._take_line(slow := chance.random() < 0.5)
        await room.settle()
        return f"slow: {slow}"
    elif what < 0.97:
        room.app.choose_theme(theme := chance.choice([LUMEN, LIGHT, PLAIN]))
        await room.settle()
        return theme
    else:
        size = chance.choice(_SIZES)
        await room.pilot.resize_terminal(*size)
        await room.settle()
        return f"{size}"
    await room.press(*keys)
    return " ".join(keys)


def _text(line: FrameLine | None) -> str:
    return "".join(cell.text for cell in line or ())


@pytest.mark.parametrize("seed", seeds(20))
async def test_after_any_steps_the_terminal_was_told_what_a_first_frame_would_tell(
    open_room: Any, busy_snapshot: Snapshot, seed: int
) -> None:
    chance, steps = random.Random(seed), list[str]()  # noqa: S311 - steps of a robot
    async with open_room(_many(busy_snapshot)) as room:
        wire = Wire(room.app)
        room.app.room.refresh()
        await room.settle()
        for _ in range(_STEPS):
            steps.append(await _step(room, chance))
            assert wire.wrong() == [], steps[-8:]
