"""A state folder with a clock in which operators act: what the folders of the areas extend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumen_clock import HandClock

from lumen_tui.actions.outcome import Done
from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.clock import Clock
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.storage.store import Store

# What a builder may do at least: write files and run any command.
BUILDER = """+++
purpose = "p"
shell = "any"
write = true
tools = ["shell", "write_file", "write_result"]
+++

Work.
"""


class StateFolder:
    """One state folder. `do` carries out a verb as `BY`, `STEP` seconds after the one before, or at `now`."""

    BY = "ana"
    STEP = 0.0
    ORDERS = ("chat.send",)  # verbs that are the operator's alone

    def __init__(self, root: Path, clock: float | Clock) -> None:
        self.root = root
        self.store = Store(root)
        self.layout = self.store.layout
        self.clock = HandClock(clock) if isinstance(clock, (int, float)) else clock

    @property
    def now(self) -> float:
        return self.clock.now()

    @now.setter
    def now(self, now: float) -> None:
        assert isinstance(self.clock, HandClock)
        self.clock.wall = now

    def do(self, verb: str, by: str = "", *, now: float = 0, watch: Watch = unwatched, **arguments: Any) -> Done:
        if self.STEP and not now:
            self.now += self.STEP
        return perform(
            self.store,
            named(verb, arguments),
            by=by or self.BY,
            now=now or self.now,
            watch=watch,
            order=verb in self.ORDERS,
        )
