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
_MOMENT = 0.1  # seconds: what a line did not carry in time it does not carry later


class Modem:
    """Carries so many bytes a second to a terminal, which answers once it has shown what came before a question."""

    def __init__(self, room: Terminal) -> None:
        self.room = room
        self.rate = math.inf  # bytes a second
        self.count = 0  # bytes that arrived
        self._carried_at = time.monotonic()
        self._credit = 0.0  # bytes that the line could have carried and did not, of the moment that has passed
        self.emulator = Emulator(120, 40)
        self._tail = ""
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    @property
    def text(self) -> str:
        return "\n".join(self.emulator.lines)

    def carry(self, _: float = 0.0) -> None:
        """Carry what the line takes in a moment."""
        time.sleep(_TICK)
        now = time.monotonic()
        self._credit = min(self._credit + self.rate * (now - self._carried_at), max(1.0, self.rate * _MOMENT), 65536)
        self._carried_at = now
        if self._credit < 1 or not select.select([self.room.fd], [], [], 0)[0]:
            return
        data = os.read(self.room.fd, int(self._credit))
        self.count += len(data)
        self._credit -= len(data)
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
