"""A state folder with relays, a clock that the test moves, and contributors."""

from __future__ import annotations

from pathlib import Path

import pytest
from lumen_folder import StateFolder

from lumen_tui.actions.relay import Submitted
from lumen_tui.model.relay import Box, SubmissionAnswer
from lumen_tui.queries.snapshot_reader import SnapshotReader
from lumen_tui.store.memory import relays

START = 1_790_000_000.0


class RelayFolder(StateFolder):
    """One state folder, seen by many."""

    BY = "ann"
    STEP = 60.0

    def __init__(self, root: Path) -> None:
        super().__init__(root, START)
        self.layout.create()

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
def desk(tmp_path: Path) -> RelayFolder:
    return RelayFolder(tmp_path / "state")
