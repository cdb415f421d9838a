"""A line to a terminal that carries so many bytes a second, as a modem did."""

from __future__ import annotations

import math
import os
import re
import select
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable

from lumen_emulator import Emulator
from lumen_terminal import Terminal
from lumen_until import until

_BEGUN = re.compile(r"\x1b(?:\[[0-9;?<=>]*|\][^\x07\x1b]*)?\Z")  # a sequence whose end is still on its way
_TICK = 0.01  # seconds


class Modem:
    """Carries so many bytes a second to a terminal, which answers once it has shown what came before a question."""

    def __init__(self, room: Terminal) -> None:
        self.room = room
        self.rate = math.inf  # bytes a second
        self.count = 0  # bytes that arrived
        self.emulator = Emulator(120, 40)
        self._tail = ""
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    @property
    def text(self) -> str:
        return "\n".join(self.emulator.lines)

    def carry(self, _: float = 0.0) -> None:
        """Carry what the line takes in a moment."""
        time.sleep(_TICK)
        if not select.select([self.room.fd], [], [], 0)[0]:
            return
        data = os.read(self.room.fd, max(1, int(min(self.rate * _TICK, 65536))))
        self.count += len(data)
        whole = self._tail + self._decode(data)
        begun = _BEGUN.search(whole)
        shown, self._tail = (whole[: begun.start()], begun[0]) if begun else (whole, "")
        self.emulator.feed(shown)
        for _ in range(shown.count("\x1b[5n")):
            os.write(self.room.fd, b"\x1b[0n")

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; what it shows then is nobody's business."""
        self.emulator = Emulator(max(1, columns), max(1, rows))
        self.emulator.feed("\x1b[41m" + "#" * columns)
        termios.tcsetwinsize(self.room.fd, (rows, columns))

    def press(self, keys: str) -> None:
        os.write(self.room.fd, keys.encode())

    def until(self, fact: Callable[[], object]) -> None:
        until(fact, lambda: self.text, sleep=self.carry)
