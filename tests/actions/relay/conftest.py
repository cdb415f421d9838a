"""A state folder with relays, a clock that the test moves, and contributors."""

from __future__ import annotations

from pathlib import Path

import pytest

from lumen_tui.actions.outcome import Done
from lumen_tui.actions.registry import named, perform
from lumen_tui.actions.relay import Submitted
from lumen_tui.model.relay import Box, SubmissionAnswer
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.storage.store import Store
from lumen_tui.store.memory import relays

START = 1_790_000_000.0


class Desk:
    """One state folder, seen by many."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root)
        self.layout = self.store.layout
        self.layout.create()
        self.now = START

    def do(self, verb: str, by: str = "ann", **arguments: object) -> Done:
        self.now += 60
        return perform(self.store, named(verb, arguments), by=by, now=self.now)

    def submit(
        self, text: str, base: int, by: str = "agent-a", name: str = "outbox", **more: object
    ) -> SubmissionAnswer:
        done = self.do("relay.submit", by, relay_name=name, text=text, base=base, **more)
        assert isinstance(done, Submitted)
        assert done.answer is not None
        return done.answer

    @property
    def box(self) -> Box:
        found = relays.read(self.layout, "outbox")
        assert found is not None
        return found

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.box.entries]

    def needs(self) -> list[str]:
        return [
            one.target for one in SnapshotReader(self.layout.root).snapshot(self.now).attention if one.need == "relay"
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state")
