"""State folders with packets, facts and open work, at a time that the test decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lumen_folder import StateFolder

from lumen_tui.engine.events import EventLog
from lumen_tui.model import ids
from lumen_tui.model.facts import Confirmation, Outcome
from lumen_tui.model.loop import Artifact, Orientation, Packet
from lumen_tui.model.tasks import Usage
from lumen_tui.model.times import iso
from lumen_tui.store.memory import facts

NOW = 1_790_000_000.0


def a_packet(loop: int, at: float = 0.0, **more: Any) -> Packet:
    ended = at or NOW - 3600.0 * (100 - loop)
    fields: dict[str, Any] = {
        "brain": "anthropic: m", "decided": (f"choice {loop}",), "changed": {"artifacts": 1}, "seconds": 40.0,
        "made": (Artifact("report", f"r{loop}.md", f"report {loop}"),), "usage": Usage(1000, 100, 0.01),
        "orientation": Orientation(10.0 + loop, 4000, 1000, 500, 0.002, 2, "deposit"),
    }  # fmt: skip
    return Packet(ids.new_id("pkt"), loop, iso(ended - 40), iso(ended), **(fields | more))


class Home(StateFolder):
    """A state folder and what a test does in it."""

    BY = "ann"
    packet = staticmethod(a_packet)

    def __init__(self, root: Path) -> None:
        super().__init__(root, NOW)
        self.layout.create()
        self.log = EventLog(self.store)

    def packets(self, *packets: Packet) -> None:
        self.store.packets.append_all(packets)

    def fact(self, claim: str, *, held: float = 0.0, drifted: float = 0.0, probe: str = "file /etc/hosts") -> str:
        """A fact of the agent's that was noted long ago; `held` and `drifted` say when a probe found so."""
        done = self.do("fact.add", by="lumen", now=NOW - 90 * 86400, claim=claim, probes=[probe])
        told = ((held, Outcome.HOLDS, ""), (drifted, Outcome.DRIFTED, "9090"))
        lines = [Confirmation(done.target, iso(at), how, "p1", value=value) for at, how, value in told if at]
        facts.record(self.layout, lines)
        return done.target

    def ended(self, task_id: str, status: str = "done", at: float = NOW, text: str = "researcher: look") -> None:
        self.log.add("task_ended", text, at, task_id=task_id, status=status, reason="429" * (status != "done"), usd=0.5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")
