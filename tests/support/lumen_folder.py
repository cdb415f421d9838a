"""A state folder with a clock in which operators act: what the desks of the areas extend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumen_tui.actions.outcome import Done
from lumen_tui.actions.registry import named, perform
from lumen_tui.storage.rewriting import Watch, unwatched
from lumen_tui.storage.store import Store


class StateFolder:
    """One state folder. `do` carries out a verb as `BY`, `STEP` seconds after the one before."""

    BY = "ana"
    STEP = 1.0

    def __init__(self, root: Path, now: float) -> None:
        self.root = root
        self.store = Store(root)
        self.layout = self.store.layout
        self.now = now

    def do(self, verb: str, by: str = "", *, watch: Watch = unwatched, **arguments: Any) -> Done:
        self.now += self.STEP
        return perform(self.store, named(verb, arguments), by=by or self.BY, now=self.now, watch=watch)
