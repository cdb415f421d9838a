"""An engine with mouths: a queue that fills, servers to which messages go, and what came there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lumen_ntfy import Ntfy, ntfy
from lumen_until import AwaitedInLoop

from lumen_tui.model.notifying import ToldReceipt
from lumen_tui.storage.journal import Journal


class Told(AwaitedInLoop):
    """A world whose queue is told of by mouths."""

    def __init__(self, world) -> None:
        self.world = world

    def settings(self, text: str) -> None:
        self.world.layout.config.write_text(text)

    def signal(self, text: str) -> None:
        self.world.do("signal.send", message=text, priority="P0", by="agent-a")

    async def beat(self, seconds: float = 0) -> None:
        self.world.clock.pass_time(seconds)
        await self.world.beat()

    def receipts(self, outcome: str = "", mouth: str = "") -> list[ToldReceipt]:
        every = Journal(self.world.layout.told).records(ToldReceipt)
        return [each for each in every if outcome in ("", each.outcome) and mouth in ("", each.mouth)]

    def instead(self) -> object:
        return self.receipts(), self.world.instead()


@pytest.fixture
def told(world) -> Iterator[Told]:
    yield Told(world)
    if world._engine is not None:
        world._engine.mouths.close()


@pytest.fixture
def phone() -> Iterator[Ntfy]:
    with ntfy() as server:
        yield server
